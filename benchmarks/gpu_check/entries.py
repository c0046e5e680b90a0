"""``python -m benchmarks.gpu_check.entries [--device cuda:0]``: score entries on a GPU with the whole service.

The service of ``kennel up`` runs in a temporary folder, with web process, database, queue and three workers. One worker
checks, one has two processes that take turns on the GPU, and one does the work that needs no GPU. Entries are zips of
noise, which PNG compresses less than photographs; weights are random, from a seed. The command prints Markdown with the
seconds of each entry and the GPU's idle share from ``/metrics``.
"""

import argparse
import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.gpu_check.checks import NO_GPU, describe_device, table
from benchmarks.harness.networks import find_extractor_spec, write_weights
from benchmarks.load.participants import ROLES, TIMEOUT, Participant, add_participants, noise_zip, post_zip
from benchmarks.load.service import LoadedService, open_competition, running_service
from scorer.competitions.spec import TrackSpec
from scorer.errors import Unavailable
from scorer.extractors import ExtractorOptions
from scorer.extractors.devices import choose_device
from scorer.extractors.options import parse_device
from scorer.lifecycle import PICKABLE, JobState, Status
from scorer.monitoring import FOLDER_VARIABLE

SLUG = "gpu"
SIDE = 64
FORWARD_SECONDS = "kennel_forward_pass_seconds_total"
EVERY_SECONDS = 0.25


@dataclass(frozen=True)
class Size:
    """Numbers of entries, images per entry and images of each reference set; the networks of both tracks."""

    entries: int = 6
    images: int = 10_000
    references: Mapping[str, int] = field(default_factory=lambda: dict(zip(ROLES, (5_000, 1_000, 1_000), strict=True)))
    public: str = "inception_v3"
    private: str = "nasnetalarge"


@dataclass
class Observed:
    """Moments of events, in seconds since the first upload began."""

    uploaded: list[float] = field(default_factory=list)
    public: dict[str, float] = field(default_factory=dict)
    private: dict[str, float] = field(default_factory=dict)
    busy: list[tuple[float, float]] = field(default_factory=list)
    """Moments, and the GPU's seconds of computing until then."""


def watch(
    service: LoadedService, people: Sequence[Participant], zips: Sequence[bytes], *, busy_seconds: Callable[[], float]
) -> Observed:
    """Submit all zips, one per person, and poll until the last one has both scores."""
    seen, begun, entries = Observed(busy=[(0.0, busy_seconds())]), time.monotonic(), []
    with httpx.Client(base_url=service.url, timeout=TIMEOUT, trust_env=False) as http:
        for person, content in zip(people, zips, strict=True):
            entries.append(post_zip(http, SLUG, person, content=content, key=person.handle))
            seen.uploaded.append(time.monotonic() - begun)
    while len(seen.private) < len(entries):
        for entry in entries:
            state = service.admin.get(f"/submissions/{entry}")
            now = time.monotonic() - begun
            if state["status"] not in PICKABLE or state["private_state"] == JobState.FAILED:
                raise RuntimeError(f"an entry was not scored: {state}")
            if state["status"] == Status.SCORED:
                seen.public.setdefault(entry, now)
            if state["private_state"] == JobState.DONE:
                seen.private.setdefault(entry, now)
        seen.busy.append((time.monotonic() - begun, busy_seconds()))
        _say(f"{seen.busy[-1][0]:6.1f} s: {len(seen.public)} public and {len(seen.private)} private scores")
        time.sleep(EVERY_SECONDS)
    return seen


def measure(device: str, size: Size) -> Observed:
    with TemporaryDirectory(prefix="kennel-gpu-") as folder, ProcessPoolExecutor() as processes:
        weights, metrics = Path(folder) / "weights", Path(folder) / "metrics"
        weights.mkdir()
        metrics.mkdir()
        zips = [processes.submit(noise_zip, seed, size.images, SIDE) for seed in range(size.entries)]
        for name in (size.public, size.private):
            write_weights(find_extractor_spec(name), weights)
        token = secrets.token_hex(16)
        settings: dict[str, Any] = {
            "KENNEL_DEVICE": device,
            "KENNEL_WEIGHTS_DIR": str(weights),
            "KENNEL_METRICS_TOKEN": token,
            FOLDER_VARIABLE: str(metrics),
        }
        with running_service(**settings) as service:
            references = {
                role: noise_zip(1000 + seed, count, SIDE) for seed, (role, count) in enumerate(size.references.items())
            }
            tracks = {"public": TrackSpec(extractor=size.public), "private": TrackSpec(extractor=size.private)}
            open_competition(service, SLUG, references, say=_say, image_count=size.images, image_size=SIDE, **tracks)
            people = add_participants(service, size.entries)
            busy = partial(_forward_seconds, f"{service.url}/metrics", token, device.partition(":")[0])
            return watch(service, people, [content.result() for content in zips], busy_seconds=busy)


def _forward_seconds(url: str, token: str, device: str) -> float:
    """The device's seconds of computing so far, from the service's metrics."""
    answer = httpx.get(url, headers={"Authorization": f"Bearer {token}"}, timeout=TIMEOUT, trust_env=False)
    families = text_string_to_metric_families(answer.raise_for_status().text)
    samples = [sample for family in families for sample in family.samples if sample.name == FORWARD_SECONDS]
    return sum(sample.value for sample in samples if sample.labels["device"] == device)


def render_page(seen: Observed, size: Size, facts: Mapping[str, str]) -> str:
    (_, none), (_, full) = seen.busy[0], seen.busy[-1]
    first = max(moment for moment, seconds in seen.busy if seconds == none)
    span = min(moment for moment, seconds in seen.busy if seconds == full) - first
    scored = zip(seen.uploaded, sorted(seen.public.values()), sorted(seen.private.values()), strict=True)
    lengths = ", ".join(f"{count:,} {role.replace('_', ' ')}" for role, count in size.references.items())
    rows = [[f"{moment:.1f}" for moment in row] for row in scored]
    parts = [
        f"# {size.entries} entries of {size.images:,} images, scored by the whole service",
        "\n".join(table(("", ""), facts.items())),
        f"Networks: {size.public} (public), {size.private} (private). References: {lengths}. All entries were submitted"
        " one after the other, as fast as the web process accepted them.",
        "\n".join(table(("submitted, s", "public scores, s", "private scores, s"), rows)),
        f"The time from before the first batch to after the last one was {span:.1f} s, **{span / size.entries:.1f} s"
        f" per entry**. Batches were in progress for {full - none:.1f} s, so the GPU was **idle for"
        f" {1 - (full - none) / span:.1%}** of the time.",
    ]
    return "\n\n".join(parts) + "\n"


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None, size: Size | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make gpu-entries", description=__doc__)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:3, or cpu for a rehearsal")
    parser.add_argument("--entries", type=int, default=Size.entries)
    options = parser.parse_args(arguments)
    kind, index = parse_device(options.device)
    try:
        device = choose_device(ExtractorOptions(device=kind, device_index=index))
    except Unavailable as error:
        if error.slug != "no-gpu":
            raise
        parser.exit(NO_GPU, f"{error.message} Nothing was measured.\n")
    size = size or Size(entries=options.entries)
    print(render_page(measure(options.device, size), size, describe_device(device)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
