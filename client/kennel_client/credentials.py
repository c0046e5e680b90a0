"""The service's URL and API token: KENNEL_URL and KENNEL_TOKEN, else those stored by ``kennel login``."""

import contextlib
import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from platformdirs import user_config_path

from kennel_client.errors import Unreadable

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Login:
    """A service and a token for it. ``token_id`` is set for a token that ``kennel login`` created and ``logout``
    revokes.
    """

    url: str
    token: str | None = None
    handle: str = ""
    token_id: int | None = None


def login_file() -> Path:
    """The path of the login file, which only its owner can read."""
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
    """The login from the environment, else the stored one. A stored token is only sent to the service that it was
    stored for.
    """
    url = os.environ.get("KENNEL_URL", "").rstrip("/")
    token = os.environ.get("KENNEL_TOKEN", "").strip()
    saved = (None if url and token else saved_login()) or Login(DEFAULT_URL)
    if token:
        return Login(url or saved.url, token)
    return saved if url in {"", saved.url} else Login(url)


def login_for(url: str | None, token: str | None) -> Login:
    """The login that a program or command specifies, completed from :func:`current_login`, which sends its token only
    to its own service.
    """
    address = (url or "").rstrip("/")
    if address and token:
        return Login(address, token)
    login = current_login()
    if address in {"", login.url}:
        return replace(login, token=token) if token else login
    return Login(address)


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
