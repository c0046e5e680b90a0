"""The authenticated client of a command, and its errors as messages with hints."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from kennel_client.api import ApiClient, segment
from kennel_client.cli.exit_codes import ExitCode, choose_exit_code, print_error
from kennel_client.cli.formatting import escape_unknown_characters, format_duration
from kennel_client.cli.groups import ListingGroup
from kennel_client.credentials import Login, current_login
from kennel_client.errors import Invalid, KennelError, Refused, Unreadable

if TYPE_CHECKING:
    from kennel_client.admin import Admin

err = Console(stderr=True, highlight=False)
SIGN_IN_HINT = "Run `kennel login`, or set KENNEL_URL and KENNEL_TOKEN."
HINTS = {
    "no-token": SIGN_IN_HINT,
    "bad-token": SIGN_IN_HINT,
    "wrong-scope": "Create a token with the scopes read and submit on the page /account, then run `kennel login`.",
    "rules-not-accepted": "Run `kennel rules COMPETITION` to read the rules; add --accept to accept them.",
    "pending-limit": "Run `kennel status` to see your submissions.",
    "not-invited": "Ask the organizers of the competition to invite you by handle or email address.",
    "no-competition": "Run `kennel competitions` to list the competitions.",
}
"""Hints on how to fix a problem, by its slug."""


def unreadable_file(error: Exception) -> Unreadable | None:
    if isinstance(error, OSError) and error.filename is not None:
        return Unreadable(f"{error.filename}: {error.strerror}.")
    return None


translations: list[Callable[[Exception], Refused | KennelError | None]] = [unreadable_file]
"""Translate other errors into errors for people; the server's commands add those of the database and queue server."""


@contextmanager
def reported_errors(*, as_json: bool = False, uploading: bool = False) -> Iterator[None]:
    """After an error in the block, print it (with ``as_json`` as JSON) and end the command with its exit status."""
    try:
        yield
    except Exception as error:
        known = next(filter(None, (translate(error) for translate in translations)), error)
        if not isinstance(known, Refused | KennelError):
            raise
        print_error(known, err, as_json=as_json, hint=hint_for(known))
        raise typer.Exit(choose_exit_code(known, uploading=uploading)) from None


USAGE_ERROR: Any = typer.BadParameter.__base__
"""The base of all errors about arguments, which typer does not export."""


class KennelGroup(ListingGroup):
    """The root command; reports wrong arguments as a JSON problem if the command line asks for JSON."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as any group; also note whether the command line asks for JSON."""
        ctx.meta[__name__] = bool({"--json", "--format=json"} & {*args}) or ("--format", "json") in pairwise(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except USAGE_ERROR as error:
            if not ctx.meta[__name__]:
                raise
            problem = Invalid("wrong-arguments", " ".join(error.format_message().split()))
            print_error(problem, err, as_json=True)
            raise typer.Exit(ExitCode.USAGE) from None


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Turn errors meant for people into a message and an exit status without a traceback. Used around all commands."""
    escape_unknown_characters()
    try:
        with reported_errors():
            yield
    except typer.Exit as end:
        sys.exit(end.exit_code)


def open_client(*, needs_token: bool = True) -> ApiClient:
    login = current_login()
    if needs_token:
        require_token(login)
    return ApiClient(login.url, login.token)


def load_competition(slug: str) -> dict[str, Any]:
    """A competition as the service's visitors see it."""
    with open_client(needs_token=False) as client:
        view: dict[str, Any] = client.get(f"/competitions/{segment(slug)}")
    return view


@contextmanager
def open_admin() -> Iterator["Admin[ApiClient]"]:
    from kennel_client.admin import Admin  # noqa: PLC0415 - participants need none of it

    with open_client() as client:
        yield Admin(client)


def require_token(login: Login) -> str:
    """The token of a login; ``Refused`` (401) if it has none."""
    if login.token is None:
        title = f"You are not signed in to {login.url}."
        raise Refused(401, {"type": "urn:kennel:problem:no-token", "title": title})
    return login.token


def needs_server(command: str, extras: str) -> Unreadable:
    return Unreadable(
        f"`{command}` needs the server, but only the client is installed. In Kennel's source folder, "
        f"run: pip install ./client '.[{extras}]'"
    )


def say(line: str) -> None:
    err.print(line, markup=False, soft_wrap=True)


def saying(to_line: Callable[[Any], str]) -> Callable[[Any], None]:
    """Return a function that prints the line of each value; it skips a line equal to the previous one."""
    last_line = ""

    def see(seen: Any) -> None:
        nonlocal last_line
        line = to_line(seen)
        if line != last_line:
            say(line)
            last_line = line

    return see


@contextmanager
def interruptible(message: str) -> Iterator[None]:
    """On Ctrl-C in the block, end only the command and print ``message``, which explains how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"\n{message}")
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def hint_for(error: Refused | KennelError) -> str:
    if not isinstance(error, Refused):
        return ""
    wait = f"Try again in {format_duration(error.retry_after)}." if error.retry_after else ""
    return HINTS.get(error.slug, wait)
