"""``python -m tests.hostile``: judge thousands of hostile inputs, and keep what was counted."""

import argparse
import json
import sys

from benchmarks.harness.machine import machine
from tests.hostile.report import count, page_of
from tests.hostile.run import REPOSITORY, judge_inputs

INPUTS = {"zip": 7_000, "onnx": 3_000}
RESULTS = REPOSITORY / "benchmarks" / "results" / "hostile_inputs.json"
PAGE = REPOSITORY / "benchmarks" / "HOSTILE.md"


def main() -> int:
    """Judge the inputs; the exit status is 1 if one was wrong, escaped, or took too much."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    counted = [count(sort, judge_inputs(sort, number, first=options.first)) for sort, number in INPUTS.items()]
    sorts = {each.sort: each.as_json() for each in counted}
    command = f"python -m tests.hostile --first {options.first}"
    document = {
        "command": command,
        "machine": machine() | {"threads": "1"},
        "first_seed": options.first,
        "sorts": sorts,
    }
    RESULTS.write_text(json.dumps(document, indent=1) + "\n")
    PAGE.write_text(page_of(document))
    for each in counted:
        print(f"{each.sort}: {each.inputs:,} inputs, {len(each.wrong)} wrong, {len(each.escapes)} escapes")
        print(*each.faults[:20], sep="\n")
    return int(any(each.faults for each in counted))


if __name__ == "__main__":
    sys.exit(main())
