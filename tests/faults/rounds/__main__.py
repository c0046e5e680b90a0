"""``python -m tests.faults.rounds``: run rounds of fault injection with consecutive seeds, and record them."""

import argparse
import signal
import sys
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from tests.faults.rounds import report
from tests.faults.rounds.fault_kinds import KINDS
from tests.faults.rounds.round import run_round
from tests.faults.rounds.stack import REPOSITORY, Stack, running_stack

REPORT = REPOSITORY / "benchmarks" / "results" / "faults.jsonl"
ROUNDS_A_STACK = 25
"""Number of rounds after which the service is started again in an empty folder."""


def main() -> int:
    """Run the rounds; the exit status is 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.rounds", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="number of rounds (default 10)")
    parser.add_argument("--seed", type=int, help="first seed (default: the one after the report's last seed)")
    parser.add_argument("--kind", choices=KINDS, action="append", help="kind of fault, instead of the seed's own")
    parser.add_argument(
        "--report", type=Path, help="file that records the rounds (default: none with --seed or --kind)"
    )
    parser.add_argument("--logs", type=Path, help="folder for the logs of rounds that broke a promise")
    parser.add_argument("--stop", action="store_true", help="stop at the first broken promise")
    parser.add_argument("--summary", action="store_true", help="only print the counts of the report")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # also ends the service
    is_rerun = options.seed is not None or options.kind is not None
    path: Path | None = options.report or (None if is_rerun else REPORT)
    if options.summary:
        print(report.render_summary(report.read_report(path or REPORT)))
        return 0
    first = options.seed if options.seed is not None else report.next_seed(report.read_report(path or REPORT))
    logs = options.logs or Path(tempfile.mkdtemp(prefix="kennel-fault-logs-"))
    logs.mkdir(parents=True, exist_ok=True)
    return _run_all(first, options.rounds, path, logs, options.kind, stop=options.stop)


def _run_all(first: int, rounds: int, path: Path | None, logs: Path, kinds: list[str] | None, *, stop: bool) -> int:
    broken = 0
    with ExitStack() as resources:
        stack: Stack | None = None
        for number, seed in enumerate(range(first, first + rounds)):
            if stack is None or number % ROUNDS_A_STACK == 0:
                resources.close()
                stack = resources.enter_context(running_stack(logs / f"from-{seed}.log"))
            outcome = run_round(stack, seed, kinds)
            if path is not None:
                report.append(path, outcome)
            moment = datetime.now(UTC).strftime("%H:%M:%S")
            result = outcome.skipped or ("BROKEN" if outcome.violations else "ok")
            print(
                f"{moment} seed {seed} {'+'.join(outcome.kinds)}: {result}, {outcome.seconds} s;"
                f" {'; '.join(outcome.faults)}; {outcome.entries}",
                flush=True,
            )
            for violation in outcome.violations:
                print(f"    {violation}", flush=True)
            if outcome.violations:
                broken += 1
                print(
                    f"    run again: python -m tests.faults.rounds --seed {seed} --rounds 1; log: {stack.log}",
                    flush=True,
                )
                stack = None  # the next round starts a new service
                if stop:
                    break
            else:
                stack.log.write_text("")
    print(f"{rounds} rounds, {broken} with a broken promise; logs in {logs}")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
