"""``python -m benchmarks.load.uploaders TASK``: participants who hand in the same zip, one after another within a time.

A process of its own, so that the service is measured and not the clients."""

import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.load.participants import Participant, Rejected, hand_in


@dataclass(frozen=True)
class Uploads:
    """Who hands in the zip at ``path``, in which way, and over how many seconds the beginnings are spread."""

    url: str
    slug: str
    path: str
    people: Sequence[Participant]
    way: str
    seconds: float


@dataclass(frozen=True)
class Upload:
    """When an upload began and ended (seconds since the first one was due), and what came of it."""

    began: float
    ended: float
    submission: str | None
    error: str | None


def hand_in_all(task: Uploads) -> list[Upload]:
    """Hand in every zip, each in a thread of its own and at its time."""
    content = Path(task.path).read_bytes()
    start = time.perf_counter()

    def one(number: int, person: Participant) -> Upload:
        due = start + task.seconds * number / len(task.people)
        time.sleep(max(0.0, due - time.perf_counter()))
        began = time.perf_counter() - start
        submission = error = None
        try:
            submission = hand_in(task.way, task.url, task.slug, person, content, f"load-{person.handle}")
        except (Rejected, OSError) as problem:
            error = f"{type(problem).__name__}: {problem}"
        return Upload(began, time.perf_counter() - start, submission, error)

    with ThreadPoolExecutor(max(1, len(task.people))) as pool:
        return list(pool.map(one, range(len(task.people)), task.people))


def command(task: Uploads) -> list[str]:
    """The command that does this in a process of its own."""
    return [sys.executable, "-m", "benchmarks.load.uploaders", json.dumps(asdict(task))]


def uploads_of(output: str) -> list[Upload]:
    """What the command has printed."""
    return [Upload(**each) for each in json.loads(output)]


def main() -> None:
    """Run the task given as JSON and print its uploads as JSON."""
    fields: dict[str, Any] = json.loads(sys.argv[1])
    people = [Participant(**person) for person in fields.pop("people")]
    print(json.dumps([asdict(each) for each in hand_in_all(Uploads(people=people, **fields))]))


if __name__ == "__main__":
    main()
