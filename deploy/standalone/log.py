"""One log for the whole process tree: complete lines, each with the name of its part."""

import contextlib
import json
import threading
from typing import TextIO

RUNNER = "kennel"
"""The runner's own name in the log."""
WIDTH = 10  # columns for names; a longer name shifts its line
# A part may print text from users, which must not control the terminal.
HARMLESS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code != ord("\t")}


class Log:
    """Writes ``name | line`` to ``out``, from any thread; None writes nowhere. A line of JSON stays JSON and gets the
    name as its field ``part``. The runner's lines are also printed on ``terminal``.
    """

    def __init__(self, out: TextIO | None, *, terminal: TextIO | None = None) -> None:
        self._out = out
        self._terminal = terminal
        self._width = WIDTH
        self._lock = threading.Lock()

    def line(self, name: str, text: str) -> None:
        """Write one line of the part ``name``; control characters in ``text`` become visible escapes."""
        text = text.translate(HARMLESS)
        with self._lock:
            if name == RUNNER:
                _write(self._terminal, text)
            _write(self._out, self._labelled(name, text))

    def _labelled(self, name: str, text: str) -> str:
        if text.startswith('{"'):
            return f'{{"part": {json.dumps(name)}, {text[1:]}'
        self._width = max(self._width, len(name))
        return f"{name:<{self._width}} | {text}"


def _write(out: TextIO | None, line: str) -> None:
    if out is None:
        return
    with contextlib.suppress(OSError, ValueError):
        # A closed pipe (`kennel up | head`) must not stop the parts, so the error is ignored.
        out.write(f"{line}\n")
        out.flush()
