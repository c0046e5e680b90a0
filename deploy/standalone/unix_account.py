"""The Unix accounts of the parts: the caller's own, or two system accounts if the caller is root.

PostgreSQL and Valkey have one account and the service has the other, so that a flaw in the web process or a worker
opens neither the machine nor the files of the database.
"""

import os
import pwd
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.standalone.launch import closed_folder
from scorer.confinement.privileges import account_name
from scorer.errors import Unavailable

SERVERS, SERVICE = "kennel-db", "kennel"
"""Root's accounts: one for PostgreSQL and Valkey, one for the web process, the workers and beat."""
CREATE = (
    *("useradd", "--system", "--user-group", "--no-create-home"),
    *("--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin"),
)
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class UnixAccount:
    name: str
    uid: int
    gid: int


def system_account(name: str) -> UnixAccount | None:
    """The system account ``name``, created if it is missing. None, the caller's own account, unless the caller is root.
    Raises Unavailable if the account cannot be created.
    """
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        entry = _created(name)
    return UnixAccount(name, entry.pw_uid, entry.pw_gid)


def _created(name: str) -> pwd.struct_passwd:
    command = [*CREATE, name]
    try:
        done = subprocess.run(command, env={"PATH": SYSTEM_PATH}, capture_output=True, text=True, check=False)
        reason = done.stderr.strip()
    except OSError as error:
        reason = f"useradd: {error.strerror}"
    try:
        return pwd.getpwnam(name)  # even if another process has just created it
    except KeyError:
        raise Unavailable(
            "no-unprivileged-account",
            f"No part of Kennel runs as root, and the account '{name}' cannot be created ({reason}). Create it "
            f"(`{' '.join(command)}`), or start Kennel as an ordinary user.",
        ) from None


def change_owner(folder: Path, account: UnixAccount) -> None:
    """Give ``folder`` and root's files in it to ``account``, except files with further hard links."""
    for _, folders, files, descriptor in os.fwalk(folder, topdown=False):
        for name in (*files, *folders):
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            if status.st_uid == 0 and (stat.S_ISDIR(status.st_mode) or status.st_nlink == 1):
                os.chown(name, account.uid, account.gid, dir_fd=descriptor, follow_symlinks=False)
    os.chown(folder, account.uid, account.gid)


def find_owner(folder: Path) -> UnixAccount | None:
    """The account for files that a command of root writes to ``folder``: the owner of the folder or of its nearest
    existing parent. None if that is root, or if the caller is not.
    """
    if os.geteuid() != 0:
        return None
    path = folder.absolute()
    status = next(parent for parent in (path, *path.parents) if parent.exists()).stat()
    return UnixAccount(account_name(status.st_uid), status.st_uid, status.st_gid) if status.st_uid != 0 else None


@contextmanager
def acting_as(account: UnixAccount | None) -> Iterator[None]:
    """A block in which root reads and writes files as ``account``, in all threads of this process; new files are
    private to that account. None changes nothing.
    """
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


def require_account_entry() -> None:
    """Raise ``Unavailable`` if the caller's user ID has no name: PostgreSQL would create no database."""
    uid = os.geteuid()
    try:
        pwd.getpwuid(uid)
    except KeyError:
        raise Unavailable(
            "no-account-entry",
            f"The user ID {uid} has no entry in /etc/passwd, which PostgreSQL needs to create a database: add an "
            "entry, or set DATABASE_URL to your own database.",
        ) from None


def require_reachable(path: Path, account: UnixAccount) -> None:
    """Raise Unavailable, naming the first closed folder, if ``account`` cannot reach ``path``."""
    blocking = closed_folder(str(path / "anything"), account.uid, account.gid)
    if blocking is None:
        return
    mode = stat.S_IMODE(blocking.stat().st_mode)
    raise Unavailable(
        "data-folder-unreachable",
        f"Kennel runs as the account '{account.name}', not as root, but {blocking} (mode {mode:04o}) keeps "
        f"that account out of {path}: choose another folder with --data, such as /var/lib/kennel, or start Kennel "
        "as an ordinary user.",
    )
