"""``python -m tests.hostile``: judge thousands of hostile inputs and write the report."""

import argparse
import json
import sys

from benchmarks.harness.machine import machine
from tests.hostile.report import count, render_page
from tests.hostile.run import REPOSITORY, judge_inputs

INPUTS = {"zip": 7_000, "onnx": 3_000}
RESULTS = REPOSITORY / "benchmarks" / "results" / "hostile_inputs.json"
PAGE = REPOSITORY / "benchmarks" / "HOSTILE.md"


def main() -> int:
    """Judge the inputs. The exit status is 1 if an input was judged wrong, escaped, or took too much time or memory."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    counted = [count(sort, judge_inputs(sort, number, first=options.first)) for sort, number in INPUTS.items()]
    sorts = {counts.sort: counts.as_json() for counts in counted}
    command = f"python -m tests.hostile --first {options.first}"
    document = {
        "command": command,
        "machine": machine() | {"threads": "1"},
        "first_seed": options.first,
        "sorts": sorts,
    }
    RESULTS.write_text(json.dumps(document, indent=1) + "\n")
    PAGE.write_text(render_page(document))
    for counts in counted:
        print(f"{counts.sort}: {counts.inputs:,} inputs, {len(counts.wrong)} wrong, {len(counts.escapes)} escapes")
        print(*counts.faults[:20], sep="\n")
    return int(any(counts.faults for counts in counted))


if __name__ == "__main__":
    sys.exit(main())
