"""A call to the service for a command, and what a person is told when it is refused."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from deploy.client import Client, Refused
from deploy.exits import Exit, exit_of, tell
from deploy.participant.logins import Login, current_login
from deploy.participant.words import in_time
from scorer.errors import KennelError

err = Console(stderr=True, highlight=False)
SIGN_IN = "Please run `kennel login`, or set KENNEL_URL and KENNEL_TOKEN."
HINTS = {
    "no-token": SIGN_IN,
    "bad-token": SIGN_IN,
    "wrong-scope": "Make a token with the scopes read and submit on the page /account, and run `kennel login`.",
    "rules-not-accepted": "`kennel rules COMPETITION` shows them; with --accept it accepts them.",
    "pending-limit": "`kennel status` shows them.",
    "not-invited": "The organizers of the competition invite people, by handle or mail address.",
    "no-competition": "`kennel competitions` lists them.",
}
"""What to do about a problem, by its slug."""


@contextmanager
def told(*, as_json: bool = False, uploading: bool = False) -> Iterator[None]:
    """What goes wrong inside ends the command: told on standard error, or with ``as_json`` on standard output, with an
    exit status of its own."""
    try:
        yield
    except (Refused, KennelError) as error:
        tell(error, err, as_json=as_json, hint=hint_for(error))
        raise typer.Exit(exit_of(error, uploading=uploading)) from None


@contextmanager
def connected(*, as_json: bool = False, uploading: bool = False, needs_token: bool = True) -> Iterator[Client]:
    """A client of the service as whoever is signed in; what goes wrong inside is ``told``."""
    with told(as_json=as_json, uploading=uploading):
        login = current_login()
        if needs_token:
            require_token(login)
        with Client(login.url, login.token) as client:
            yield client


def require_token(login: Login) -> str:
    """The token of a login, if it has one."""
    if login.token is None:
        title = f"You are not signed in to {login.url}."
        raise Refused(401, {"type": "urn:kennel:problem:no-token", "title": title})
    return login.token


@contextmanager
def left_alone(words: str) -> Iterator[None]:
    """Ctrl-C inside ends the command and nothing else: ``words`` say what goes on, or how to come back."""
    try:
        yield
    except KeyboardInterrupt:
        err.print(f"\n{words}", markup=False, soft_wrap=True)
        raise typer.Exit(Exit.INTERRUPTED) from None


def hint_for(error: Refused | KennelError) -> str:
    """What to do about it, where the client knows."""
    if not isinstance(error, Refused):
        return ""
    waits = f"That is in {in_time(error.retry_after)}." if error.retry_after else ""
    return HINTS.get(error.slug, waits)
