"""Functions called in limited processes: untrusted bytes affect only their own call."""

import ctypes
import errno
import io
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from threading import Event
from typing import Any, BinaryIO

import numpy as np
import pytest

from scorer.archive import ImageSpec, limited_listing, list_images, list_references
from scorer.archive.limited_listing import require_files, require_images, require_references
from scorer.confinement import limited_call
from scorer.confinement.limited_call import DIRECTORY, MAX_ANSWER_BYTES, Purpose, Turns, call_limited
from scorer.errors import Invalid, KennelError, TooLarge, Unavailable
from scorer.evidence import code_uploads, notebooks
from scorer.evidence.code_uploads import MAX_DIRECTORY_BYTES, MAX_FILES, detect_kind
from tests.api.conftest import Service
from tests.api.submissions.tus import ZIP, begun, later, leave_whole, send
from tests.factories import make_zip, noise_images
from tests.pure.archive.broken_files import BrokenZipEntry, pngs, raw_zip, zipped
from tests.worker.forked_processes import forked_processes
from worker.maintenance import cleanup


def perform(parts: Sequence[bytes], what: str) -> Any:
    """Run an action in the process and return its result."""
    acts: dict[str, Callable[[], Any]] = {
        "echo": lambda: [part.decode() for part in parts],
        "refuse": refuse,
        "crash": lambda: ctypes.string_at(0),
        "exit": lambda: os._exit(0),
        "hang": lambda: time.sleep(3600),
        "bomb": lambda: bytearray(8 << 30),
        "talk": lambda: "x" * (2 * MAX_ANSWER_BYTES),
        "open": lambda: os.open("/etc/passwd", os.O_RDONLY),
        "fork": lambda: os.fork() or os._exit(0),
        "user": os.getuid,
        "double": lambda: len(parts[0] + bytes(len(parts[0]))),
        "environment": lambda: sorted(os.environ),
        "overwrite": lambda: os.pwrite(1, parts[0], 0) and os._exit(0),
        "deny": lambda: os.pwrite(2, parts[0], 0),
    }
    try:
        return acts[what]()
    except OSError as error:
        return str(error.strerror)


def ask(parts: Sequence[bytes], what: str, *, purpose: Purpose = DIRECTORY, seconds: float = 60) -> Any:
    return call_limited(perform, lambda: parts, what, purpose=purpose, seconds=seconds)


def refuse() -> None:
    raise TooLarge("too-large", "Too\x1b large.", faults=["a\nb"], count=3, secret="s")


def refusal(call: Callable[[], object]) -> KennelError:
    with pytest.raises(KennelError) as caught:
        call()
    return caught.value


def test_bytes_go_in_and_json_comes_out() -> None:
    assert ask([b"ab", b"", b"c"], "echo") == ["ab", "", "c"]


def test_a_refusal_comes_out_cleaned() -> None:
    error = refusal(lambda: ask([], "refuse"))
    assert (type(error), error.slug, error.message) == (TooLarge, "too-large", "Too  large.")
    assert (error.faults, error.extra) == (("a b",), {"count": 3})


@pytest.mark.parametrize(
    ("what", "how"),
    [
        ("crash", "crashed the process that read it"),
        ("exit", "crashed the process that read it"),
        ("talk", "crashed the process that read it"),
        ("hang", "took too long to read"),
        ("bomb", "needs too much memory to read"),
    ],
)
def test_bytes_that_harm_the_process_are_refused(what: str, how: str) -> None:
    seconds = 3 if what == "hang" else 60
    error = refusal(lambda: ask([b"x"], what, seconds=seconds))
    assert (error.slug, error.message) == ("unreadable", f"The file {how}.")
    assert forked_processes() == set()


@pytest.mark.parametrize(
    "answer",
    [
        b"overwritten",
        b"[]",
        b"[" * 100_000,
        b'{"refusal": 1}',
        b'{"refusal": {"kind": "Invalid", "extra": {"message": 1}}}',
        b'{"refusal": {"kind": "Invalid", "extra": {"self": 1}}}',
    ],
)
def test_an_overwritten_answer_refuses_the_file(answer: bytes) -> None:
    error = refusal(lambda: ask([answer], "overwrite"))
    assert (type(error), error.slug) == (Invalid, "unreadable")


def test_a_process_cannot_deny_that_it_started() -> None:
    assert ask([b"no"], "deny") == os.strerror(errno.EBADF)


def test_memory_is_limited_by_purpose() -> None:
    parts = [bytes(1 << 20)]
    assert ask(parts, "double", purpose=Purpose(8 << 20, Turns(1))) == 2 << 20
    error = refusal(lambda: ask(parts, "double", purpose=Purpose(0, Turns(1))))
    assert error.message == "The file needs too much memory to read."


def test_calls_wait_for_their_turn_before_they_read(monkeypatch: pytest.MonkeyPatch) -> None:
    purpose, has_read = Purpose(DIRECTORY.memory_bytes, Turns(1)), Event()

    def read() -> list[bytes]:
        has_read.set()
        return [b"x"]

    with ThreadPoolExecutor(1) as pool:
        with purpose.turns.turn():
            monkeypatch.setattr(limited_call, "WAIT_SECONDS", 0.01)
            error = refusal(lambda: call_limited(perform, read, "echo", purpose=purpose))
            assert (type(error), error.slug) == (Unavailable, "busy")
            monkeypatch.setattr(limited_call, "WAIT_SECONDS", 60)
            waiting = pool.submit(ask, [b"x"], "echo", purpose=purpose)
        assert waiting.result() == ["x"]
    assert not has_read.is_set()


def test_an_answer_takes_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless answer does not fill this process's memory."""
    sizes: list[int] = []
    memory = limited_call._memory

    @contextmanager
    def measured(name: str) -> Iterator[BinaryIO]:
        with memory(name) as file:
            yield file
            sizes.append(os.fstat(file.fileno()).st_size)

    monkeypatch.setattr(limited_call, "_memory", measured)
    refusal(lambda: ask([], "talk"))
    assert max(sizes) == MAX_ANSWER_BYTES


def test_the_process_cannot_open_files_or_start_processes() -> None:
    assert ask([], "open") == "Function not implemented"
    assert ask([], "fork") == "Function not implemented"
    if os.geteuid() == 0:
        assert ask([], "user") != 0


def test_the_process_gets_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://kennel:secret@127.0.0.1/kennel")
    names = ask([], "environment")
    assert "PYTHONPATH" in names
    assert "DATABASE_URL" not in names


def test_a_process_that_does_not_start_is_no_fault_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perform, "__module__", "scorer.no_such_module")
    with pytest.raises(RuntimeError, match=r"did not start: .*No module named"):
        ask([b"x"], "echo")


def many_entries(count: int) -> io.BytesIO:
    return raw_zip([BrokenZipEntry(f"{index}/".encode(), b"") for index in range(count)])


def test_directories_are_checked_as_in_this_process() -> None:
    """A limited process and this process give the same refusal, or none."""
    names = [("a.png", b"x"), ("A.png", b"x")]
    files = {
        "fine": zipped(pngs()),
        "names": zipped(names),
        "latin": raw_zip([BrokenZipEntry(b"\x84.png", b"x")]),
        "control": raw_zip([BrokenZipEntry(name, b"x") for name in (b"Icon\r", b"a\nb.png", b"\xe2\x80\xae.png")]),
        "no zip": io.BytesIO(b"hello"),
        "cut": io.BytesIO(zipped(pngs()).getvalue()[:-30]),
        "many": many_entries(1200),
        "shared": raw_zip([BrokenZipEntry(b"a.png", b"x"), BrokenZipEntry(b"b.png", b"x", offset=0)]),
        "zip64": raw_zip([BrokenZipEntry(b"a.png", b"x", zip64=True)], zip64=True),
    }
    spec = ImageSpec(3, 8)
    for name, file in files.items():
        for direct, limited in (
            (lambda file: list_images(file, spec), lambda file: require_images(file, spec, limited=True)),
            (list_references, lambda file: require_references(file, limited=True)),
        ):
            outcomes: list[object] = []
            for check in (direct, limited):
                try:
                    check(file)
                except KennelError as error:
                    outcomes.append((type(error), error.slug, error.message, error.faults, error.extra))
                else:
                    outcomes.append(None)
            assert outcomes[0] == outcomes[1], name
    assert refusal(lambda: list_images(files["many"], spec)).slug == "too-many-files"


def test_a_zip_of_code_lists_a_limited_number_of_files() -> None:
    file = many_entries(20)
    error = refusal(lambda: require_files(file, 10, MAX_DIRECTORY_BYTES, limited=True))
    assert (error.slug, error.message) == ("too-many-files", "The zip contains more than 10 files.")
    assert refusal(lambda: require_files(file, MAX_FILES, 10, limited=True)).slug == "too-many-files"


NO_NOTEBOOKS = (
    b"[" * 100_000,
    b'{"cells": []}',
    b"\xff",
    b'{"cells": [], "nbformat": 4, "x": "\xff"}',
    b'{"cells": [], "nbformat": 4',
    b'{"cells": [}, "nbformat": 4}',
    b'{"cells": [], "nbformat": 4}}',
    b'{"cells": [], "nbformat": 4} {}',
    b'{"cells": {}, "nbformat": 4}',
    b'{"x": {"cells": [], "nbformat": 4}}',
    b'{"x": "\\"cells\\": [], \\"nbformat\\": 4"}',
    b'["cells", "nbformat"]',
)


def test_a_notebook_is_recognised_with_any_cells() -> None:
    cells = [{"source": 'print("]}\\\\" + "é")', "outputs": [[{}], "\\"]}, 'a"', None]
    for content in ({"nbformat": 4, "cells": cells}, {"metadata": {"cells": 1}, "cells": cells, "nbformat": 4}):
        assert notebooks.is_notebook([json.dumps(content, ensure_ascii=False, indent=1).encode()])
    assert notebooks.is_notebook([b"\xef\xbb\xbf" + json.dumps({"nbformat": 4, "cells": []}).encode()])


def test_a_notebook_of_many_cells_takes_little_memory() -> None:
    """Parsing would take 600 MB. The process has 32 MB plus twice the file's size."""
    cells = b'{"nbformat": 4, "cells": [' + b"{}," * 6_000_000 + b"{}]}"
    assert detect_kind(io.BytesIO(cells), limited=True) == "notebook"


def test_an_unterminated_string_is_read_once() -> None:
    quotes = b'{"' + b'\\"' * 1_000_000 + b"}"
    assert not call_limited(notebooks.is_notebook, lambda: [quotes], purpose=DIRECTORY)


def test_notebooks_are_read_by_a_limited_process() -> None:
    cells = json.dumps({"nbformat": 4, "cells": []}).encode()
    assert detect_kind(io.BytesIO(cells), limited=True) == detect_kind(io.BytesIO(cells), limited=False) == "notebook"
    for limited in (True, False):
        for content in NO_NOTEBOOKS:
            with pytest.raises(Invalid, match="neither a zip nor a notebook"):
                detect_kind(io.BytesIO(content), limited=limited)


def test_this_process_reads_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebooks, "_PIECE", None)  # this process would need it
    assert detect_kind(io.BytesIO(b'{"nbformat": 4, "cells": []}'), limited=True) == "notebook"


NOTEBOOK = b'{"cells": [], "nbformat": 4}'


@pytest.fixture
def calls(service: Service, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions called in limited processes. This process calls them instead."""
    called: list[str] = []

    def call(
        function: Callable[..., Any], read: Callable[[], Sequence[bytes]], *arguments: Any, purpose: object
    ) -> Any:
        called.append(function.__name__)
        return function(read(), *arguments)

    for module in (limited_listing, code_uploads):
        monkeypatch.setattr(module, "call_limited", call)
    settings = service.context.settings.model_copy(update={"decoding_processes": 1})
    monkeypatch.setattr(service.app.state, "settings", settings)
    monkeypatch.setattr(service.context, "settings", settings)
    return called


def test_zips_of_entries_are_read_in_limited_processes(
    service: Service, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = service.competition(pending_limit=9)
    assert service.submit("ada", slug, ZIP).status_code == 202
    assert calls == ["check_images_listed"], "sent in one request"
    other = make_zip(noise_images(8))
    assert "kennel-submission" in send(service, begun(service, slug, other), 0, other).headers
    assert calls == ["check_images_listed"] * 2, "sent in parts"
    leave_whole(service, slug, monkeypatch)
    later(service, timedelta(minutes=2))
    cleanup.clean_up_uploads(service.context)
    assert calls == ["check_images_listed"] * 3, "completed by the sweep"


@pytest.mark.parametrize(("code", "read"), [(ZIP, "check_files_listed"), (NOTEBOOK, "is_notebook")])
def test_code_is_read_in_limited_processes(service: Service, calls: list[str], code: bytes, read: str) -> None:
    entry = service.submit("ada", service.competition(), ZIP).json()["id"]
    calls.clear()
    assert service.call("ada", "PUT", f"/submissions/{entry}/code", content=code).status_code == 200
    assert calls == [read]


def features() -> bytes:
    file = io.BytesIO()
    np.savez(file, features=np.zeros((4, 2), np.float32), m=np.zeros(2), s=np.eye(2))
    return file.getvalue()


@pytest.mark.parametrize(
    ("role", "content", "read"),
    [("train", ZIP, "check_references_listed"), ("public_features", features(), "check_features_listed")],
)
def test_references_are_read_in_limited_processes(
    service: Service, calls: list[str], role: str, content: bytes, read: str
) -> None:
    path = f"/competitions/{service.competition()}/references/{role}"
    service.call("organizer", "PUT", path, content=content, params={"attach": "false"})
    assert calls == [read]
