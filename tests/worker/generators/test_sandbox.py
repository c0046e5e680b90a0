"""The sandbox: restrictions of the process that reads uploaded generators, and the handling of hostile files."""

import io
import os
import pickle
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from onnx import helper

from scorer.confinement.import_path import IMPORT_PATH
from scorer.confinement.process import missing_measures
from scorer.errors import Invalid, KennelError, Unavailable
from scorer.generators.latents import Latent
from scorer.generators.limits import GeneratorLimits
from scorer.generators.recovery.plan import AuditPlan
from scorer.generators.recovery.report import Audit
from scorer.generators.sandbox import exchange
from scorer.generators.sandbox.runner import audit_in_sandbox
from tests.worker.generators.onnx_files import DIMENSION, build_model, dcgan, export_generator, linear_model, weight

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
        held_out=IMAGES[12:],
        plan=plan,
        limits=limits,
        **more,  # type: ignore[arg-type]
    )


def leftovers() -> list[str]:
    """The remaining processes and folders of this test's sandboxes."""
    folder = tempfile.gettempdir()
    processes = [
        process.info["cmdline"]
        for process in psutil.process_iter(["cmdline"])
        if any(word.startswith(f"{folder}/kennel-generator-") for word in process.info["cmdline"] or [])
    ]
    folders = list(Path(folder).glob("kennel-generator-*"))
    return [str(leftover) for leftover in (*processes, *folders)]


@pytest.fixture(autouse=True)
def _no_leftovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process or folder outlives a call."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert leftovers() == []


def test_a_generator_is_audited_and_progress_is_reported() -> None:
    steps: list[tuple[str, float]] = []
    audit = audited(linear_model().SerializeToString(), progress=lambda stage, share: steps.append((stage, share)))
    assert audit.report()["verdict"] in {"copies", "no-sign", "inconclusive"}
    assert audit.errors["train"].shape == (8,)
    assert audit.pairs["generated"].target.shape[1:] == (2, 2, 3)
    assert {"reading", "generated", "train", "held_out"} <= {stage for stage, _ in steps}
    assert steps[-1][1] == 1.0
    assert missing_measures(audit.provenance["sandbox"]) == []
    assert {name: audit.provenance[name] for name in ("opset", "nodes", "weights", "values")} == {
        "opset": 17,
        "nodes": 3,
        "weights": 100,
        "values": "tanh",
    }


def test_the_reason_for_a_refusal_is_returned() -> None:
    with pytest.raises(Invalid) as caught:
        audited(pickle.dumps(["a", "pickle"]))
    assert caught.value.slug == "not-onnx"
    assert "torch.onnx.export" in caught.value.message


def test_a_time_bomb_ends_as_a_refusal() -> None:
    """The limit of processor time ends it, or the limit of elapsed time if it waits."""
    with pytest.raises(Invalid) as caught:
        audited(export_generator(dcgan()), ENDLESS, GeneratorLimits(cpu_seconds=1))
    assert (caught.value.slug, "1 seconds of processor" in caught.value.message) == ("out-of-time", True)
    with pytest.raises(Invalid) as caught:
        audited(linear_model().SerializeToString(), ENDLESS, GeneratorLimits(wall_seconds=1))
    assert caught.value.slug == "out-of-time"


def test_a_process_that_the_system_ended_is_no_fault_of_the_file() -> None:
    def end(_stage: str, _share: float) -> None:
        for process in psutil.Process().children(recursive=True):  # the tests' database is also one
            with suppress(psutil.NoSuchProcess):
                if "scorer.generators.sandbox.child" in process.cmdline():
                    process.kill()

    with pytest.raises(RuntimeError, match="the system ended the sandbox"):
        audited(linear_model().SerializeToString(), ENDLESS, progress=end)


def test_a_memory_bomb_that_passes_the_count_ends_as_a_refusal() -> None:
    """The count of numbers per image is generous, so the process also has a memory limit."""
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
        audited(build_model(nodes, stored).SerializeToString(), limits=GeneratorLimits(memory_bytes=512 << 20))
    assert caught.value.slug == "out-of-memory"


class Lost(Exception):
    """The error of a worker that has lost its job."""


def test_the_process_ends_when_its_result_is_not_needed() -> None:
    def lose(stage: str, share: float) -> None:
        raise Lost

    with pytest.raises(Lost):
        audited(linear_model().SerializeToString(), ENDLESS, progress=lose)


def test_without_a_required_measure_no_file_is_opened(tmp_path: Path) -> None:
    """The operator can accept a weaker sandbox, but never one with network access."""
    script = """
    import sys
    from pathlib import Path
    from scorer.confinement import landlock, process, seccomp
    from scorer.errors import Unavailable
    from scorer.generators.limits import GeneratorLimits
    from scorer.generators.sandbox import child
    landlock.open_only = lambda *_: False
    if "offline" not in sys.argv:
        process._unshare = seccomp.allow_listed = lambda *_, **__: False
    for name in child.RESULTS:
        Path(name).touch()
    try:
        child.confine(Path(), GeneratorLimits(), accept_weaker="accept" in sys.argv)
    except Unavailable as error:
        print(error.slug, error.message)
    else:
        print("confined")
    """

    def answer(*arguments: str) -> str:
        command = [sys.executable, "-P", "-c", textwrap.dedent(script), *arguments]
        environment = {"PYTHONPATH": IMPORT_PATH, "OPENBLAS_NUM_THREADS": "1"}
        options: dict[str, Any] = {"env": environment, "cwd": tmp_path, "capture_output": True, "text": True}
        output: str = subprocess.run(command, check=True, **options).stdout
        return output.strip()

    refused = answer("offline")
    assert refused.startswith("no-sandbox This system cannot open an uploaded generator safely: it lacks Landlock")
    assert "KENNEL_ACCEPT_WEAKER_SANDBOX" in refused
    assert answer("offline", "accept") == "confined"
    assert answer("accept").startswith("no-sandbox")


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
    """An object that ends the process when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return os._exit, (1,)


def written(folder: Path, name: str, *, report: str = "{}") -> Path:
    """A new folder as the sandbox leaves it, with a report."""
    own = folder / name
    own.mkdir()
    for result in exchange.RESULTS:
        (own / result).touch()
    (own / exchange.REPORT).write_text(report)
    return own


def refused(own: Path, limits: GeneratorLimits = GeneratorLimits()) -> str:  # noqa: B008
    with pytest.raises(Invalid) as caught:
        exchange.read_result(own, limits)
    return caught.value.slug


def test_results_are_not_trusted(tmp_path: Path) -> None:
    """Pickles, arrays that unpack to more than the limit, nonsense, and strange refusals."""
    pickled = written(tmp_path, "pickled")
    np.savez(pickled / exchange.ARRAYS, evil=np.array([Payload()], object))
    assert refused(pickled) == "generator-crashed"
    bomb = written(tmp_path, "bomb")
    with zipfile.ZipFile(bomb / exchange.ARRAYS, "w", zipfile.ZIP_DEFLATED) as archive:
        array = io.BytesIO()
        np.save(array, np.zeros(1 << 20))
        archive.writestr("bomb.npy", array.getvalue())
    assert (bomb / exchange.ARRAYS).stat().st_size < 100_000
    assert refused(bomb, GeneratorLimits(written_bytes=1 << 20)) == "too-much-memory"
    for report in ("[" * 100_000, "{", "7", "\xff"):
        assert refused(written(tmp_path, f"nonsense-{report[:1]}{len(report)}", report=report)) == "generator-crashed"
    assert refused(written(tmp_path, "no-arrays")) == "generator-crashed"
    strange = written(tmp_path, "strange")
    exchange.write_refusal(strange, KennelError("<script>", "\x1b[2J" + "x" * 100_000))
    with pytest.raises(Invalid) as caught:
        exchange.read_result(strange, GeneratorLimits())
    assert (caught.value.slug, caught.value.message[:5], len(caught.value.message)) == ("not-onnx", " [2Jx", 4000)
    exchange.write_refusal(strange, Unavailable("no-sandbox", "None here."))
    with pytest.raises(Unavailable):
        exchange.read_result(strange, GeneratorLimits())


def test_links_and_pipes_are_no_results(tmp_path: Path) -> None:
    """A link could show a file that the process may not read, and a pipe would block the worker forever."""
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    make: dict[str, Callable[[Path], object]] = {
        "symbolic": lambda path: path.symlink_to(secret),
        "hard": lambda path: path.hardlink_to(secret),
        "pipe": os.mkfifo,
        "folder": Path.mkdir,
        "nothing": lambda _: None,
    }
    for kind, put in make.items():
        for name in exchange.RESULTS:
            own = written(tmp_path, f"{kind}-{name}")
            np.savez(own / exchange.ARRAYS, fine=np.zeros(1))
            (own / name).unlink()
            put(own / name)
            assert refused(own) == "generator-crashed", (kind, name)
