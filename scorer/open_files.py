"""The number of files and connections that a process may open."""

import resource

MAX_OPEN_FILES = 65_536


def raise_open_files_limit() -> None:
    """Raise this process's limit from the shell's, often 1,024, as far as the system lets it, up to
    ``MAX_OPEN_FILES``."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, MAX_OPEN_FILES)), hard))
