"""Seconds per submission with the host's work, and the GPU's idle share: the part of GPU.md that is simulated.

Seconds of the GPU are counted (:mod:`benchmarks.gpu.roofline`), those of the host measured
(:mod:`benchmarks.gpu.host_stages`, :mod:`benchmarks.speed.frechet`, :mod:`benchmarks.speed.neighbours`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.gpu import host_stages
from benchmarks.gpu.pipeline import Job, Machine, Outcome, Stage, simulate
from benchmarks.harness.isolation import THREADS
from benchmarks.harness.report import MarkdownTable, markdown_of, source_of
from benchmarks.harness.results import BenchmarkResult
from benchmarks.harness.rounds import median_of
from benchmarks.speed import evidence, frechet, neighbours

ENTRIES = 200
CORES = 16
"""Cores beside one GPU."""
CHECKING, DECODING, SCORING = 2, 2, 2
"""Processes that check, those by which each of them decodes (a process takes up to four), and those that take turns on
the GPU, as in docker-compose.yml."""
MAX_IDLE = 0.1


@dataclass(frozen=True)
class TrackWork:
    """A track's network, and how long one GPU computes an entry's features and its products with the reference."""

    network: str
    dimension: int
    features: float
    products: float


@dataclass(frozen=True)
class Scenario:
    """How workers are set up."""

    scoring: int = SCORING
    decoding: int = DECODING
    gpu_neighbours: bool = True
    shared_scratch: bool = True
    """Whether the checking worker's decoded images are found by the scoring one; else it decodes them again."""
    cores: int = CORES
    """Those for checks and scores."""


Measured = Mapping[str, BenchmarkResult]
"""Stored measurements by name: those of ``NEEDED``."""
NEEDED = (host_stages.NAME, frechet.NAME, neighbours.NAME, evidence.NAME)


def _median(measured: Measured, measurement: str, case: str, name: str, key: str = "seconds") -> float:
    found = measured[measurement].case(case)
    if found is None:
        raise LookupError(f"there is no measurement of {case}: python -m benchmarks {measurement}")
    return median_of(found.runs[name], key)


def _on_one_core(measured: Measured, case: str, name: str) -> Stage:
    return Stage(_median(measured, host_stages.NAME, case, name, "cpu_seconds"))


def _decoding(measured: Measured, processes: int) -> Stage:
    """Decoding by so many processes, from what one was measured to take."""
    alone = _on_one_core(measured, host_stages.DECODING, host_stages.ONE_PROCESS)
    return Stage(alone.seconds / processes, processes)


def _neighbours(measured: Measured, dimension: int) -> Stage:
    """On the host, from what was measured at one dimension: the products take nearly all of it."""
    (case,) = measured[neighbours.NAME].cases
    return Stage(median_of(case.runs["Kennel"]) * dimension / case.settings["dimension"], THREADS)


def _frechet(measured: Measured, dimension: int) -> Stage:
    return Stage(_median(measured, frechet.NAME, f"d = {dimension}", frechet.KENNEL), THREADS)


def jobs(measured: Measured, tracks: Sequence[TrackWork], scenario: Scenario) -> tuple[Job, list[Job]]:
    """An entry's check, and its score on each track, as their stages."""
    decoding = _decoding(measured, scenario.decoding)
    return [decoding], [_score(measured, track, scenario, decoding) for track in tracks]


def _score(measured: Measured, track: TrackWork, scenario: Scenario, decoding: Stage) -> Job:
    case = host_stages.case_of(track.dimension)
    on_gpu = [Stage(track.products), _on_one_core(measured, case, host_stages.BESIDE_PRODUCTS)]
    return [
        *([] if scenario.shared_scratch else [decoding]),
        Stage(track.features, gpu=True),
        *(on_gpu if scenario.gpu_neighbours else [_neighbours(measured, track.dimension)]),
        _frechet(measured, track.dimension),
        _on_one_core(measured, case, host_stages.STORING),
    ]


def outcome_of(measured: Measured, tracks: Sequence[TrackWork], scenario: Scenario) -> Outcome:
    """The simulated outcome of a scenario on this GPU's machine."""
    check, scores = jobs(measured, tracks, scenario)
    return simulate(ENTRIES, check, scores, Machine(scenario.cores, scenario.scoring, CHECKING))


def _work_table(measured: Measured, tracks: Sequence[TrackWork]) -> MarkdownTable:
    rows = [("check: decoding, by one process", "", *_cells(_decoding(measured, 1)))]
    for track in tracks:
        case = host_stages.case_of(track.dimension)
        parts = {
            host_stages.BESIDE_PRODUCTS: _on_one_core(measured, case, host_stages.BESIDE_PRODUCTS),
            "Fréchet distance": _frechet(measured, track.dimension),
            host_stages.STORING: _on_one_core(measured, case, host_stages.STORING),
        }
        rows += [
            (f"`{track.network}`: features", f"{track.features:.1f}", "", ""),
            (f"`{track.network}`: products with the reference", f"{track.products:.2f}", "", ""),
            *((f"`{track.network}`: {name}", "", *_cells(stage)) for name, stage in parts.items()),
        ]
    (case_of_evidence,) = measured[evidence.NAME].cases
    runs = case_of_evidence.runs[evidence.ALL]
    title = f"evidence of one track (d = {case_of_evidence.settings['dimension']})"
    rows.append((title, "", f"{median_of(runs):.1f}", str(THREADS)))
    return MarkdownTable("", ("", "GPU, s", "host, s", "on cores"), rows)


def _cells(stage: Stage) -> tuple[str, str]:
    return f"{stage.seconds:.1f}", f"{stage.cores:g}"


def _scenarios_table(measured: Measured, observed: Sequence[TrackWork], fastest: Sequence[TrackWork]) -> MarkdownTable:
    base = Scenario()
    alone = replace(base, scoring=1)
    scenarios = {
        "one process, neighbours on the host: as it was": replace(alone, gpu_neighbours=False),
        "one process, products on the GPU": alone,
        "two processes, neighbours on the host": replace(base, gpu_neighbours=False),
        "**two processes, products on the GPU**": base,
        "three processes, products on the GPU": replace(base, scoring=3),
        "two, evidence has half of the cores": replace(base, cores=CORES // 2),
        "two, each check decodes by one process": replace(base, decoding=1),
        "two, each check decodes by four": replace(base, decoding=4),
        "two, no scratch folder in common, two decode again": replace(base, shared_scratch=False),
        "three, no scratch folder in common, two decode again": replace(base, shared_scratch=False, scoring=3),
    }
    rows = []
    for name, scenario in scenarios.items():
        outcomes = [outcome_of(measured, tracks, scenario) for tracks in (observed, fastest)]
        cells = [cell for each in outcomes for cell in (f"{each.idle_share:.1%}", f"{each.seconds / ENTRIES:.1f}")]
        rows.append((name, *cells, f"{86_400 * ENTRIES / outcomes[0].seconds:,.0f}"))
    header = ("", "idle", "s a submission", "idle at the roof", "s a submission at the roof", "submissions a day")
    return MarkdownTable("", header, rows)


TEXT = """\
## A submission, with the host's work

**Simulated**, from two kinds of seconds: features at the speed that the check measured on the H100, products with the
reference counted at the speed of a large product there; those of the host were measured on machines without a GPU.
Stages on one core are told in seconds of processors, the others as for two cores. A machine with a GPU has other
cores. The sources, which [RESULTS.md](RESULTS.md) marks (†) where what they time has changed since:

{sources}

{work}

What a GPU does for a submission takes {gpu:.1f} s, what the host does for its check and scores at most {host:.1f} s of
processors, and its evidence on both tracks at least {evidence:.0f} s: {cores:.0f} cores for each GPU make evidence as
fast as the GPU scores, if all cores are like those. Evidence of d = 4032 takes longer and was not measured.

{entries} submissions wait on both tracks; beside one GPU there are {machine_cores} cores, {checking} processes that
check, and processes that take turns on the GPU (`worker/runtime/device_turns.py`). *Idle* is the GPU's share of time
without a batch, from the first to the last, as `kennel_forward_pass_seconds_total` tells it of a real one; at the
measured speed, and at that of the roof by the maker's peaks.

{scenarios}

With two processes the simulated GPU is idle for {idle:.1%} of the time: {verdict}. The simulation
(`benchmarks/gpu/pipeline.py`) knows no failures, no uploads, no network between worker and store, and no work of
others. **Nor does it know threads that wait for each other**: evidence is on workers without a GPU, but on the same
machine, where it has half of the cores. A real GPU was idle for a minute beside it when it still had threads on all of
them (below); the idle share of a real one was not measured since.
"""


def section(measured: Measured, observed: Sequence[TrackWork], fastest: Sequence[TrackWork]) -> str:
    """The section's text. ``observed`` are the tracks as measured, ``fastest`` those at the roof."""
    idle = outcome_of(measured, observed, Scenario()).idle_share
    check, scores = jobs(measured, observed, Scenario())
    gpu = sum(stage.seconds for job in scores for stage in job if stage.gpu)
    host = sum(stage.seconds * stage.cores for job in (check, *scores) for stage in job if not stage.gpu)
    (case,) = measured[evidence.NAME].cases
    evidence_seconds = 2 * median_of(case.runs[evidence.ALL], "cpu_seconds")
    return TEXT.format(
        sources="\n".join(f"- {source_of(measured[name])}" for name in NEEDED),
        work="\n".join(markdown_of(_work_table(measured, observed))),
        gpu=gpu,
        host=host,
        evidence=evidence_seconds,
        cores=evidence_seconds / gpu,
        entries=ENTRIES,
        machine_cores=CORES,
        checking=CHECKING,
        scenarios="\n".join(markdown_of(_scenarios_table(measured, observed, fastest))),
        idle=idle,
        verdict="under the tenth that is asked for" if idle < MAX_IDLE else "over the tenth that is asked for",
    )
