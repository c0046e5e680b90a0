"""The data folder and ports: an operator's mistake gives one clear sentence, and no permission is loosened."""

import errno
import io
import json
import os
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.standalone import unix_account
from deploy.standalone.child_process import Child, launch_command
from deploy.standalone.data_folder import default_data_folder, open_data_folder, with_own_scratch
from deploy.standalone.launch import closed_folder
from deploy.standalone.log import Log
from deploy.standalone.ports import free_port, require_port
from deploy.standalone.postgres import Postgres
from deploy.standalone.run import up
from deploy.standalone.service import ANY_ADDRESSES
from deploy.standalone.supervisor import Supervisor
from deploy.standalone.unix_account import (
    SERVERS,
    SERVICE,
    UnixAccount,
    acting_as,
    find_owner,
    system_account,
)
from scorer.errors import Unavailable
from scorer.settings import Settings, read_settings

REPOSITORY = Path(__file__).parents[2]
ROOT = os.geteuid() == 0


def read_file_mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every account can reach. The servers' accounts must reach it, and pytest's folders are private."""
    made = Path(tempfile.mkdtemp(prefix="kennel-test-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


# --- the folder


def test_a_new_folder_only_lets_the_servers_through(folder: Path) -> None:
    with open_data_folder(folder / "deep" / "data") as data:
        assert read_file_mode(data.path) == (0o711 if ROOT else 0o700)
        data.secret("one")
        assert read_file_mode(data.path / "secrets.json") == 0o600
    assert read_file_mode(folder) == 0o755


def test_secrets_are_random_and_persistent(folder: Path) -> None:
    with open_data_folder(folder / "data") as data:
        assert not data.has_secret("one")
        one, two = data.secret("one"), data.secret("two")
        assert len({one, two, data.secret("one")}) == 2
        assert re.fullmatch(r"[\w-]{43}", one)
    with open_data_folder(folder / "data") as data:
        assert (data.secret("one"), data.secret("two")) == (one, two)


def test_unreadable_secrets_are_not_replaced(folder: Path) -> None:
    with open_data_folder(folder / "data") as data:
        (data.path / "secrets.json").write_text("{")
        with pytest.raises(Unavailable, match=r"cannot read .*/secrets.json"):
            data.secret("one")


def test_one_kennel_per_folder(folder: Path) -> None:
    expected = rf"^Another Kennel \(process {os.getpid()}\) is running on"
    with (
        open_data_folder(folder / "data"),
        pytest.raises(Unavailable, match=expected),
        open_data_folder(folder / "data"),
    ):
        pass
    with open_data_folder(folder / "data"):
        pass


def test_a_folder_with_other_files_is_refused(folder: Path) -> None:
    (folder / "thesis.txt").write_text("mine")
    with pytest.raises(Unavailable, match="was not created by Kennel"), open_data_folder(folder):
        pass
    assert read_file_mode(folder) == 0o755
    assert [entry.name for entry in folder.iterdir()] == ["thesis.txt"]


def test_a_file_instead_of_the_folder_is_refused(folder: Path) -> None:
    (folder / "data").write_text("")
    with (
        pytest.raises(Unavailable, match=r"cannot write to the folder .*/data \(File exists\)"),
        open_data_folder(folder / "data"),
    ):
        pass


OPEN_AS = """
import os, sys
from pathlib import Path
from deploy.standalone.data_folder import open_data_folder
from scorer.errors import Unavailable
uid = int(sys.argv[2])
if os.geteuid() == 0:  # only now: the account may be unable to reach this interpreter
    os.setgroups([]); os.setgid(uid); os.setuid(uid)
try:
    with open_data_folder(Path(sys.argv[1]), patience=0.2):
        pass
except Unavailable as error:
    print(error.message)
"""


def opened_as_ordinary_user(path: Path) -> str:
    """The error message of ``open_data_folder(path)`` for an ordinary user."""
    command = [sys.executable, "-c", OPEN_AS, str(path), "65534" if ROOT else str(os.geteuid())]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout


def test_an_unwritable_folder_is_reported_in_one_sentence(folder: Path) -> None:
    folder.chmod(0o555)
    for path in (folder, folder / "new"):
        output = opened_as_ordinary_user(path)
        assert output == f"Kennel cannot write to the folder {path} (Permission denied): choose another with --data.\n"


@pytest.mark.root
def test_a_full_disk_is_reported_in_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable, match=r"^The disk of \S+ is full: free some space and try again\.$"):
        up(folder, port=0)


@pytest.mark.parametrize("is_replaced", [False, True])
def test_parts_end_when_their_folder_is_moved(folder: Path, is_replaced: bool) -> None:
    out = io.StringIO()
    place, other = folder / "data", folder / "moved"
    with open_data_folder(place) as data, Supervisor(Log(out), hold=[data.lock]) as supervisor:
        supervisor.start(Child("part", ["/bin/sleep", "60"]))
        data.require_in_place()
        place.rename(other)
        if is_replaced:
            shutil.copytree(other, place)
        assert supervisor.run(check=data.require_in_place) == 1
        assert supervisor.failure is not None
        assert supervisor.failure.startswith(f"The folder {place} was moved or removed while Kennel was running.")
    assert supervisor.failure in out.getvalue()


def test_an_account_without_name_or_home_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = max(entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid < 60_000) + 1
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "KENNEL_SCRATCH"):
        monkeypatch.delenv(name, raising=False)
    with open_data_folder(folder) as data:
        monkeypatch.setattr(os, "getuid", lambda: unknown)
        monkeypatch.setattr(os, "geteuid", lambda: unknown)
        with pytest.raises(Unavailable, match=r"no home directory: choose a folder with --data\.$"):
            default_data_folder()
        with pytest.raises(Unavailable, match=r"no home directory\. Set KENNEL_SCRATCH "):
            read_settings({name: value for name, value in ANY_ADDRESSES.items() if name != "KENNEL_SCRATCH"})
        with pytest.raises(Unavailable, match=f"^The user ID {unknown} has no entry in /etc/passwd, .*DATABASE_URL"):
            Postgres(data)._initialise(Path("initdb"))


@pytest.mark.root
def test_a_folder_that_servers_cannot_reach_is_named_and_stays_closed(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    tmp_path.parent.parent.chmod(0o700)  # as pytest does; the message names the first closed folder
    path = closed / "data"
    with pytest.raises(Unavailable) as caught, open_data_folder(path):
        pass
    first = closed_folder(str(path), account().uid, account().gid)
    assert first is not None
    assert first in path.parents
    assert caught.value.slug == "data-folder-unreachable"
    assert f"but {first} (mode 0700) keeps that account out of {path}" in caught.value.message
    assert read_file_mode(closed) == read_file_mode(first) == 0o700


def account(name: str = SERVICE) -> UnixAccount:
    unprivileged = system_account(name)
    assert unprivileged is not None
    return unprivileged


@pytest.mark.root
def test_servers_and_service_get_system_accounts_if_they_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (account(SERVERS).name, account().name) == ("kennel-db", "kennel")
    assert len({0, pwd.getpwnam("nobody").pw_uid, account(SERVERS).uid, account().uid}) == 4
    monkeypatch.setattr(unix_account, "CREATE", ("echo",))
    with pytest.raises(Unavailable, match=r"the account 'kennel-none' cannot be created .*`echo kennel-none`"):
        system_account("kennel-none")


@pytest.mark.root
def test_data_of_another_account_is_refused_with_the_command_to_run(folder: Path) -> None:
    """For root with the data of an ordinary user, and for an ordinary user with the data of root's accounts."""
    path = folder / "da ta"
    blobs, cluster = path / "blobs", path / "postgres"
    for made in (blobs / "zips", cluster):
        made.mkdir(parents=True)
    (path / "lock").touch()
    subprocess.run(["chown", "-R", "12345:12345", path], check=True)
    expected = f"The folder {path} belongs to the account '12345'"
    with pytest.raises(Unavailable, match=expected) as caught, open_data_folder(path):
        pass
    command = re.findall("`(.*)`", caught.value.message)[0]
    os.chown(path, 0, 0)
    with (
        pytest.raises(
            Unavailable, match=rf"The folder {cluster} belongs to the account '12345'.*`{re.escape(command)}`"
        ),
        open_data_folder(path),
    ):
        pass
    subprocess.run(command, shell=True, check=True)
    with open_data_folder(path):
        pass
    owners = {made.relative_to(path): made.stat().st_uid for made in (path, blobs / "zips", cluster)}
    assert list(owners.values()) == [0, account().uid, account(SERVERS).uid]
    assert opened_as_ordinary_user(path) == (
        f"The folder {cluster} belongs to the account 'kennel-db', but Kennel would access it as another account: "
        f"change its owner with `sudo chown -R nobody: '{path}'`, or choose another folder with --data.\n"
    )


@pytest.mark.root
def test_a_part_reaches_only_its_code_through_closed_folders(folder: Path) -> None:
    closed = folder / "home"
    code, data = closed / "work" / "code", closed / "data"
    for path in (code, data):
        path.mkdir(parents=True)
        (path / "file").write_text("content\n")
    closed.chmod(0o700)
    script = f"id -u; cat {code}/file; cat {data}/file; ls {closed}; echo x > {code}/new; echo x > {closed}/new"
    command = launch_command(["/bin/sh", "-c", script], signal.SIGKILL, account(), reached=[code])
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    if "Operation not permitted" in done.stderr:
        pytest.skip("needs the right to mount")
    assert done.stdout == f"{account().uid}\ncontent\n"
    assert [line.rpartition(": ")[2] for line in done.stderr.splitlines()] == [
        "No such file or directory",
        *["Permission denied"] * 3,
    ]
    assert sorted(path.name for path in closed.iterdir()) == ["data", "work"]
    assert read_file_mode(closed) == 0o700
    without = subprocess.run(
        launch_command(["/bin/cat", code / "file"], signal.SIGKILL, account()), capture_output=True, check=False
    )
    assert without.returncode != 0


@pytest.mark.root
def test_a_part_has_its_accounts_user_and_groups_and_no_privileges() -> None:
    script = "id -u; id -g; id -G; grep -E 'Cap(Prm|Eff|Bnd)' /proc/self/status | cut -f 2 | uniq"
    command = launch_command(["/bin/sh", "-c", script], signal.SIGKILL, account())
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/", extra_groups=[0, 12345])
    assert done.stdout.split() == [str(account().uid), str(account().gid), str(account().gid), "0" * 16]


def test_no_part_gains_privileges_from_what_it_executes() -> None:
    command = launch_command(["/bin/grep", "NoNewPrivs", "/proc/self/status"], signal.SIGKILL, None)
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout == "NoNewPrivs:\t1\n"


@pytest.mark.root
def test_folders_of_parts_are_private_and_taken_over_from_root(folder: Path) -> None:
    with open_data_folder(folder / "data") as data:
        old = data.path / "blobs" / "zips"
        old.mkdir(parents=True)
        outside = folder / "shadow"
        outside.write_text("of the system")
        (old / "a.zip").write_text("an earlier version's")
        (old / "link").symlink_to(outside)
        (old / "second name").hardlink_to(outside)
        assert data.private_folder("blobs") == data.path / "blobs"
        for path in (data.path / "blobs", old, old / "a.zip"):
            assert path.stat().st_uid == account().uid
        assert read_file_mode(data.path / "blobs") == 0o700
        assert outside.stat().st_uid == 0, "a link or another name must not change its owner"


@pytest.mark.root
def test_a_command_of_root_leaves_nothing_in_the_scratch_of_the_parts(folder: Path) -> None:
    with open_data_folder(folder / "data") as data:
        scratch = data.private_folder("scratch")
        addresses = {"database_url": "postgresql://x/x", "redis_url": "redis://x", "blob_url": "file:///none"}
        settings = Settings.model_validate(addresses | {"scratch": scratch})
        assert with_own_scratch(settings).scratch not in {scratch, None}
        os.chown(scratch, 0, 0)
        assert with_own_scratch(settings).scratch == scratch
        os.chown(scratch, account().uid, account().gid)
        scratch.rmdir()
        os.chown(data.path, account().uid, account().gid)
        assert with_own_scratch(settings).scratch != scratch, "a worker must create it"


@pytest.mark.root
def test_root_acts_as_the_account_that_a_folder_belongs_to(folder: Path) -> None:
    assert find_owner(folder / "none" / "of these") is None
    os.chown(folder, account().uid, account().gid)
    owner = find_owner(folder / "none" / "of these")
    assert owner == account()
    with acting_as(owner):
        (folder / "made").mkdir()
        with pytest.raises(PermissionError):
            Path("/etc/kennel-test").touch()
    status = (folder / "made").stat()
    assert (status.st_uid, status.st_gid, read_file_mode(folder / "made")) == (account().uid, account().gid, 0o700)
    with acting_as(None):
        (folder / "root's").mkdir()
    assert (folder / "root's").stat().st_uid == 0


def test_servers_can_reach_the_default_folder() -> None:
    default = default_data_folder()
    assert default == Path("/var/lib/kennel") if ROOT else default.is_relative_to(Path.home())


# --- parts of an earlier run

HOLDER = """
import sys, time
from pathlib import Path
from deploy.standalone.data_folder import open_data_folder
from deploy.standalone.log import Log
from deploy.standalone.child_process import Child
from deploy.standalone.supervisor import Supervisor
with open_data_folder(Path(sys.argv[1])) as data, Supervisor(Log(None), hold=[data.lock]) as supervisor:
    script = "trap 'sleep 0.5; exit' TERM; while :; do sleep 0.01; done"
    supervisor.start(Child("slow", ["/bin/sh", "-c", script]))
    print("up", flush=True)
    time.sleep(60)
"""


def test_a_start_waits_for_the_parts_of_a_killed_run(folder: Path) -> None:
    path = folder / "data"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "up\n"
        with pytest.raises(Unavailable, match=rf"process {holder.pid}"), open_data_folder(path):
            pass
        holder.kill()
    with pytest.raises(Unavailable, match="Another Kennel"), open_data_folder(path, patience=0.0):
        pass
    with open_data_folder(path):
        pass


# --- ports


def test_a_free_port_is_accepted() -> None:
    require_port(free_port())


def test_a_used_port_is_reported_with_the_process_that_uses_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(Unavailable) as caught:
            require_port(port)
    assert re.fullmatch(
        rf"Port {port} is used by \S+ \(process {os.getpid()}\): stop that process, or choose another port\.",
        caught.value.message,
    )
    require_port(port)


def test_an_address_of_another_machine_is_reported() -> None:
    with pytest.raises(Unavailable, match=r"cannot listen on port \d+ of 192.0.2.1"):
        require_port(free_port(), "192.0.2.1")


def test_the_secrets_file_only_has_the_requested_secrets(folder: Path) -> None:
    with open_data_folder(folder / "data") as data:
        one = data.secret("one")
        assert json.loads((data.path / "secrets.json").read_text()) == {"one": one}
        assert sorted(entry.name for entry in data.path.iterdir()) == ["lock", "secrets.json"]
