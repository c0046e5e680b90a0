"""Three rounds of fault injection on the real service, and tests of the harness itself.

`make faults` runs more rounds (:mod:`tests.faults.rounds`).
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from tests.faults.rounds import report
from tests.faults.rounds.fault_kinds import KINDS
from tests.faults.rounds.invariants import CHECKS
from tests.faults.rounds.round import Outcome, draw_plan, run_round, wait_for_rest
from tests.faults.rounds.situation import Situation
from tests.faults.rounds.stack import Stack, running_stack
from tests.faults.rounds.traffic import make_traffic


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("rounds") / "service.log") as running:
        yield running


@pytest.mark.parametrize(("seed", "kind"), [(1, "kill-job-process"), (2, "kill-postgres"), (3, "broker-flushed")])
def test_every_promise_holds_after(stack: Stack, seed: int, kind: str) -> None:
    outcome = run_round(stack, seed, [kind])
    assert outcome.violations == [], (outcome, stack.log.read_text()[-20_000:])
    assert outcome.entries["attempts"] > outcome.entries["scored"] > 0


def broken(situation: Situation) -> set[str]:
    """The names of the checks that report a violation."""
    return {check.__name__ for check in CHECKS if list(check(situation))}


def test_every_check_detects_its_violation(stack: Stack) -> None:
    situation = quiet_round(stack, seed=4)
    assert broken(situation) == set()
    slug = situation.traffic.slug
    scored = f"SELECT ref FROM submissions WHERE status = 'scored' AND competition_id = ({COMPETITION}) ORDER BY ref"

    tamper(stack, slug, f"UPDATE submissions SET status = 'failed' WHERE ref = ({scored} LIMIT 1)")
    assert broken(situation) >= {
        "every_entry_ends_correctly",
        "one_measurement_per_track",
        "status_and_history_agree",
    }
    other = f"SELECT max(team_id) FROM submissions WHERE competition_id = ({COMPETITION})"
    tamper(stack, slug, f"UPDATE submissions SET team_id = ({other}) WHERE competition_id = ({COMPETITION})")
    assert "quotas_are_right" in broken(situation)
    boards = stack.admin.get(f"/competitions/{slug}/leaderboard")
    assert boards["entries"]
    tamper(
        stack,
        slug,
        "ALTER TABLE measurements DISABLE TRIGGER USER",
        f"UPDATE measurements SET fid = fid + 1 WHERE submission_ref IN ({scored})",
        "ALTER TABLE measurements ENABLE TRIGGER USER",
    )
    assert "boards_are_as_defined" in broken(situation), "the boards did not change, because triggers were off"
    situation.acts = {"published": [{}], "thresholds": 9, "picks": {}}
    assert "acts_are_kept" in broken(situation)
    tamper(stack, slug, f"UPDATE submissions SET sprite_key = 'sprites/none.png' WHERE ref = ({scored} LIMIT 1)")
    assert "nothing_is_left_over" in broken(situation)
    # This check covers the blobs of all competitions. The other changes only affect this competition.
    tamper(stack, slug, "UPDATE submissions SET sprite_key = NULL WHERE sprite_key = 'sprites/none.png'")


COMPETITION = "SELECT id FROM competitions WHERE slug = %(slug)s"


def quiet_round(stack: Stack, seed: int) -> Situation:
    """A round without a fault."""
    traffic = make_traffic(stack, seed)
    traffic.begin.set()
    with traffic.running():
        pass
    wait_for_rest(stack, traffic.slug)
    return Situation(stack, traffic, Random(seed), outage=0.0)


def tamper(stack: Stack, slug: str, *statements: str) -> None:
    """Change rows as only a superuser can."""
    with closing(stack.connect()) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement, {"slug": slug})


def test_kinds_take_turns_and_a_seed_always_gives_the_same_plan() -> None:
    plans = [draw_plan(seed) for seed in range(len(KINDS))]
    assert [plan[0] for plan in plans] == list(KINDS)
    assert plans == [draw_plan(seed) for seed in range(len(KINDS))]
    assert any(len(plan) == 2 for plan in plans)


def test_a_report_continues_and_counts_skips_separately(tmp_path: Path) -> None:
    path = tmp_path / "faults.jsonl"
    assert report.next_seed(report.read_report(path)) == 0
    whole = Outcome(0, ["kill-web"], faults=["at scoring of entry 2", "SIGKILL"], entries={"scored": 3, "attempts": 4})
    skipped = Outcome(1, ["clock-ahead"], skipped="needs faketime")
    broken = Outcome(2, ["kill-web", "kill-redis"], violations=["a blob is missing"], entries={"attempts": 1})
    for outcome in (whole, skipped, broken):
        report.append(path, outcome)
    rounds = report.read_report(path)
    assert report.next_seed(rounds) == 3
    summary = report.render_summary(rounds)
    assert "2 rounds, 1 with a broken promise; 5 uploads tried. Entries by outcome: 3 scored." in summary
    assert "| `kill-web` | 2 | 0 | 1 |" in summary
    assert "| `clock-ahead` | 0 | 1 | 0 |" in summary
    assert "| scoring | 1 |" in summary
    assert "run again" not in summary


def test_a_seed_that_ran_again_counts_once_and_is_listed() -> None:
    broken, fixed = (
        Outcome(7, ["kill-web"], violations=violations).as_json() for violations in (["a blob is missing"], [])
    )
    other = Outcome(8, ["kill-web"]).as_json()
    summary = report.render_summary([broken, other, fixed])
    assert summary.startswith("2 rounds, 0 with a broken promise;")
    assert "Seeds run again after a broken promise: 7." in summary
    assert "| `kill-web` | 2 | 0 | 0 |" in summary
    again = report.render_summary([fixed, other, broken])
    assert again.startswith("2 rounds, 1 with a broken promise;")
    assert "run again" not in again
