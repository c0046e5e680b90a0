"""``python -m tests.hostile``: judge thousands of hostile inputs and write the report."""

import argparse
import json
import sys
from typing import Any

import pytest

from benchmarks.harness.machine import machine
from tests.hostile.report import ENTRIES, count, render_page
from tests.hostile.run import REPOSITORY, judge_inputs

INPUTS = {"zip": 7_000, "onnx": 3_000}
RESULTS = REPOSITORY / "benchmarks" / "results" / "hostile_inputs.json"
PAGE = REPOSITORY / "benchmarks" / "HOSTILE.md"


class EntryCollector:
    """A pytest plugin that keeps what the test of hostile entries records."""

    judged: Any = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.judged = dict(report.user_properties).get(ENTRIES, self.judged)


def judge_inputs_of_all_sorts(document: dict[str, Any], first: int) -> bool:
    """Whether an input was judged wrong, escaped, or took too much time or memory."""
    counted = [count(sort, judge_inputs(sort, number, first=first)) for sort, number in INPUTS.items()]
    document |= {
        "command": f"python -m tests.hostile --first {first}",
        "machine": machine() | {"threads": "1"},
        "first_seed": first,
        "sorts": {counts.sort: counts.as_json() for counts in counted},
    }
    for counts in counted:
        print(f"{counts.sort}: {counts.inputs:,} inputs, {len(counts.wrong)} wrong, {len(counts.escapes)} escapes")
        print(*counts.faults[:20], sep="\n")
    return any(counts.faults for counts in counted)


def judge_entries(document: dict[str, Any]) -> bool:
    """Whether an entry ended without a reason, or otherwise than it should."""
    collector, measured_with = EntryCollector(), machine()
    status = pytest.main(["-q", "-m", "slow", "tests/hostile/test_hostile_entries.py"], plugins=[collector])
    if status == pytest.ExitCode.OK:
        command = "python -m tests.hostile --entries"
        document[ENTRIES] = {"command": command, "machine": measured_with, "judged": collector.judged}
    return status != pytest.ExitCode.OK


def main() -> int:
    """Judge the inputs or entries. The exit status is 1 if there was a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed of inputs")
    parser.add_argument("--entries", action="store_true", help="submit 200 ONNX files to a competition instead")
    options = parser.parse_args()
    document = json.loads(RESULTS.read_text())
    failed = judge_entries(document) if options.entries else judge_inputs_of_all_sorts(document, options.first)
    RESULTS.write_text(json.dumps(document, indent=1) + "\n")
    PAGE.write_text(render_page(document))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
