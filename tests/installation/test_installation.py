"""The packages that `make setup`, `make demo` and `make up` install, and with which program. Nothing is installed here:
a script replaces Python, pip and uv."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVICE = "-e ./client -e .[api,worker,standalone,demo]"
EVERYTHING = "-e ./client -e .[api,worker,standalone,demo,docs,test,bench]"
PYTHON = """#!/bin/sh
case "$*" in
"-c "*) ;;
"-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
*" uv")
  echo "pip $*" >> {log}
  {pip_gets_uv} && printf '#!/bin/sh\\necho "uv $*" >> {log}; {uv_installs}\\n' > {uv} && chmod +x {uv}
  ;;
*) echo "pip $*" >> {log} ;;
esac
"""


class Machine:
    """An empty environment, with the outcomes of pip and uv on this machine."""

    def __init__(self, folder: Path, *, pip_gets_uv: bool = True, uv_installs: bool = True) -> None:
        self.environment = folder / "venv"
        self.log = folder / "log"
        self.python = folder / "python"
        outcomes = {True: "true", False: "false"}
        uv = self.environment / "bin" / "uv"
        script = PYTHON.format(
            log=self.log, uv=uv, pip_gets_uv=outcomes[pip_gets_uv], uv_installs=outcomes[uv_installs]
        )
        self.python.write_text(script)
        self.python.chmod(0o755)

    def make(self, target: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Make the environment's marker file of an installation."""
        self.log.write_text("")
        command = ["make", f"{self.environment}/{target}", f"VENV={self.environment}", f"PYTHON={self.python}"]
        return subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)

    def commands(self) -> list[str]:
        """The commands of pip and uv that the last `make` ran, without the paths."""
        return [line.replace(f"{self.environment}/bin/", "") for line in self.log.read_text().splitlines()]


@pytest.mark.parametrize(("target", "wanted"), [("service-installed", SERVICE), ("installed", EVERYTHING)])
def test_uv_installs_what_the_target_needs_in_the_tested_versions(target: str, wanted: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert machine.make(target).returncode == 0
    pip, uv = machine.commands()
    assert pip == "pip -m pip --disable-pip-version-check install -c deploy/constraints.txt --quiet uv"
    assert uv == ("uv pip install --python python -c deploy/constraints.txt --no-sources --compile-bytecode " + wanted)


def test_the_full_installation_includes_the_service_but_not_vice_versa(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.make("service-installed")
    machine.make("installed")
    assert EVERYTHING in machine.commands()[-1]
    for target in ("service-installed", "installed"):
        machine.make(target)
        assert machine.commands() == []


@pytest.mark.parametrize(("pip_gets_uv", "uv_installs"), [(False, True), (True, False)])
def test_pip_installs_with_output_if_uv_cannot(pip_gets_uv: bool, uv_installs: bool, tmp_path: Path) -> None:
    machine = Machine(tmp_path, pip_gets_uv=pip_gets_uv, uv_installs=uv_installs)
    done = machine.make("service-installed")
    assert done.returncode == 0
    assert "Installing it with pip" in done.stdout
    last = machine.commands()[-1]
    assert last == f"pip -m pip --disable-pip-version-check install -c deploy/constraints.txt {SERVICE}"


def test_only_uv_can_choose_a_build_of_torch(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert machine.make("service-installed", "TORCH=cpu").returncode == 0
    assert f"--torch-backend cpu {SERVICE}" in machine.commands()[-1]
    without = Machine(tmp_path, pip_gets_uv=False)
    (tmp_path / "venv" / "bin" / "uv").unlink()
    (tmp_path / "venv" / "service-installed").unlink()
    assert without.make("service-installed", "TORCH=cpu").returncode != 0
    assert len(without.commands()) == 1


@pytest.mark.parametrize(
    ("target", "installed"),
    [
        ("demo", "service-installed"),
        ("demo-full", "service-installed"),
        ("up", "service-installed"),
        ("setup", "installed"),
    ],
)
def test_each_target_needs_its_installation(target: str, installed: str) -> None:
    done = subprocess.run(
        ["make", "--print-data-base", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert f"\n{target}: .venv/{installed}\n" in done.stdout
