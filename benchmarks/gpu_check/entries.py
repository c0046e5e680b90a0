"""``python -m benchmarks.gpu_check.entries [--device cuda:0]``: has the whole service score entries on a GPU.

The service is that of ``kennel up`` in a temporary folder: web process, database, queue, a worker that checks, one
whose two processes take turns on the GPU, one for what needs no GPU. Entries are zips of noise, which PNG compresses
less than photographs; weights are seeded random numbers. It prints Markdown: seconds of each entry, and the GPU's idle
share as ``/metrics`` tells it.
"""

import argparse
import hashlib
import io
import os
import secrets
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO

import httpx
import torch
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.gpu_check.page import FACTS, facts_of, table
from benchmarks.harness.machine import machine
from benchmarks.harness.networks import spec_of, write_weights
from benchmarks.load.participants import ROLES, Participant, add_participants, noise_zip, post_zip
from deploy.standalone.data_folder import open_data_folder
from deploy.standalone.log import Log
from deploy.standalone.service import RunningService, start_service
from deploy.standalone.supervisor import Supervisor
from kennel_client.api import ApiClient
from kennel_client.references import prepare
from scorer.competitions.spec import CompetitionSpec, TrackSpec
from scorer.db.session import connected
from scorer.extractor_catalogue import ExtractorSpec
from scorer.extractors.options import parse_device
from scorer.lifecycle import PICKABLE, JobState, Status

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


class GpuService:
    """A running service with its admin, whose scoring worker computes on ``device``."""

    def __init__(
        self, running: RunningService, admin: ApiClient, http: httpx.Client, metrics_token: str, device: str
    ) -> None:
        self.admin, self._http, self._running, self._device = admin, http, running, device.partition(":")[0]
        self._metrics_headers = {"Authorization": f"Bearer {metrics_token}"}

    def open_competition(self, size: Size) -> None:
        """An open competition with references on both tracks."""
        spec = CompetitionSpec(
            slug=SLUG,
            title=SLUG,
            image_count=size.images,
            image_size=SIDE,
            opens_at=datetime.now(UTC) - timedelta(days=1),
            public=TrackSpec(extractor=size.public),
            private=TrackSpec(extractor=size.private),
        )
        self.admin.post("/competitions", spec.model_dump(mode="json"))
        for seed, (role, count) in enumerate(size.references.items()):
            self.admin.attach_references(SLUG, role, io.BytesIO(noise_zip(1000 + seed, count, SIDE)))
        prepare(self.admin, SLUG, say=_tell, every=EVERY_SECONDS)

    def people(self, count: int) -> list[Participant]:
        """As many participants, each a team of its own."""
        with connected(self._running.settings) as sessions:
            return add_participants(sessions, count)

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
        state = self.admin.get(f"/submissions/{entry}")
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


@contextmanager
def gpu_service(device: str, weights: Path, folder: Path, log: TextIO) -> Iterator[GpuService]:
    """A running service in a folder."""
    token = secrets.token_hex(16)
    environment = {
        **os.environ,
        "KENNEL_DEVICE": device,
        "KENNEL_WEIGHTS_DIR": str(weights),
        "KENNEL_METRICS_TOKEN": token,
    }
    with open_data_folder(folder) as data, Supervisor(Log(log), hold=[data.lock]) as supervisor:
        running = start_service(supervisor, data, environ=environment)
        with (
            ApiClient(running.url, running.new_admin_token) as admin,
            httpx.Client(base_url=running.url, timeout=600, trust_env=False) as http,
        ):
            yield GpuService(running, admin, http, token, device)


def measure(device: str, size: Size, log: TextIO) -> Observed:
    """Have a service score ``size.entries`` entries on ``device``; the parts' log goes to ``log``."""
    with (
        TemporaryDirectory(prefix="kennel-gpu-") as folder,
        ProcessPoolExecutor(min(size.entries, os.cpu_count() or 1)) as processes,
    ):
        weights = Path(folder) / "weights"
        weights.mkdir()
        Path(folder).chmod(0o711)  # root's service has an account of its own
        zips = [processes.submit(noise_zip, seed, size.images, SIDE) for seed in range(size.entries)]
        for name in (size.public, size.private):
            _lend_weights(spec_of(name), weights)
        with gpu_service(device, weights, Path(folder) / "data", log) as service:
            _tell("the service runs")
            service.open_competition(size)
            people = service.people(size.entries)
            return service.watch(people, [each.result() for each in zips])


def _lend_weights(spec: ExtractorSpec, folder: Path) -> None:
    """Write weights that the service's account can read, with their hash, since it cannot write one beside them."""
    write_weights(spec, folder)
    if spec.weights_package is None:
        file = folder / f"{spec.name}.safetensors"
        file.chmod(0o644)
        file.with_suffix(".sha256").write_text(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n")


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
    parser.add_argument("--log", type=Path, default=Path(os.devnull), help="the file that the service's log goes to")
    options = parser.parse_args(arguments)
    parse_device(options.device)
    size = size or Size(entries=options.entries, images=options.images)
    facts = {name: value for name, value in machine().items() if name in FACTS} | facts_of(torch.device(options.device))
    with options.log.open("w") as log:
        seen = measure(options.device, size, log)
    print(page_of(seen, size, facts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
