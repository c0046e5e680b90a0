"""Three rounds of fault injection over the real service, and the parts of the harness that decide whether one counts.

`make faults` runs as many as it is asked for (:mod:`tests.faults.rounds`).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.rounds import report
from tests.faults.rounds.fault_kinds import KINDS
from tests.faults.rounds.round import Outcome, plan_of, run_round
from tests.faults.rounds.stack import Stack, running_stack


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("rounds") / "service.log") as running:
        yield running


@pytest.mark.heavy
@pytest.mark.parametrize(("seed", "kind"), [(1, "kill-job-process"), (2, "kill-postgres"), (3, "broker-flushed")])
def test_every_promise_holds_after(stack: Stack, seed: int, kind: str) -> None:
    outcome = run_round(stack, seed, [kind])
    assert outcome.violations == [], (outcome, stack.log.read_text()[-20_000:])
    assert outcome.entries["attempts"] > outcome.entries["scored"] > 0


def test_each_kind_has_its_turn_and_a_seed_gives_the_same_plan() -> None:
    plans = [plan_of(seed) for seed in range(len(KINDS))]
    assert [plan[0] for plan in plans] == list(KINDS)
    assert plans == [plan_of(seed) for seed in range(len(KINDS))]
    assert any(len(plan) == 2 for plan in plans)


def test_a_report_goes_on_where_it_stopped_and_counts_what_was_skipped_apart(tmp_path: Path) -> None:
    path = tmp_path / "faults.jsonl"
    assert report.next_seed(report.read_report(path)) == 0
    whole = Outcome(0, ["kill-web"], entries={"scored": 3, "attempts": 4})
    skipped = Outcome(1, ["clock-ahead"], skipped="needs faketime")
    broken = Outcome(2, ["kill-web", "kill-redis"], violations=["a blob is missing"], entries={"attempts": 1})
    for outcome in (whole, skipped, broken):
        report.append(path, outcome)
    rounds = report.read_report(path)
    assert report.next_seed(rounds) == 3
    summary = report.summary_of(rounds)
    assert "2 rounds, 1 of them with a broken promise; 5 uploads tried. Entries by how they ended: 3 scored." in summary
    assert "| `kill-web` | 2 | 0 | 1 |" in summary
    assert "| `clock-ahead` | 0 | 1 | 0 |" in summary
