"""Where the service is and who calls: KENNEL_URL and KENNEL_TOKEN, else what ``kennel login`` has kept."""

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from platformdirs import user_config_path

from deploy.client import Unreadable

HERE = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Login:
    """A service and a token for it. ``token_id`` names a token that ``kennel login`` has made, and logout revokes."""

    url: str
    token: str | None = None
    handle: str = ""
    token_id: int | None = None


def file_of_login() -> Path:
    """The file that only its owner may read."""
    return user_config_path("kennel") / "login.json"


def kept_login() -> Login | None:
    """What ``kennel login`` has kept."""
    file = file_of_login()
    try:
        return Login(**json.loads(file.read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise Unreadable(f"{file} cannot be read ({error}); please run `kennel login` again.") from None


def current_login(environment: Mapping[str, str] = os.environ) -> Login:
    """The login that counts: the environment's, else the one that was kept. A kept token never goes to another service
    than the one it was kept for."""
    url = environment.get("KENNEL_URL", "").rstrip("/")
    token = environment.get("KENNEL_TOKEN", "").strip()
    kept = (None if url and token else kept_login()) or Login(HERE)
    if token:
        return Login(url or kept.url, token)
    return kept if url in {"", kept.url} else Login(url)


def keep(login: Login) -> Path:
    """Keep a login in a file that nobody else can read, not even for a moment."""
    file = file_of_login()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        json.dump(asdict(login), out)
    fresh.replace(file)
    return file


def forget() -> None:
    """Keep it no longer."""
    with contextlib.suppress(FileNotFoundError):
        file_of_login().unlink()
