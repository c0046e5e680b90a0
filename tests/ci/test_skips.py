"""CI fails when it skips a test for a reason that is not listed."""

import os
import subprocess
import sys
from pathlib import Path

from tests.ci import skips
from tests.documents import ROOT

CONFTEST = "from tests.ci.skips import pytest_collection_modifyitems, pytest_sessionfinish, pytest_terminal_summary"
TESTS = """
import pytest

def test_device() -> None:
    pytest.skip("needs a GPU")

@pytest.mark.root
def test_account() -> None:
    pytest.skip("needs root")
"""
OTHERS = """
import pytest

def test_page() -> None:
    pytest.skip("needs a browser")

def test_owner() -> None:
    pytest.skip("needs root")
"""
MODULE = "import pytest\npytest.importorskip('no_such_package', reason='needs a package')\n"


def test_ci_fails_for_any_other_skip(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    root: needs root\n")
    (tmp_path / "test_listed.py").write_text(TESTS)
    (tmp_path / "test_others.py").write_text(OTHERS)
    (tmp_path / "test_module.py").write_text(MODULE)
    variables = {"CI": "true", "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    def run(*files: str) -> tuple[int, list[str]]:
        # Without a folder of its own, it would delete those of earlier runs, which can take a minute.
        options = ["-p", "xdist", "--numprocesses", "1", "--basetemp", "temporary"]
        command = [sys.executable, "-m", "pytest", *options, *files]
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | variables, capture_output=True, text=True, check=False
        )
        return done.returncode, [line for line in done.stdout.splitlines() if line.startswith("CI may not skip")]

    assert run("test_listed.py") == (0, [])
    status, lines = run(".")
    assert status == 1
    assert sorted(lines) == [
        "CI may not skip test_module.py: needs a package",
        f"CI may not skip test_others.py::test_owner: {skips.NEEDS_ROOT}",
        "CI may not skip test_others.py::test_page: needs a browser",
    ]
