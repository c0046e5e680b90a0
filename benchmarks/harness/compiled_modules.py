"""Python's compiled modules, which the processes of a service keep between starts."""

import os


def keep_compiled_modules() -> None:
    """Let processes that are started from now on keep compiled modules, where the machine forbids it: each upload is
    read by a process of its own, which would compile everything anew, and no installed service does."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
