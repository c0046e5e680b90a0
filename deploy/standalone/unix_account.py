"""The Unix account under which all parts run: the caller's own, or an unprivileged one if the caller is root.

PostgreSQL refuses to run as root, so that a flaw in the server does not compromise the machine; the web process, the
workers and beat do not run as root for the same reason.
"""

import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scorer.errors import Unavailable

PREFERRED = ("kennel", "postgres", "nobody")


@dataclass(frozen=True)
class UnixAccount:
    """A system account by name, user id and primary group id."""

    name: str
    uid: int
    gid: int


def account_for(folder: Path) -> UnixAccount | None:
    """The account whose parts work in ``folder``; None means the caller's own.

    An existing folder keeps its owner, so data written under one account is never opened by another
    (the ``postgres`` account may have appeared since). Raises Unavailable when root finds none.
    """
    if os.geteuid() != 0:
        return None
    if folder.exists() and folder.stat().st_uid != 0:
        status = folder.stat()
        return UnixAccount(_name_of(status.st_uid), status.st_uid, status.st_gid)
    for name in PREFERRED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return UnixAccount(name, entry.pw_uid, entry.pw_gid)
    raise Unavailable(
        "no-unprivileged-account",
        "No part of Kennel runs as root, and this machine has none of the accounts 'kennel', 'postgres' and 'nobody': "
        "add one, or start Kennel as an ordinary user.",
    )


def hand_over(folder: Path, account: UnixAccount) -> None:
    """Give ``folder`` and all of root's that is in it to ``account``. Of a file with several names nothing is known of
    the others, so it stays."""
    for _, folders, files, descriptor in os.fwalk(folder, topdown=False):
        for name in (*files, *folders):
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            if status.st_uid == 0 and (stat.S_ISDIR(status.st_mode) or status.st_nlink == 1):
                os.chown(name, account.uid, account.gid, dir_fd=descriptor, follow_symlinks=False)
    os.chown(folder, account.uid, account.gid)


def owner_of(folder: Path) -> UnixAccount | None:
    """The account to which a command of root should leave what it writes to ``folder``: the owner of the folder, or of
    the nearest one above it that exists. None if that is root, or if the caller is not."""
    if os.geteuid() != 0:
        return None
    path = folder.absolute()
    status = next(each for each in (path, *path.parents) if each.exists()).stat()
    return UnixAccount(_name_of(status.st_uid), status.st_uid, status.st_gid) if status.st_uid != 0 else None


@contextmanager
def acting_as(account: UnixAccount | None) -> Iterator[None]:
    """A block in which root reads and writes files as ``account``, all threads of this process included, and what it
    makes is private to that account. None changes nothing."""
    if account is None:
        yield
        return
    group, groups, mask = os.getegid(), os.getgroups(), os.umask(0o077)
    os.setgroups([])
    os.setegid(account.gid)
    os.seteuid(account.uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)
        os.umask(mask)


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def permits(status: os.stat_result, account: UnixAccount, wanted: int) -> bool:
    """Whether the mode bits grant ``account`` all of ``wanted`` (4 read, 2 write, 1 execute or pass)."""
    if status.st_uid == account.uid:
        shift = 6
    elif status.st_gid == account.gid:
        shift = 3
    else:
        shift = 0
    return (stat.S_IMODE(status.st_mode) >> shift) & wanted == wanted


def unreachable_folder(path: Path, account: UnixAccount) -> Path | None:
    """The first folder on the way to ``path`` (itself included) that ``account`` may not pass, or None."""
    whole = path.resolve()
    for folder in [*reversed(whole.parents), whole]:
        if not permits(folder.stat(), account, 1):
            return folder
    return None


def require_reachable(path: Path, account: UnixAccount) -> None:
    """Raise Unavailable, naming the first closed folder, if ``account`` cannot reach ``path``."""
    blocking = unreachable_folder(path, account)
    if blocking is None:
        return
    mode = stat.S_IMODE(blocking.stat().st_mode)
    raise Unavailable(
        "data-folder-unreachable",
        f"No part of Kennel runs as root, all run as '{account.name}', but {blocking} "
        f"(mode {mode:04o}) keeps that account out of {path}: name another folder with --data, such as "
        "/var/lib/kennel, or start Kennel as an ordinary user.",
    )
