"""The form of a systemd unit file: sections of ``Key=value`` lines."""

import re
import shlex
from collections.abc import Mapping, Sequence

Section = Mapping[str, str | Sequence[str]]
"""Values by key; several values are several lines."""


def unit_text(sections: Mapping[str, Section]) -> str:
    """A unit file."""
    return "\n".join(_section_text(name, section) for name, section in sections.items())


def _section_text(name: str, section: Section) -> str:
    lines = [f"[{name}]"]
    for key, value in section.items():
        lines += [f"{key}={each}" for each in ([value] if isinstance(value, str) else value)]
    return "\n".join(lines) + "\n"


def command_line(words: Sequence[str]) -> str:
    """A command as ``ExecStart`` takes it, with specifiers and variables of systemd; ``%h`` is the host, to Celery."""
    return " ".join(map(_quoted, words)).replace("%h", "%%h")


def _quoted(word: str) -> str:
    """A word, in quotes where it needs them; ``${NAME}`` is the value of a variable, and one word."""
    return word if re.fullmatch(r"\$\{\w+\}", word) else shlex.quote(word)
