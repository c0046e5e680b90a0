"""``python -m tests.promises``: remove each guard, check that its test fails, and write the results."""

import argparse
import sys

from tests.promises.guards import copied_sources, is_red_without_guard, read_results, write_results
from tests.promises.page import PAGE, rendered
from tests.promises.promises import PROMISES


def main() -> int:
    """Test the promises without a result. The exit status is 1 if a test passed without its guard or did not run."""
    parser = argparse.ArgumentParser(prog="python -m tests.promises", description=__doc__)
    parser.add_argument("--write", action="store_true", help="only write the page from the recorded results")
    parser.add_argument("--again", action="store_true", help="also test promises that have a result")
    options = parser.parse_args()
    known = {promise.fingerprint for promise in PROMISES}
    results = {key: seen for key, seen in read_results().items() if key in known}
    wrong = 0
    todo = (
        []
        if options.write
        else [promise for promise in PROMISES if options.again or promise.fingerprint not in results]
    )
    with copied_sources() as folder:
        for promise in todo:
            seen = is_red_without_guard(folder, promise)
            wrong += seen is not True
            word = {True: "fails without its guard", False: "PASSES without its guard", None: "DID NOT RUN"}[seen]
            print(f"{word}: {promise.test}", flush=True)
            if seen is not None:
                results[promise.fingerprint] = seen
                write_results(results)
    PAGE.write_text(rendered(PAGE.read_text(), results))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
