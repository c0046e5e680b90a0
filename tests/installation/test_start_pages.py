"""The commands on the start pages work in order on a machine that has only Kennel's environment."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

import pytest

from deploy.standalone.ports import free_port
from scorer.confinement.import_path import IMPORT_PATH
from tests.documents import ROOT, Block, blocks, code_spans, commands

EXECUTED = (
    "start/demo.md",
    "start/organizer.md",
    "start/participant.md",
    "start/reviewer.md",
    "start/operator.md",
    "start/gpu-server.md",
    "how-to/run-with-docker-compose.md",
    "how-to/run-many-processes.md",
    "how-to/monitor-the-service.md",
    "how-to/verify-a-score.md",
    "how-to/rescore-entries.md",
    "how-to/resumable-uploads.md",
    "how-to/choose-a-threshold.md",
    "how-to/start-from-a-kit.md",
    "how-to/publish-and-release.md",
    "how-to/upgrade-and-roll-back.md",
    "how-to/back-up-and-restore.md",
    "how-to/runbook.md",
)
"""The order matters: each page continues with the results of the pages before it."""
RUNBOOK = "how-to/runbook.md"
BARE = {"start/gpu-server.md"}
"""Pages that begin on a machine without Kennel. Their own commands must set ``PATH`` to find its programs."""
PLACES = {"/opt/kennel/": "..", "/var/lib/kennel/": "."}
"""The server folders that these pages name, and their replacements here, relative to the newcomer's folder."""
LINK = re.compile(r"\]\((?P<page>[\w./-]+\.md)(?:#[\w-]+)?\)")
SHELLS = {"sh", "bash", "shell"}
"""Languages of blocks with commands without ``$``. They are not run here, so another test has to run them."""
OTHER_TERMINAL = "another terminal"
TITLE = re.compile(
    r"^(?P<indent> *)```\w+ title=\"(?P<name>[\w.-]+)\"\n(?P<body>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL
)
OTHER_PORT = "8001"
START_SECONDS, PAGE_SECONDS, STOP_SECONDS = 120, 400, 30
OUTPUT = {
    "start/organizer.md": ("dogs is open; setup complete.", "It is a copy and has no score."),
    "start/participant.md": (
        "checksums, lengths and pixels are valid",
        "so it is not penalised",
        "Your team has picked 1",
    ),
    "how-to/start-from-a-kit.md": ("kit is ready", "kit/submission.zip has 100 images", "MiFID", "closest pairs"),
    "start/reviewer.md": ('"submission_id"', '"complete":true', '"aug"'),
    "start/operator.md": ("carl is now organizer.",),
    "start/gpu-server.md": (
        "units/kennel-web.service",
        "running, and together they serve every queue",
        "rehearsal is open; setup complete.",
    ),
    "how-to/run-many-processes.md": ("paused: worker gpu-1", "queue score", "competition dogs"),
    "how-to/verify-a-score.md": ("equal", "Signed by"),
    "how-to/rescore-entries.md": ("Campaign 1 on the private track",),
    "how-to/resumable-uploads.md": ('"status"',),
    "how-to/choose-a-threshold.md": ("with margin, previously", "with undo, previously"),
    "how-to/publish-and-release.md": ("The final board of dogs is published.", "Everybody can download it"),
    "how-to/back-up-and-restore.md": ("is valid", "is restored"),
    "how-to/runbook.md": ("is valid", "running, and together they serve every queue"),
}
"""Texts in the output of each page's commands."""


@dataclass
class Machine:
    """A newcomer's folder ``work`` with a home folder, an environment next to it, and two free ports."""

    folder: Path
    port: int
    other_port: int
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def environment(self, *, bare: bool = False) -> dict[str, str]:
        """The variables of a newcomer's shell. ``PATH`` is that of the test run, without Kennel on a ``bare``
        machine."""
        variables = {
            name: value for name, value in os.environ.items() if not name.startswith(("KENNEL_", "XDG_", "AWS_"))
        }
        own = str(Path(sys.executable).parent)
        others = [folder for folder in variables["PATH"].split(os.pathsep) if folder != own]
        path = os.pathsep.join(others if bare else [own, *others])
        return variables | {"HOME": str(self.folder / "home"), "PATH": path, "PYTHONPATH": IMPORT_PATH}

    def here(self, text: str) -> str:
        """Commands for this machine: ports 8000 and 8001 may be in use, and the server folders are replaced."""
        for place, ours in PLACES.items():
            text = text.replace(place, f"{(self.folder / ours).resolve()}/")
        text = re.sub(r"(127\.0\.0\.1:|--port )8000", rf"\g<1>{self.port}", text)
        return text.replace(f"--port {OTHER_PORT}", f"--port {self.other_port}")

    def run(self, lines: list[str], *, bare: bool = False) -> str:
        """Run commands in one shell and return their output."""
        traced = ["set -euo pipefail", "trap 'echo \"failed: $BASH_COMMAND\"' ERR", *map(self.here, lines)]
        done = subprocess.run(
            ["bash", "-c", "\n".join(traced)],
            cwd=self.folder,
            env=self.environment(bare=bare),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PAGE_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4000:]
        return done.stdout

    def start(self, command: str) -> None:
        """Run a command in another terminal unless it already runs there, and wait until the service is ready."""
        if command in self.running:
            return
        log = self.folder / "terminal.log"
        with log.open("wb") as out:
            self.running[command] = subprocess.Popen(
                shlex.split(self.here(command)), cwd=self.folder, env=self.environment(), stdout=out, stderr=out
            )
        end = time.monotonic() + START_SECONDS
        while "is running at" not in log.read_text(errors="replace"):
            assert self.running[command].poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.2)


@contextmanager
def machine() -> Iterator[Machine]:
    """A machine with a temporary folder. At the end its commands are stopped and the folder is deleted."""
    repository = Path(mkdtemp(prefix="kennel-newcomer-"))
    repository.chmod(0o755)  # PostgreSQL's account needs access when root runs the tests
    (repository / ".venv").symlink_to(sys.prefix)
    folder = repository / "work"
    (folder / "home").mkdir(parents=True)
    made = Machine(folder, free_port(), free_port())
    try:
        yield made
    finally:
        for process in made.running.values():
            process.send_signal(signal.SIGINT)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(repository)


def list_lines(block: Block, machine: Machine) -> list[str]:
    """The commands of a block to run in this terminal. Starts the commands of another terminal."""
    if block.language != "console" or block.mark == "not run":
        return []
    if block.mark == "run by":
        for command in commands(block) if block.marked == OTHER_TERMINAL else ():
            machine.start(command)
        return []
    return commands(block)


def follow(page: str, machine: Machine) -> str:
    """Follow a page: save its files, start the commands of another terminal, and run its commands."""
    text = (ROOT / "docs" / page).read_text()
    for file in TITLE.finditer(text):
        (machine.folder / file["name"]).write_text(machine.here(file["body"]))
    lines = [line for block in blocks(text) for line in list_lines(block, machine)]
    return machine.run(lines, bare=page in BARE) if lines else ""


@pytest.mark.timeout(2400)
def test_the_commands_on_the_start_pages_work() -> None:
    with machine() as newcomer:
        for page in EXECUTED:
            printed = follow(page, newcomer)
            assert [words for words in OUTPUT.get(page, ()) if words not in printed] == [], f"{page}:\n{printed}"


@pytest.mark.parametrize("page", sorted(BARE))
def test_a_page_that_installs_kennel_sets_the_path_first(page: str) -> None:
    with machine() as newcomer:
        lines = [line for block in blocks((ROOT / "docs" / page).read_text()) for line in list_lines(block, newcomer)]
        first = next(index for index, line in enumerate(lines) if line.startswith("kennel "))
        newcomer.run([*lines[:first], "command -v kennel"], bare=True)


def test_every_start_page_is_executed() -> None:
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs" / "start").glob("*.md")}
    assert pages <= set(EXECUTED)


def find_runbook_pages() -> set[Path]:
    runbook = ROOT / "docs" / RUNBOOK
    return {(runbook.parent / link["page"]).resolve() for link in LINK.finditer(runbook.read_text())}


def test_every_page_that_the_runbook_links_is_executed() -> None:
    linked = find_runbook_pages()
    assert len(linked) > 10
    assert {page.relative_to(ROOT / "docs").as_posix() for page in linked} <= set(EXECUTED)


def test_commands_in_the_runbooks_sentences_are_in_a_block_or_linked_page() -> None:
    """There, a test runs the command, or a mark states that none does."""
    runbook = ROOT / "docs" / RUNBOOK
    shown = [
        set(command.split())
        for page in (runbook, *find_runbook_pages())
        for block in blocks(page.read_text())
        for command in commands(block)
    ]
    spoken = [span for span in code_spans(runbook.read_text()) if span.startswith("kennel ")]
    assert len(spoken) > 5
    assert [span for span in spoken if not any(set(span.split()) <= words for words in shown)] == []


@pytest.mark.parametrize("page", EXECUTED)
def test_commands_of_executed_pages_are_run_or_marked(page: str) -> None:
    shown = [block for block in blocks((ROOT / "docs" / page).read_text()) if block.language in {"console", *SHELLS}]
    unmarked = [block for block in shown if not block.mark]
    assert [block.body for block in unmarked if block.language in SHELLS or not commands(block)] == []
