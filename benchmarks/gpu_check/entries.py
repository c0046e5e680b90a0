"""``python -m benchmarks.gpu_check.entries [--device cuda:0]``: has the whole service score entries on a GPU.

The service is that of ``kennel up`` in a temporary folder: web process, database, queue, a worker that checks, one
whose two processes take turns on the GPU, one for what needs no GPU. Entries are zips of noise, which PNG compresses
less than photographs; weights are seeded random numbers. It prints Markdown: seconds of each entry, and the GPU's idle
share as ``/metrics`` tells it.
"""

import argparse
import secrets
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.gpu_check.checks import NO_GPU
from benchmarks.gpu_check.page import FACTS, facts_of, table
from benchmarks.harness.machine import machine
from benchmarks.harness.networks import spec_of, write_weights
from benchmarks.load.participants import ROLES, TIMEOUT, Participant, add_participants, noise_zip, post_zip
from benchmarks.load.service import LoadedService, open_competition, running_service
from scorer.competitions.spec import TrackSpec
from scorer.errors import Unavailable
from scorer.extractors import ExtractorOptions
from scorer.extractors.devices import device_of
from scorer.extractors.options import parse_device
from scorer.lifecycle import PICKABLE, JobState, Status
from scorer.monitoring import FOLDER_VARIABLE
from scorer.threads import usable_cores

SLUG = "gpu"
SIDE = 64
FORWARD_SECONDS = "kennel_forward_pass_seconds_total"
EVERY_SECONDS = 0.25


@dataclass(frozen=True)
class Size:
    """How many entries of how many images; the images of each reference set; the networks of both tracks."""

    entries: int = 6
    images: int = 10_000
    references: Mapping[str, int] = field(default_factory=lambda: dict(zip(ROLES, (5_000, 1_000, 1_000), strict=True)))
    public: str = "inception_v3"
    private: str = "nasnetalarge"


@dataclass
class Observed:
    """When what happened, in seconds since the first upload began."""

    uploaded: list[float] = field(default_factory=list)
    public: dict[str, float] = field(default_factory=dict)
    private: dict[str, float] = field(default_factory=dict)
    busy: list[tuple[float, float]] = field(default_factory=list)
    """Moments, and the seconds for which the GPU had computed until then."""

    @property
    def first_batch(self) -> float:
        """When the GPU was last seen before it began."""
        return max(moment for moment, seconds in self.busy if seconds == self.busy[0][1])

    @property
    def last_batch(self) -> float:
        """When the GPU was first seen after it had ended."""
        return min(moment for moment, seconds in self.busy if seconds == self.busy[-1][1])

    @property
    def busy_seconds(self) -> float:
        """For how long batches were on their way."""
        return self.busy[-1][1] - self.busy[0][1]


class ServiceWatch:
    """Hands entries to a service, and looks at them and at the seconds for which ``device`` computes."""

    def __init__(self, service: LoadedService, http: httpx.Client, metrics_token: str, device: str) -> None:
        self._service, self._http, self._device = service, http, device.partition(":")[0]
        self._metrics_headers = {"Authorization": f"Bearer {metrics_token}"}

    def watch(self, people: Sequence[Participant], zips: Sequence[bytes]) -> Observed:
        """Hand in all zips, one by each person, and look until the last one has both scores."""
        seen, begun = Observed(), time.monotonic()
        seen.busy.append((0.0, self._forward_seconds()))
        entries = []
        for person, content in zip(people, zips, strict=True):
            entries.append(post_zip(self._http, SLUG, person, content, person.handle))
            seen.uploaded.append(time.monotonic() - begun)
        _tell(f"{len(entries)} entries were handed in within {seen.uploaded[-1]:.1f} s")
        while len(seen.private) < len(entries):
            for entry in entries:
                self._look_at(entry, seen, begun)
            seen.busy.append((time.monotonic() - begun, self._forward_seconds()))
            time.sleep(EVERY_SECONDS)
        return seen

    def _look_at(self, entry: str, seen: Observed, begun: float) -> None:
        if entry in seen.private:
            return
        state = self._service.admin.get(f"/submissions/{entry}")
        now = time.monotonic() - begun
        if state["status"] not in PICKABLE or state["private_state"] == JobState.FAILED:
            raise RuntimeError(f"an entry was not scored: {state}")
        if state["status"] == Status.SCORED and entry not in seen.public:
            seen.public[entry] = now
            _tell(f"{now:6.1f} s: public score {len(seen.public)}")
        if state["private_state"] == JobState.DONE:
            seen.private[entry] = now
            _tell(f"{now:6.1f} s: private score {len(seen.private)}")

    def _forward_seconds(self) -> float:
        text = self._http.get("/metrics", headers=self._metrics_headers).raise_for_status().text
        samples = [each for family in text_string_to_metric_families(text) for each in family.samples]
        mine = (each for each in samples if each.name == FORWARD_SECONDS and each.labels["device"] == self._device)
        return sum(each.value for each in mine)


def measure(device: str, size: Size, log: Path | None) -> Observed:
    """Have a service score ``size.entries`` entries on ``device``; the parts' log is copied to ``log`` in the end."""
    with (
        TemporaryDirectory(prefix="kennel-gpu-") as folder,
        ProcessPoolExecutor(min(size.entries, usable_cores())) as processes,
    ):
        weights, metrics = Path(folder) / "weights", Path(folder) / "metrics"
        weights.mkdir()
        metrics.mkdir()
        zips = [processes.submit(noise_zip, seed, size.images, SIDE) for seed in range(size.entries)]
        for name in (size.public, size.private):
            write_weights(spec_of(name), weights)
        token = secrets.token_hex(16)
        settings: dict[str, Any] = {
            "KENNEL_DEVICE": device,
            "KENNEL_WEIGHTS_DIR": str(weights),
            "KENNEL_METRICS_TOKEN": token,
            FOLDER_VARIABLE: str(metrics),
        }
        with (
            running_service(**settings) as service,
            httpx.Client(base_url=service.url, timeout=TIMEOUT, trust_env=False) as http,
        ):
            _tell("the service runs")
            try:
                _open_competition(service, size)
                people = add_participants(service, size.entries)
                return ServiceWatch(service, http, token, device).watch(people, [each.result() for each in zips])
            finally:
                if log is not None:
                    shutil.copyfile(service.log, log)


def _open_competition(service: LoadedService, size: Size) -> None:
    references = {
        role: noise_zip(1000 + seed, count, SIDE) for seed, (role, count) in enumerate(size.references.items())
    }
    open_competition(
        service,
        SLUG,
        references,
        say=_tell,
        image_count=size.images,
        image_size=SIDE,
        public=TrackSpec(extractor=size.public),
        private=TrackSpec(extractor=size.private),
    )


def page_of(seen: Observed, size: Size, facts: Mapping[str, str]) -> str:
    """The page: the machine, the entries, the GPU's idle share."""
    span = seen.last_batch - seen.first_batch
    scored = zip(seen.uploaded, sorted(seen.public.values()), sorted(seen.private.values()), strict=True)
    lengths = ", ".join(f"{count:,} {role.replace('_', ' ')}" for role, count in size.references.items())
    return "\n".join(
        [
            f"# {size.entries} entries of {size.images:,} images, scored by the whole service",
            "",
            *table(("", ""), facts.items()),
            "",
            f"Networks: {size.public} (public), {size.private} (private). References: {lengths}. All entries were "
            "handed in one after the other, as fast as the web process takes them.",
            "",
            *table(
                ("handed in, s", "public scores, s", "private scores, s"),
                ([f"{moment:.1f}" for moment in row] for row in scored),
            ),
            "",
            f"From before the first batch to after the last one it took {span:.1f} s: **{span / size.entries:.1f} s an "
            f"entry**. Batches were on their way for {seen.busy_seconds:.1f} s: the GPU was **idle for "
            f"{1 - seen.busy_seconds / span:.1%}** of the time.",
            "",
        ]
    )


def _tell(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None, size: Size | None = None) -> int:
    """The command line; its exit status."""
    parser = argparse.ArgumentParser(prog="make gpu-entries", description=__doc__)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:3, or cpu to rehearse")
    parser.add_argument("--entries", type=int, default=Size.entries)
    parser.add_argument("--images", type=int, default=Size.images, help="of each entry")
    parser.add_argument("--log", type=Path, help="the file that the service's log is copied to")
    options = parser.parse_args(arguments)
    kind, index = parse_device(options.device)
    try:
        device = device_of(ExtractorOptions(device=kind, device_index=index))
    except Unavailable as error:
        if error.slug != "no-gpu":
            raise
        parser.exit(NO_GPU, f"{error.message} Nothing was measured.\n")
    size = size or Size(entries=options.entries, images=options.images)
    facts = {name: value for name, value in machine().items() if name in FACTS} | facts_of(device)
    seen = measure(options.device, size, options.log)
    print(page_of(seen, size, facts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
