"""Finds the running processes that this process's fork servers forked."""

import psutil


def forked_processes() -> set[int]:
    """The ids of these processes."""
    found = set()
    for child in psutil.Process().children():
        try:
            if "scorer.confinement.fork_server" in child.cmdline():
                found |= {
                    grandchild.pid for grandchild in child.children() if grandchild.status() != psutil.STATUS_ZOMBIE
                }
        except psutil.NoSuchProcess:
            continue
    return found
