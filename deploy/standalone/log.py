"""One log for the whole process tree: complete lines, each with the name of its part."""

import contextlib
import json
import os
import threading
from typing import TextIO

from scorer.monitoring.logs import LogFormat

COLOURS = (36, 33, 32, 35, 34, 31)  # cyan, yellow, green, magenta, blue, red, in the order of appearance
WIDTH = 10  # columns for names; a longer one widens what follows it
# A part may print text from users, which must not control the terminal.
HARMLESS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code != ord("\t")}


class Log:
    """Writes ``name | line`` to ``out``, from any thread; None writes nowhere. Where programs read it, a line of JSON
    stays one: the name becomes its field ``part``."""

    def __init__(self, out: TextIO | None) -> None:
        self._out = out
        self.format: LogFormat = "text" if out is None or out.isatty() else "json"
        """How parts should write what they log."""
        self._colourful = out is not None and out.isatty() and "NO_COLOR" not in os.environ
        self._names: dict[str, int] = {}
        self._width = WIDTH
        self._lock = threading.Lock()

    def line(self, name: str, text: str) -> None:
        """Write one line of the part ``name``; control characters of ``text`` become visible escapes."""
        if self._out is None:
            return
        with self._lock, contextlib.suppress(OSError, ValueError):
            # A closed pipe (`kennel up | head`) must not stop the parts, so the error is ignored.
            self._out.write(f"{self._labelled(name, text.translate(HARMLESS))}\n")
            self._out.flush()

    def _labelled(self, name: str, text: str) -> str:
        if self.format == "json" and text.startswith('{"'):
            return f'{{"part": {json.dumps(name)}, {text[1:]}'
        return f"{self._label(name)} {text}"

    def _label(self, name: str) -> str:
        self._width = max(self._width, len(name))
        label = f"{name:<{self._width}} |"
        if not self._colourful:
            return label
        colour = COLOURS[self._names.setdefault(name, len(self._names)) % len(COLOURS)]
        return f"\x1b[{colour}m{label}\x1b[0m"
