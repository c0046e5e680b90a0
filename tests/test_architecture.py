"""The shape of the house, as ``pyproject.toml`` contracts it and beyond."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("api", "deploy", "scorer", "worker")


def modules() -> list[Path]:
    """Every module of the product."""
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def test_import_contracts_hold() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_only_scorer_db_writes_sql() -> None:
    """Elsewhere SQLAlchemy is known by its session alone. The servers' roles are made where the servers are."""
    allowed = {"Session", "make_url"}
    for path in modules():
        if path.is_relative_to(ROOT / "scorer" / "db") or path.name == "database_roles.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sqlalchemy"):
                assert {name.name for name in node.names} <= allowed, f"{path} imports {ast.unparse(node)}"


def test_nothing_in_scorer_commits() -> None:
    """The edge owns the transaction; scorer.jobs.broker offers it the one way to end it."""
    for path in (ROOT / "scorer").rglob("*.py"):
        assert ".commit(" not in path.read_text(), path


def test_every_public_name_says_what_it_is() -> None:
    missing = []
    for path in modules():
        tree = ast.parse(path.read_text())
        if ast.get_docstring(tree) is None and path.read_text():
            missing.append(str(path))
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name[0] == "_":
                continue
            if ast.get_docstring(node) is None:
                missing.append(f"{path}:{node.lineno} {node.name}")
    assert [each for each in missing if "/api/schemas/" not in each] == []


@pytest.mark.parametrize("module", ["api.main", "worker.tasks", "deploy.cli.main"])
def test_neither_the_web_nor_the_checking_worker_needs_torch(module: str) -> None:
    """The `api` image has none; and the parent of a forking worker must not touch it."""
    environment = {"DATABASE_URL": "postgresql://x/x", "REDIS_URL": "redis://x", "BLOB_URL": "file:///tmp/kennel-none"}
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_modules_stay_readable() -> None:
    long = {str(path): lines for path in modules() if (lines := path.read_text().count("\n")) > 300}
    assert long == {}


def test_templates_stay_readable() -> None:
    long = [
        f"{path.name}:{number}"
        for path in sorted((ROOT / "api" / "pages" / "templates").iterdir())
        for number, line in enumerate(path.read_text().split("\n"), start=1)
        if len(line) > 160
    ]
    assert long == []
