"""The page of promises: its tests and guards exist, and it shows the recorded results."""

import ast
from pathlib import Path

import pytest

from tests.faults.rounds.fault_kinds import KINDS
from tests.promises.guards import REPOSITORY, read_results
from tests.promises.page import PAGE, rendered
from tests.promises.promises import PROMISES, Promise


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.test.partition("::")[2])
def test_the_test_and_the_guards_of_a_promise_exist(promise: Promise) -> None:
    file, _, name = promise.test.partition("::")
    tree = ast.parse((REPOSITORY / file).read_text())
    assert name.partition("[")[0] in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for path, guard, without in promise.guards:
        assert (REPOSITORY / path).read_text().count(guard) == 1
        assert guard != without
    assert set(promise.kinds) <= set(KINDS)


def test_the_page_shows_the_recorded_results() -> None:
    """`python -m tests.promises --write` writes it."""
    assert PAGE.read_text() == rendered(PAGE.read_text(), read_results())


def test_every_promise_has_its_own_sentence() -> None:
    assert len({promise.promise for promise in PROMISES}) == len(PROMISES)
    assert Path(PAGE).is_file()
