"""The service's URL and API token: KENNEL_URL and KENNEL_TOKEN, else those stored by ``kennel login``."""

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from platformdirs import user_config_path

from kennel_client.errors import Unreadable

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Login:
    """A service and a token for it. ``token_id`` is set for a token that ``kennel login`` created."""

    url: str
    token: str | None = None
    handle: str = ""
    token_id: int | None = None


def login_file() -> Path:
    return user_config_path("kennel") / "login.json"


def saved_login() -> Login | None:
    """The login stored by ``kennel login``, None if there is none; raises ``Unreadable`` if the file is damaged."""
    file = login_file()
    try:
        return Login(**json.loads(file.read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise Unreadable(f"{file} cannot be read ({error}); run `kennel login` again.") from None


def current_login() -> Login:
    """The login from the environment, else the stored one, whose token is only sent to its own service."""
    token = os.environ.get("KENNEL_TOKEN", "").strip()
    return _completed(os.environ.get("KENNEL_URL"), token, lambda: saved_login() or Login(DEFAULT_URL))


def login_for(url: str | None, token: str | None) -> Login:
    """The login that a program specifies, completed from :func:`current_login`."""
    return _completed(url, token, current_login)


def _completed(url: str | None, token: str | None, find_login: Callable[[], Login]) -> Login:
    address = (url or "").rstrip("/")
    if address and token:
        return Login(address, token)
    login = find_login()
    if token:
        return Login(address or login.url, token)
    return login if address in {"", login.url} else Login(address)


def save_login(login: Login) -> Path:
    """Write a login to a file that nobody else can read at any moment."""
    file = login_file()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = file.with_suffix(".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        json.dump(asdict(login), out)
    draft.replace(file)
    return file


def delete_login() -> None:
    with contextlib.suppress(FileNotFoundError):
        login_file().unlink()
