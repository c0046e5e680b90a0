"""The architecture: import contracts of ``pyproject.toml``, and rules beyond them."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("api", "client/kennel_client", "deploy", "scorer", "worker")
CONTRACTED = (*PACKAGES, "benchmarks")
MAX_TEMPLATE_COLUMNS = 160
MAX_TEST_NAME = 70
PLANTED = {
    "scorer/submissions/intake.py": "from scorer.review import review_queue",
    "scorer/leaderboard/rows.py": "from scorer.teams import quotas",
    "scorer/db/teams/members.py": "from scorer.db.review import flags",
    "scorer/metrics/cosine.py": "from scorer.metrics.copying import cells",
    "scorer/findings/signs.py": "import torch",
    "scorer/helpers.py": "ANYTHING = 1",
    "worker/runtime/heartbeat.py": "from worker.scoring import score",
    "api/http/etags.py": "from api.rendering import formatting",
    "api/teams/routes.py": "from api.jobs import routes",
    "client/kennel_client/archive/listing.py": "from scorer import archive",
}
"""Lines that break the contracts: imports upward and sideways, torch in a pure package, a module outside all layers."""
CAUGHT = (
    "scorer.submissions.intake -> scorer.review.review_queue",
    "scorer.leaderboard.rows -> scorer.teams.quotas",
    "scorer.db.teams.members -> scorer.db.review.flags",
    "scorer.metrics.cosine -> scorer.metrics.copying.cells",
    "scorer.findings.signs -> torch",
    "- scorer.helpers",
    "worker.runtime.heartbeat -> worker.scoring.score",
    "api.http.etags -> api.rendering.formatting",
    "api.teams.routes -> api.jobs.routes",
    "kennel_client.archive.listing -> scorer.archive",
)


def modules(packages: Sequence[str] = PACKAGES) -> list[Path]:
    return [path for package in packages for path in sorted((ROOT / package).rglob("*.py"))]


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the packages in a folder."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(folder / "client")]), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_import_contracts_hold() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout


def test_import_contracts_catch_planted_violations(tmp_path: Path) -> None:
    for package in CONTRACTED:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "results"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name, line in PLANTED.items():
        with (tmp_path / name).open("a") as module:
            module.write(f"\n{line}\n")
    done = lint_imports(tmp_path)
    assert done.returncode == 1
    assert [violation for violation in CAUGHT if violation not in done.stdout] == [], done.stdout


def test_only_scorer_db_writes_sql() -> None:
    """Other code only imports the session. `kennel up` creates the roles of its own PostgreSQL."""
    allowed = {"Session", "make_url"}
    for path in modules():
        if path.is_relative_to(ROOT / "scorer" / "db") or path.name == "database_roles.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sqlalchemy"):
                assert {name.name for name in node.names} <= allowed, f"{path} imports {ast.unparse(node)}"


def test_nothing_in_scorer_commits() -> None:
    """Callers own the transaction and end it through scorer.jobs.broker. scorer.db.session ends read-only ones."""
    ends = {path for path in (ROOT / "scorer").rglob("*.py") if ".commit(" in path.read_text().replace("super().", "")}
    assert ends == {ROOT / "scorer" / "jobs" / "broker.py", ROOT / "scorer" / "db" / "session.py"}


def test_every_module_has_a_docstring() -> None:
    texts = {path: path.read_text() for path in modules()}
    assert [str(path) for path, text in texts.items() if text and ast.get_docstring(ast.parse(text)) is None] == []


@pytest.mark.parametrize("module", ["api.main", "worker.tasks", "deploy.cli.main"])
def test_processes_start_without_the_libraries_of_their_jobs(module: str) -> None:
    """The `api` image has no torch, a forking worker's parent must not load it, and the others take 100 MB."""
    environment = {"DATABASE_URL": "postgresql://x/x", "REDIS_URL": "redis://x", "BLOB_URL": "file:///tmp/kennel-none"}
    code = f"import sys, {module}; print(*{{'torch', 'scipy.stats', 'sklearn'}} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == "\n"


def test_templates_stay_readable() -> None:
    long = [
        f"{path.name}:{number}"
        for path in sorted((ROOT / "api").glob("**/templates/*.*"))
        for number, line in enumerate(path.read_text().split("\n"), start=1)
        if len(line) > MAX_TEMPLATE_COLUMNS
    ]
    assert long == []


def test_names_of_tests_are_short() -> None:
    long = [
        f"{path.relative_to(ROOT)}::{node.name}"
        for path in modules(["tests"])
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if node.name.startswith("test_") and len(node.name) >= MAX_TEST_NAME
    ]
    assert long == []


def test_no_test_module_imports_from_another() -> None:
    borrowed = [
        f"{path.relative_to(ROOT)}:{node.lineno} {name}"
        for path in modules(["tests", "benchmarks"])
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        for name in [f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name]
        if any(part.startswith("test_") for part in name.split("."))
    ]
    assert borrowed == []
