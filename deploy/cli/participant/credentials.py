"""Where the service is and who calls: KENNEL_URL and KENNEL_TOKEN, else what ``kennel login`` has kept."""

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from platformdirs import user_config_path

from deploy.client.api import Unreadable

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Login:
    """A service and a token for it. ``token_id`` names a token that ``kennel login`` has made, and logout revokes."""

    url: str
    token: str | None = None
    handle: str = ""
    token_id: int | None = None


def login_file() -> Path:
    """The file that only its owner may read."""
    return user_config_path("kennel") / "login.json"


def saved_login() -> Login | None:
    """What ``kennel login`` has kept."""
    file = login_file()
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
    kept = (None if url and token else saved_login()) or Login(DEFAULT_URL)
    if token:
        return Login(url or kept.url, token)
    return kept if url in {"", kept.url} else Login(url)


def save_login(login: Login) -> Path:
    """Keep a login in a file that nobody else can read, not even for a moment."""
    file = login_file()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        json.dump(asdict(login), out)
    fresh.replace(file)
    return file


def delete_login() -> None:
    """Keep it no longer."""
    with contextlib.suppress(FileNotFoundError):
        login_file().unlink()
