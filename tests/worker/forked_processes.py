"""The processes that this process's fork servers have forked and that still run."""

import psutil


def forked_processes() -> set[int]:
    """Their numbers."""
    found = set()
    for child in psutil.Process().children():
        try:
            if "scorer.confinement.fork_server" in child.cmdline():
                found |= {each.pid for each in child.children() if each.status() != psutil.STATUS_ZOMBIE}
        except psutil.NoSuchProcess:
            continue
    return found
