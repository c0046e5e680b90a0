"""What Kennel promises when something fails, and the tests that try to break each promise.

``python -m tests.promises`` removes the guard behind each promise in a copy of the sources, runs the promise's test
there and records whether it fails. Then it writes the table of ``docs/explanation/promises.md``.

- promises: the promises with their guards and tests
- guards: runs a test without its guard
- page: the page's tables
"""
