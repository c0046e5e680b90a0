"""The sandbox: what a process that reads uploaded generators cannot do, and what becomes of hostile files."""

import io
import os
import pickle
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from onnx import helper

from scorer.errors import Invalid, KennelError, Unavailable
from scorer.generators.latents import Latent
from scorer.generators.limits import GeneratorLimits
from scorer.generators.recovery.plan import AuditPlan
from scorer.generators.recovery.report import Audit
from scorer.generators.sandbox import exchange
from scorer.generators.sandbox.runner import audit_in_sandbox
from tests.worker.generators.onnx_files import DIMENSION, dcgan, export_generator, linear_model, model_of_nodes, weight

ROOT = Path(__file__).parents[3]
IMAGES = np.random.default_rng(0).integers(0, 256, (24, 2, 2, 3), np.uint8)
SHORT = AuditPlan(train=8, held_out=8, generated=8, distorted=0, starts=1, iterations=5)
ENDLESS = AuditPlan(train=24, held_out=24, generated=5000, starts=1000, iterations=100_000, method="wolfe")


def audited(
    content: bytes,
    plan: AuditPlan = SHORT,
    limits: GeneratorLimits = GeneratorLimits(),  # noqa: B008
    **more: object,
) -> Audit:
    return audit_in_sandbox(
        content,
        Latent(DIMENSION),
        IMAGES[:12],
        IMAGES[12:],
        plan=plan,
        limits=limits,
        **more,  # type: ignore[arg-type]
    )


def left_behind() -> list[str]:
    """Processes and folders of this test's sandboxes that are still there; those of others are not ours."""
    folder = tempfile.gettempdir()
    processes = [
        each.info["cmdline"]
        for each in psutil.process_iter(["cmdline"])
        if any(word.startswith(f"{folder}/kennel-generator-") for word in each.info["cmdline"] or [])
    ]
    folders = list(Path(folder).glob("kennel-generator-*"))
    return [str(each) for each in (*processes, *folders)]


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever happens, neither process nor folder outlives a call."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert left_behind() == []


@pytest.mark.heavy
def test_a_generator_is_audited_and_progress_is_reported() -> None:
    steps: list[tuple[str, float]] = []
    audit = audited(linear_model().SerializeToString(), progress=lambda stage, share: steps.append((stage, share)))
    assert audit.report()["verdict"] in {"copies", "no-sign", "inconclusive"}
    assert audit.errors["train"].shape == (8,)
    assert audit.pairs["generated"].target.shape[1:] == (2, 2, 3)
    assert {"reading", "generated", "train", "held_out"} <= {stage for stage, _ in steps}
    assert steps[-1][1] == 1.0
    walls = audit.provenance["sandbox"]
    assert walls["network_namespace"] or walls["system_call_filter"]
    assert walls["file_access"]
    assert {name: audit.provenance[name] for name in ("opset", "nodes", "weights", "values")} == {
        "opset": 17,
        "nodes": 3,
        "weights": 100,
        "values": "tanh",
    }


def test_what_a_file_is_refused_for_comes_out() -> None:
    with pytest.raises(Invalid) as caught:
        audited(pickle.dumps(["a", "pickle"]))
    assert caught.value.slug == "not-onnx"
    assert "torch.onnx.export" in caught.value.message


@pytest.mark.heavy
def test_a_time_bomb_ends_as_a_refusal() -> None:
    """By processor time; and by the clock, for whatever takes none."""
    with pytest.raises(Invalid) as caught:
        audited(export_generator(dcgan()), ENDLESS, GeneratorLimits(cpu_seconds=1))
    assert (caught.value.slug, "1 seconds of processor" in caught.value.message) == ("out-of-time", True)
    with pytest.raises(Invalid) as caught:
        audited(linear_model().SerializeToString(), ENDLESS, GeneratorLimits(wall_seconds=1))
    assert caught.value.slug == "out-of-time"


@pytest.mark.heavy
def test_a_memory_bomb_that_passes_the_count_ends_as_a_refusal() -> None:
    """The count is of numbers for one image, and generous; the process's limit is what holds."""
    nodes = [
        helper.make_node("MatMul", ["z", "m"], ["flat"]),
        helper.make_node("Reshape", ["flat", "s"], ["raw"]),
        helper.make_node("Resize", ["raw", "", "by"], ["large"]),
        helper.make_node("Tanh", ["large"], ["images"]),
    ]
    stored = [
        weight("m", np.ones((DIMENSION, 12))),
        weight("s", [-1, 3, 2, 2], np.int64),
        weight("by", [1, 1, 500, 500]),
    ]
    with pytest.raises(Invalid) as caught:
        audited(model_of_nodes(nodes, stored).SerializeToString(), limits=GeneratorLimits(memory_bytes=512 << 20))
    assert caught.value.slug == "out-of-memory"


class Lost(Exception):
    """What a worker raises when its work is no longer its own."""


def test_the_process_ends_when_nobody_wants_its_result() -> None:
    def lose(stage: str, share: float) -> None:
        raise Lost

    with pytest.raises(Lost):
        audited(linear_model().SerializeToString(), ENDLESS, progress=lose)


ATTEMPTS = """
import ctypes, os, socket, subprocess, sys
from pathlib import Path
from scorer.generators.limits import GeneratorLimits
from scorer.confinement import process, seccomp
from scorer.generators.sandbox import confinement

for wall in sys.argv[3:]:
    module, name = {"network": (process, "_own_network"), "calls": (seccomp, "forbid")}[wall]
    setattr(module, name, lambda: False)
walls = confinement.confine(Path(sys.argv[1]), GeneratorLimits())

def attempt(name, do):
    try:
        do()
    except OSError as error:
        print(name, "failed")
    else:
        print(name, "done")

def tgkill(process):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(234, process, process, 0) != 0:
        raise OSError(ctypes.get_errno(), "tgkill")

attempt("connect", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[2])), timeout=5).close())
attempt("socket", lambda: socket.socket().close())
attempt("unix", lambda: socket.socketpair())
attempt("program", lambda: subprocess.run(["/bin/true"]))
attempt("fork", lambda: os.fork() or os._exit(0))
attempt("signal", lambda: os.kill(os.getppid(), 0))
attempt("signal_thread", lambda: tgkill(os.getppid()))
attempt("own_signal", lambda: tgkill(os.getpid()))
attempt("read", lambda: Path("/etc/passwd").read_bytes())
attempt("environment", lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes())
attempt("write", lambda: (Path(sys.argv[1]).parent / "beside").write_text("x"))
attempt("own", lambda: (Path(sys.argv[1]) / "x").write_text("x"))
"""


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    """The port of a server on this machine."""
    code = """
import socket, time
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.kill()


def attempts(folder: Path, port: int, *without: str) -> dict[str, str]:
    """What a confined process could do, and what failed; ``without`` some of its protections."""
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            "-c",
            ATTEMPTS,
            str(folder),
            str(port),
            *without,
        ],
        env={"PYTHONPATH": str(ROOT), "SECRET": "s3cret"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


def test_both_protections_confine_a_process(server: int, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    outcomes = attempts(folder, server)
    assert (outcomes.pop("own"), outcomes.pop("own_signal")) == ("done", "done")
    assert set(outcomes.values()) == {"failed"}, outcomes


def test_each_protection_alone_keeps_it_from_the_network(server: int, tmp_path: Path) -> None:
    only_calls = attempts(tmp_path, server, "network")
    assert (only_calls["connect"], only_calls["socket"], only_calls["program"]) == ("failed", "failed", "failed")
    only_network = attempts(tmp_path, server, "calls")
    assert (only_network["connect"], only_network["socket"]) == ("failed", "done")


def test_the_attempts_would_have_worked(server: int, tmp_path: Path) -> None:
    """Unconfined, the same server answers, the same process hears signals, and the same files can be read."""
    script = ATTEMPTS.replace("walls = confinement.confine(Path(sys.argv[1]), GeneratorLimits())", "")
    folder = tmp_path / "own"
    folder.mkdir()
    command = [sys.executable, "-P", "-c", script, str(folder), str(server)]
    done = subprocess.run(command, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True)
    assert {line.split()[1] for line in done.stdout.splitlines()} == {"done"}


def test_without_any_wall_nothing_is_opened(tmp_path: Path) -> None:
    script = """
    from pathlib import Path
    from scorer.errors import Unavailable
    from scorer.generators.limits import GeneratorLimits
    from scorer.confinement import process, seccomp
    from scorer.generators.sandbox import confinement
    process._own_network = seccomp.forbid = lambda: False
    try:
        confinement.confine(Path("/tmp"), GeneratorLimits())
    except Unavailable as error:
        print(error.slug)
    """
    command = [sys.executable, "-P", "-c", textwrap.dedent(script)]
    done = subprocess.run(command, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "no-sandbox"


def test_the_process_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    """A killed worker leaves no process that runs for hours."""
    child = """
    import time
    from pathlib import Path
    from scorer.generators.limits import GeneratorLimits
    from scorer.generators.sandbox import confinement
    confinement.confine(Path("/tmp"), GeneratorLimits())
    print("confined", flush=True)
    time.sleep(600)
    """
    parent = f"""
    import subprocess, sys
    started = subprocess.Popen([sys.executable, "-P", "-c", {textwrap.dedent(child)!r}], stdout=subprocess.PIPE)
    started.stdout.readline()
    print(started.pid, flush=True)
    started.wait()
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(parent)],
        env={"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        confined = psutil.Process(int(process.stdout.readline()))
        process.kill()
    gone, alive = psutil.wait_procs([confined], timeout=30)
    assert (len(gone), alive) == (1, [])


def test_the_process_gets_no_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://user:s3cret@host/db")
    seen = tmp_path / "seen"
    real = subprocess.Popen

    def spied(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        show = [sys.executable, "-c", f"import os; open({str(seen)!r}, 'w').write(repr(dict(os.environ)))"]
        return real(show, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(subprocess, "Popen", spied)
    with pytest.raises(RuntimeError, match="no result"):
        audited(b"")
    assert "s3cret" not in seen.read_text()
    assert "PYTHONPATH" in seen.read_text()


class Payload:
    """An object whose unpickling ends the process."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return os._exit, (1,)


def test_what_comes_out_is_doubted(tmp_path: Path) -> None:
    """Pickles, arrays that unpack to more than is allowed, and strange refusals."""
    (tmp_path / exchange.REPORT).write_text("{}")
    np.savez(tmp_path / exchange.ARRAYS, evil=np.array([Payload()], object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        exchange.read_result(tmp_path, GeneratorLimits())
    with zipfile.ZipFile(tmp_path / exchange.ARRAYS, "w", zipfile.ZIP_DEFLATED) as archive:
        written = io.BytesIO()
        np.save(written, np.zeros(1 << 20))
        archive.writestr("bomb.npy", written.getvalue())
    assert (tmp_path / exchange.ARRAYS).stat().st_size < 100_000
    with pytest.raises(Invalid, match="larger than is allowed"):
        exchange.read_result(tmp_path, GeneratorLimits(written_bytes=1 << 20))
    exchange.write_refusal(tmp_path, KennelError("<script>", "\x1b[2J" + "x" * 100_000))
    with pytest.raises(Invalid) as caught:
        exchange.read_result(tmp_path, GeneratorLimits())
    assert (caught.value.slug, caught.value.message[:5], len(caught.value.message)) == ("not-onnx", " [2Jx", 4000)
    exchange.write_refusal(tmp_path, Unavailable("no-sandbox", "None here."))
    with pytest.raises(Unavailable):
        exchange.read_result(tmp_path, GeneratorLimits())
