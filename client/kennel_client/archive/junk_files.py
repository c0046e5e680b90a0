"""The one definition of junk files: what operating systems and programs leave in folders and zips of images."""

from collections.abc import Sequence

from kennel_client.archive.faults import printable_list

_JUNK = frozenset({"__macosx", "thumbs.db", "desktop.ini", "icon\r", "@eadir"})


def is_junk(path: str) -> bool:
    """Whether a path inside a zip or folder, with ``/`` between its parts, is ignored: any part begins with a dot
    (``.DS_Store``, ``._a.png``, ``.ipynb_checkpoints``) or is a known name. A path with ``..`` is refused instead.
    """
    parts = [part for part in path.split("/") if part != "."]
    return ".." not in parts and any(part.startswith(".") or part.lower() in _JUNK for part in parts)


def ignored_sentence(names: Sequence[str]) -> str | None:
    """The sentence about ignored files for the person who sent them; None if there are none."""
    if not names:
        return None
    return f"{len(names):,} file{' was' if len(names) == 1 else 's were'} ignored: {printable_list(names)}."
