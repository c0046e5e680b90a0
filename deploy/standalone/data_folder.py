"""The data folder: everything that a standalone Kennel stores. A lock allows one Kennel per folder."""

import errno
import fcntl
import json
import os
import secrets
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path, user_data_path

from deploy.standalone.unix_account import (
    SERVERS,
    SERVICE,
    UnixAccount,
    change_owner,
    find_owner,
    require_reachable,
    system_account,
)
from scorer.confinement.privileges import account_name
from scorer.errors import Unavailable

if TYPE_CHECKING:  # `kennel up` opens its folder before it loads slow modules
    from scorer.settings import Settings

LOCK = "lock"
SECRETS = "secrets.json"
ADDRESSES = "addresses.json"
SCRATCH = "scratch"
METRICS = "metrics"
"""The folder in which all parts collect their metrics."""
FOLDERS = {
    SERVERS: ("postgres", "redis"),
    SERVICE: ("beat", "blobs", METRICS, SCRATCH),
}
"""The folders in a data folder, with the account that owns them if root starts Kennel."""
ROOTS_FOLDER = Path("/var/lib")


def default_data_folder(name: str = "kennel") -> Path:
    """The user's data directory, or /var/lib/kennel for root (the servers cannot enter root's home). ``name``
    distinguishes several Kennels of one user. Raises ``Unavailable`` for a user without a home.
    """
    if os.geteuid() == 0:
        return ROOTS_FOLDER / name
    try:
        return user_data_path(name)
    except RuntimeError:
        raise Unavailable("no-home", "This account has no home directory: choose a folder with --data.") from None


class DataFolder:
    """An open data folder, created by :func:`open_data_folder`."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self.lock = lock  # a file descriptor; every process that inherits it holds the lock

    @property
    def account(self) -> UnixAccount | None:
        """The account of the web process, the workers and beat; None: our own."""
        return system_account(SERVICE)

    def private_folder(self, name: str) -> Path:
        """The folder ``name``, created if necessary; it and its contents are private to ``account``."""
        folder = self.path / name
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)  # it may already have existed
        if self.account is not None:
            change_owner(folder, self.account)
        return folder

    def secret(self, name: str) -> str:
        """The random secret with that name (43 URL-safe characters), created and stored by the first call."""
        known = self._secrets()
        if name not in known:
            known[name] = secrets.token_urlsafe(32)
            self.write_private(SECRETS, json.dumps(known, indent=1) + "\n")
        return known[name]

    def has_secret(self, name: str) -> bool:
        return name in self._secrets()

    def forget_secrets(self, *names: str) -> None:
        """Delete the secrets with these names, so that the next use creates new ones."""
        left = {name: secret for name, secret in self._secrets().items() if name not in names}
        self.write_private(SECRETS, json.dumps(left, indent=1) + "\n")

    def _secrets(self) -> dict[str, str]:
        file = self.path / SECRETS
        if not file.exists():
            return {}
        try:
            known: dict[str, str] = json.loads(file.read_text())
        except (OSError, ValueError) as error:
            raise Unavailable("secrets-unreadable", f"Kennel cannot read {file}: {error}.") from None
        return known

    def write_private(self, name: str, text: str, account: UnixAccount | None = None) -> Path:
        """Replace the file ``name`` atomically; only its owner (``account``, default: ours) can read it."""
        file, draft = self.path / name, self.path / f"{name}.new"
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as out:
            if account is not None:
                os.fchown(descriptor, account.uid, account.gid)
            out.write(text)
            out.flush()
            os.fsync(descriptor)
        return draft.replace(file)

    def require_in_place(self) -> None:
        """Raise ``Unavailable`` if the folder was moved, removed or replaced."""
        try:
            is_in_place = os.path.samestat(os.fstat(self.lock), (self.path / LOCK).stat())
        except (FileNotFoundError, NotADirectoryError):
            is_in_place = False
        if not is_in_place:
            raise Unavailable(
                "data-folder-moved",
                f"The folder {self.path} was moved or removed while Kennel was running. Kennel stops so that it stores "
                "nothing outside the folder: start it again with --data and the new path.",
            )


@contextmanager
def full_disk_in_words(path: Path) -> Iterator[None]:
    """Raise ``Unavailable`` if the disk of the folder ``path`` is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise Unavailable("disk-full", f"The disk of {path} is full: free some space and try again.") from None


def addresses_in(path: Path) -> dict[str, str]:
    """The addresses of the Kennel that runs on the folder ``path``, as environment variables."""
    try:
        addresses: dict[str, str] = json.loads((path.expanduser() / ADDRESSES).read_text())
    except OSError as error:
        raise Unavailable(
            "no-addresses", f"{path / ADDRESSES} cannot be read ({error.strerror}): has Kennel ever run on this folder?"
        ) from None
    return addresses


def secret_files(path: Path) -> list[Path]:
    """The existing files with secrets in the folder ``path``."""
    return [file for file in (path.expanduser() / SECRETS, path.expanduser() / ADDRESSES) if file.exists()]


def load_settings(path: Path | None) -> "Settings":
    """The settings from the environment, with the addresses of the Kennel that runs on the folder ``path``, if any."""
    from scorer.settings import read_settings  # noqa: PLC0415 - see above

    return read_settings(addresses_in(path) if path else {})


def with_own_scratch(settings: "Settings") -> "Settings":
    """The settings with root's own scratch folder, because the account of the parts could not read files that root
    leaves in theirs.
    """
    if find_owner(settings.scratch) is None:
        return settings
    return settings.model_copy(update={"scratch": user_cache_path("kennel") / "scratch"})


@contextmanager
def open_data_folder(path: Path, *, patience: float = 20.0) -> Iterator[DataFolder]:
    """Create or open the data folder ``path`` and lock it for the block, or for as long as the watchdog holds a copy of
    the lock's descriptor.

    ``patience`` is the time (seconds) to wait for the parts of a killed Kennel. Raises Unavailable, with one sentence,
    if the folder is not writable, cannot be reached by the accounts of the parts, has another owner, contains other
    files, or belongs to a running Kennel.
    """
    path = path.expanduser().absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_other_owners(path)
        _refuse_foreign(path)
        lock = _take_lock(path, patience)
    except OSError as error:
        raise Unavailable(
            "data-folder-unwritable",
            f"Kennel cannot write to the folder {path} ({error.strerror}): choose another with --data.",
        ) from None
    try:
        _let_parts_through(path)
        yield DataFolder(path, lock)
    finally:
        os.close(lock)


def _refuse_other_owners(path: Path) -> None:
    """Refuse data that another account could change, or that the accounts of the parts could not change."""
    own = os.geteuid()
    owners = {path: {own, 0}}
    for name, folders in FOLDERS.items():
        account = system_account(name)
        allowed = {own if account is None else account.uid}
        if name == SERVICE:
            allowed.add(own)  # private_folder hands over what belongs to root
        owners |= {path / folder: allowed for folder in folders if (path / folder).exists()}
    for folder, allowed in owners.items():
        owner = folder.stat().st_uid
        if owner not in allowed:
            raise Unavailable(
                "data-folder-of-another",
                f"The folder {folder} belongs to the account '{account_name(owner)}', but Kennel would access "
                f"it as another account: change its owner with `{_build_chown_command(path)}`, or choose another "
                "folder with --data.",
            )


def _build_chown_command(path: Path) -> str:
    if os.geteuid() != 0:
        return f"sudo chown -R {account_name(os.geteuid())}: {shlex.quote(str(path))}"
    commands = [f"chown -R root: {shlex.quote(str(path))}"]
    for name, folders in FOLDERS.items():
        there = [shlex.quote(str(path / folder)) for folder in folders if (path / folder).exists()]
        if there:
            commands.append(f"chown -R {name}: {' '.join(there)}")
    return " && ".join(commands)


def _refuse_foreign(path: Path) -> None:
    content = {entry.name for entry in path.iterdir()} - {"lost+found"}
    if content and LOCK not in content:
        raise Unavailable(
            "data-folder-foreign",
            f"The folder {path} was not created by Kennel and contains other files: choose a new or empty folder.",
        )


def _let_parts_through(path: Path) -> None:
    accounts = [account for name in FOLDERS if (account := system_account(name)) is not None]
    if path.stat().st_uid == os.geteuid():
        # The unprivileged parts pass through to their own folders, but see no other name in this one.
        path.chmod(0o711 if accounts else 0o700)
    for account in accounts:
        require_reachable(path, account)


def _take_lock(path: Path, patience: float) -> int:
    file = path / LOCK
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    until = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            holder = file.read_text().strip()
            # The holder is dead: its watchdog is still ending its processes, which takes seconds.
            if holder.isdigit() and not _is_alive(int(holder)) and time.monotonic() < until:
                time.sleep(0.05)
                continue
            os.close(descriptor)
            holder_text = f" (process {holder})" if holder else ""
            raise Unavailable(
                "data-folder-in-use",
                (
                    f"Another Kennel{holder_text} is running on the folder {path}: stop it, or choose another folder "
                    "with --data."
                ),
            ) from None
    os.truncate(descriptor, 0)
    os.write(descriptor, str(os.getpid()).encode())
    return descriptor


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
