"""The memory of a web container: the sum of the limits of its parts, and an attack on all parts at the same time."""

import json
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import httpx
import psutil
import yaml

from api.http.request_bodies import MAX_WAITING_BYTES
from api.http.response_cache import CAPACITY_BYTES
from kennel_client.archive.listing import ImageSpec
from scorer.accounts.password_hashing import MAX_CONCURRENT_HASHES
from scorer.archive import decoder_process, reference_set
from scorer.confinement.limited_call import DIRECTORY, LARGE, LARGE_DIRECTORY, NOTEBOOK, SMALL
from scorer.evidence.code_uploads import MAX_CODE_BYTES
from scorer.evidence.images import MAX_KEPT_BYTES
from tests.api.conftest import API, Service
from tests.api.http.attacked import wait_until
from tests.api.http.web_process import is_answered, web_process
from tests.compose.compose_file import MAIN, read
from tests.documents import ROOT
from tests.factories import make_zip, noise_images

MIB, GIB = 1 << 20, 1 << 30
IMAGES = 10_000
COPIES = 4
"""Copies of the bytes that a limited process reads: one of the caller, one in shared memory, two in the process."""
AT_REST = 512 * MIB
"""A web process, its fork server and the memory of 40 threads."""
BUDGET = {
    "at rest": AT_REST,
    "waiting bodies": MAX_WAITING_BYTES,
    "cached responses": CAPACITY_BYTES,
    "decoded images": MAX_KEPT_BYTES,
    "passwords": MAX_CONCURRENT_HASHES * 64 * MIB,
    "participants' files": SMALL.number
    * max(
        DIRECTORY.memory_bytes + COPIES * ImageSpec(IMAGES, 64).directory_bytes,
        NOTEBOOK.memory_bytes + COPIES * MAX_CODE_BYTES,
    ),
    "organizers' files and reference images": LARGE.number
    * max(
        LARGE_DIRECTORY.memory_bytes + COPIES * reference_set.MAX_DIRECTORY_BYTES,
        decoder_process.MEMORY_BYTES + decoder_process.REFERENCE_BYTES,
    ),
}
ENTRY = struct.Struct("<4s6H3L5H2L")
END = struct.Struct("<4s4H2LH")
CELLS = b'{"nbformat":4,"cells":['
MANY_CELLS = CELLS + b"{}," * ((MAX_CODE_BYTES - 60) // 3) + b"{}]}"
LONG_CELL = CELLS + b'"' + b"x" * (MAX_CODE_BYTES - 60) + b'"]}'
ATTACKS = 3
"""Attacks of each kind and account at the same time."""


def test_the_web_container_has_room_for_its_budget() -> None:
    manifest = next(
        document
        for document in yaml.safe_load_all((ROOT / "deploy/kubernetes/base/api.yaml").read_text())
        if document["kind"] == "Deployment"
    )
    limits = manifest["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert sum(BUDGET.values()) <= 4 * GIB
    assert limits["memory"] == "4Gi"
    assert read(MAIN)["services"]["api"]["mem_limit"] == "${API_MEMORY:-4g}"


def test_a_web_process_stays_within_its_budget(service: Service, tmp_path: Path) -> None:
    """Notebooks, directories, passwords and an organizer's directories: many more than run at the same time."""
    small, large = service.competition(image_count=10), service.competition(image_count=IMAGES)
    people = ("ada", "bob", "eve")
    entries = {
        who: service.submit(who, small, make_zip(noise_images(seed, 10))).json()["id"]
        for seed, who in enumerate(people)
    }
    directory = _hostile_zip(IMAGES // 64, extra_bytes=0xFFFF - 40)
    references = _hostile_zip(reference_set.MAX_IMAGES // 4, extra_bytes=100)
    sign_in = json.dumps({"login": "ada", "password": "a guess that is wrong"}).encode()
    with web_process(service, tmp_path) as (web, port), httpx.Client(timeout=300, trust_env=False) as client:

        def send(who: str, method: str, path: str, content: bytes) -> Callable[[], httpx.Response]:
            headers = {"Authorization": f"Bearer {service.tokens[who]}", "Content-Type": "application/octet-stream"}
            url = f"http://127.0.0.1:{port}{API}{path}"
            return lambda: client.request(method, url, content=content, headers=headers)

        requests = [send("organizer", "PUT", f"/competitions/{large}/references/train", references) for _ in range(2)]
        for number in range(ATTACKS):
            for who in people:
                notebook = MANY_CELLS if (who, number) == ("ada", 0) else LONG_CELL  # reading the first takes seconds
                requests.append(send(who, "PUT", f"/submissions/{entries[who]}/code", notebook))
                requests.append(send(who, "POST", f"/competitions/{large}/submissions", directory))
        with _readings(web) as readings, ThreadPoolExecutor(len(requests) + ATTACKS) as pool:
            guesses = [pool.submit(_sign_in, port, sign_in, number) for number in range(ATTACKS)]
            attack = [pool.submit(request) for request in requests]
            wait_until(lambda: bool(readings) and readings[-1][1] > 1)
            answered = is_answered(port)
            is_held = not all(sent.done() for sent in attack)
            statuses = {sent.result().status_code for sent in attack} | {guess.result() for guess in guesses}
        assert psutil.pid_exists(web)
    assert answered
    assert is_held
    assert statuses <= {200, 201, 401, 409, 422, 429, 503}
    assert {200, 422} <= statuses, "valid and invalid files were read"
    memory, processes = map(max, zip(*readings, strict=True))
    assert memory < sum(BUDGET.values())
    assert 1 < processes <= SMALL.number + LARGE.number


def _sign_in(port: int, body: bytes, number: int) -> int:
    transport = httpx.HTTPTransport(local_address=f"127.0.0.{number + 2}")
    with httpx.Client(transport=transport, timeout=300) as client:
        headers = {"Content-Type": "application/json"}
        return client.post(f"http://127.0.0.1:{port}{API}/session", content=body, headers=headers).status_code


def _hostile_zip(members: int, *, extra_bytes: int) -> bytes:
    """Return a zip that is only a central directory. Its members have ``extra_bytes`` of extra fields."""
    extra = struct.pack("<HH", 0x9999, 0) * (extra_bytes // 4) + struct.pack("<HHQ", 1, 8, 10)
    names = (b"%d.png" % number for number in range(members))
    heads = (
        ENTRY.pack(b"PK\1\2", 20, 20, 0, 0, 0, 0, 0, 0xFFFFFFFF, 10, len(name), len(extra), 0, 0, 0, 0, 0)
        + name
        + extra
        for name in names
    )
    directory = b"".join(heads)
    return directory + END.pack(b"PK\5\6", 0, 0, members & 0xFFFF, members & 0xFFFF, len(directory), 0, 0)


@contextmanager
def _readings(web: int) -> Iterator[list[tuple[int, int]]]:
    """Read the memory of a process with its children, and the number of limited processes, every 50 ms."""
    readings: list[tuple[int, int]] = []
    end = Event()

    def read_repeatedly() -> None:
        while not end.wait(0.05):
            children = psutil.Process(web).children(recursive=True)
            limited = [child for child in children if _parent(child) not in {web, None}]
            readings.append((sum(map(_memory, [web, *(child.pid for child in children)])), len(limited)))

    thread = Thread(target=read_repeatedly)
    thread.start()
    try:
        yield readings
    finally:
        end.set()
        thread.join()


def _parent(process: psutil.Process) -> int | None:
    """Return the id of the parent process, or None if the process has ended."""
    with suppress(psutil.NoSuchProcess):
        return process.ppid()
    return None


def _memory(process: int) -> int:
    """Return the proportional set size in bytes, or 0 if the process has ended."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return 0
