"""Checks of this machine: variables, disk, limits, secrets, weights, GPU and sandbox."""

import errno
import resource
import stat
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from deploy.doctor.installation import Check, Fault, Installation, Skipped, only_workers_run
from deploy.standalone.commands import CHECKING_QUEUES, DRAWING_QUEUES
from deploy.standalone.unix_account import acting_as, find_owner
from scorer.competitions.draw_secrets import load_secret
from scorer.confinement.process import missing_measures
from scorer.db import competitions
from scorer.errors import Unavailable
from scorer.extractor_catalogue import find_extractor
from scorer.generators.sandbox.probe import available_measures
from scorer.lifecycle import Queue
from scorer.monitoring import FOLDER_VARIABLE
from scorer.settings import FILE_SUFFIX, PASSWORDS, Settings, find_variable, is_secret, unknown_settings
from worker.runtime.device_probe import device_found
from worker.runtime.startup import require_device, require_weights

MIN_SCRATCH_BYTES = 4_000_000_000
"""Space for several decoded entries of 10,000 images; a reference set needs the same again."""
MIN_OPEN_FILES = 4096
MIN_SECRET_LENGTH = 16
DRAW_KEY_QUEUES = (*CHECKING_QUEUES, *DRAWING_QUEUES)
"""Queues whose workers need the key: they compute latents."""
MOUNTED_SECRETS = (Path("/run/secrets"), Path("/run/credentials"))
"""Container engines and systemd put secrets here and control who can read them."""


def _variables(installation: Installation) -> str:
    unknown = unknown_settings(installation.environ)
    if unknown:
        named = (f"{name} (did you mean {meant}?)" if meant else name for name, meant in unknown.items())
        raise Fault(f"These variables are not settings and have no effect: {', '.join(named)}.")
    return "every variable with a setting's prefix is a setting"


def _scratch(installation: Installation) -> str:
    folder = installation.settings.scratch
    try:
        with acting_as(find_owner(folder)):  # the service could not write to a folder that root created
            folder.mkdir(parents=True, exist_ok=True)
            TemporaryFile(dir=folder).close()
    except OSError as error:
        if error.errno == errno.EROFS:
            raise Skipped(f"{folder} is read-only here: check where workers run") from None
        raise
    free = installation.free_bytes(folder)
    if free < MIN_SCRATCH_BYTES:
        raise Fault(f"{free:,} bytes are free in {folder}; decoded entries need {MIN_SCRATCH_BYTES:,}.")
    return f"{folder} is writable, and {free:,} bytes are free"


def _open_files(installation: Installation) -> str:  # noqa: ARG001 - every check is asked alike
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)  # web processes raise the soft limit to the hard one
    if hard < MIN_OPEN_FILES:
        raise Fault(f"A process can open {hard} files and connections; a web process needs {MIN_OPEN_FILES}.")
    return f"a process can open {hard:,} files and connections"


def _secret_files(installation: Installation) -> str:
    variables = [
        f"{find_variable(name)}{FILE_SUFFIX}" for name, field in Settings.model_fields.items() if is_secret(field)
    ]
    named = [Path(installation.environ[name]) for name in variables if installation.environ.get(name)]
    files = [path for path in (*named, *installation.secret_files) if not _is_mounted(path)]
    open_ = [str(path) for path in files if _others_can_read(path.resolve())]
    if open_:
        raise Fault(f"Every account on this machine can read {', '.join(open_)}.")
    if not files:
        raise Skipped("no secrets are in files on this machine")
    return "only their owner can read them"


def _is_mounted(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in MOUNTED_SECRETS)


def _others_can_read(path: Path) -> bool:
    reaches = all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents)
    return reaches and bool(path.stat().st_mode & stat.S_IROTH)


def _secrets(installation: Installation) -> str:
    short = [name for name, secret in _known_secrets(installation.settings) if len(secret) < MIN_SECRET_LENGTH]
    if short:
        raise Fault(f"{', '.join(short)}: shorter than {MIN_SECRET_LENGTH} characters, so it can be guessed.")
    return "all secrets are long enough"


def _known_secrets(settings: Settings) -> Iterator[tuple[str, str]]:
    """Variables and secrets that are set and that this service chooses."""
    for name in PASSWORDS:
        url: SecretStr | None = getattr(settings, name)
        password = urlsplit(url.get_secret_value()).password if url is not None else None
        if password:
            yield f"the password of {find_variable(name)}", unquote(password)
    for name in ("s3_secret_key", "metrics_token"):
        secret: SecretStr | None = getattr(settings, name)
        if secret is not None:
            yield find_variable(name), secret.get_secret_value()


def _draw_key(installation: Installation) -> str:
    if only_workers_run(installation.commands(), without=DRAW_KEY_QUEUES):
        raise Skipped("the workers of this machine draw no images")
    with installation.sessions() as session:
        drawn = competitions.list_with_draw_secrets(session)
        if not drawn:
            raise Skipped("there is no competition of generators")
        for competition in drawn:
            try:
                load_secret(session, competition.id, "public", key=installation.settings.draw_key)
            except Unavailable as error:
                raise Fault(f"{competition.slug}: {error.message}") from None
    return "it decrypts the secrets of all draws"


def _weights(installation: Installation) -> str:
    folder = installation.settings.weights_dir
    if folder is not None and not folder.is_dir():
        return _worker_weights(installation, folder)
    require_weights(installation.settings)
    return "the required weights of all tracks are installed"


def _worker_weights(installation: Installation, folder: Path) -> str:
    scoring = [report for report in installation.workers if Queue.SCORE in report.queues]
    if not scoring:
        raise Skipped(f"{folder} is not on this machine, and no scoring worker is running")
    with installation.sessions() as session:
        needed = competitions.extractors_in_use(session)
    for identity in needed:
        hashes = {report.worker: report.extractors.get(identity) for report in scoring}
        lacking = [worker for worker, sha256 in hashes.items() if sha256 is None]
        if lacking:
            raise Fault(
                f"The weights of {identity} are missing or wrong where {', '.join(lacking)} runs: "
                f"`{find_extractor(identity).installation}` installs them."
            )
        if len(set(hashes.values())) > 1:
            raise Fault(f"The weights of {identity} differ between {' and '.join(hashes)}.")
    return "every scoring worker has the weights of all tracks"


def _gpu(installation: Installation) -> str:
    device = device_found(installation.settings.device)
    if not device.startswith("cuda"):
        raise Skipped("KENNEL_DEVICE requests no GPU here")
    if device == installation.settings.device:
        require_device(installation.settings)
    return f"{device} works"


def _sandbox(installation: Installation) -> str:
    measures = available_measures()
    lacking = missing_measures(measures)
    if lacking and not installation.settings.accept_weaker_sandbox:
        raise Fault(f"Uploaded generators cannot run on this machine, which lacks {'; '.join(lacking)}.")
    absent = [name.replace("_", " ") for name, is_there in measures.items() if not is_there]
    return "uploaded generators can be confined" + (f", but without {' and '.join(absent)}" if absent else "")


def _metrics_folder(installation: Installation) -> str:
    settings = installation.settings
    if settings.metrics_port is None and (settings.metrics_token is None or settings.web_processes == 1):
        raise Skipped("processes do not share metrics")
    folder = installation.environ.get(FOLDER_VARIABLE) or installation.web_variable(FOLDER_VARIABLE)
    if not folder or not Path(folder).is_dir():
        raise Fault(f"{FOLDER_VARIABLE} is not a folder, so each process would report only its own metrics.")
    return "all processes share a folder for their metrics"


CHECKS = (
    Check("variables", _variables, "Use the names in `docs/reference/settings.md`, or remove them."),
    Check("scratch", _scratch, "Set KENNEL_SCRATCH to a folder of the service's account on a disk with more space."),
    Check(
        "open files",
        _open_files,
        "Run `ulimit -Hn 65536` before you start Kennel; with systemd set `LimitNOFILE=65536`; with compose set "
        "`ulimits`.",
    ),
    Check("secret files", _secret_files, "Run `chmod 600` on these files, or `chmod 700` on their folder."),
    Check(
        "secrets",
        _secrets,
        "Set 32 random bytes (`openssl rand -hex 32`) instead, both here and on the server that uses the secret.",
    ),
    Check(
        "draw key",
        _draw_key,
        "Set KENNEL_DRAW_KEY (or KENNEL_DRAW_KEY_FILE) to the key with which the competition was created "
        "(docs/how-to/back-up-and-restore.md).",
        ["migrations"],
    ),
    Check(
        "weights",
        _weights,
        "Where workers run: check with `kennel weights check`, run `kennel weights install`, and set "
        "KENNEL_WEIGHTS_SHA256 (docs/how-to/weights.md).",
        ["migrations"],
    ),
    Check("GPU", _gpu, "Check the driver with `nvidia-smi`; KENNEL_DEVICE and CUDA_VISIBLE_DEVICES select the GPU."),
    Check(
        "sandbox",
        _sandbox,
        "Use a kernel with Landlock (`lsm=` on its command line) and seccomp, and a container profile that "
        "allows them; or set KENNEL_ACCEPT_WEAKER_SANDBOX=true.",
    ),
    Check(
        "metrics folder", _metrics_folder, "Set PROMETHEUS_MULTIPROC_DIR to an empty folder that all processes share."
    ),
)
