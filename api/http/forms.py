"""URL-encoded forms of pages, parsed with limits on size and fields, and only for routes that need one.

If an action is refused, the response is the form's page with the error.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, ParamSpec, get_args
from urllib.parse import parse_qsl, quote

from fastapi import Depends, Request, status
from fastapi.responses import Response
from starlette.datastructures import ImmutableMultiDict
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.access_log import API_PREFIX
from api.http.problem_details import choose_status, error_headers
from api.http.request_bodies import content_length
from scorer.errors import Invalid, KennelError, TooLarge

P = ParamSpec("P")
Fields = ImmutableMultiDict[str, str]
MAX_FORM_BYTES = 1 << 20
"""Fits the two texts of a competition with up to 50,000 characters each, at up to 9 bytes a character."""
MAX_FIELDS = 100
TAKEN_COOKIE = "kennel-taken"


def is_form(request: Request) -> bool:
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    return kind == "application/x-www-form-urlencoded"


async def read_fields(request: Request) -> Fields:
    """The fields of a form, in UTF-8. ``Invalid`` for anything else; ``TooLarge`` if the declared length exceeds the
    limit, before any byte is read."""
    if not is_form(request):
        raise Invalid("not-a-form", "This address only accepts the form on its page.")
    declared = content_length(request.scope)
    if declared is None or declared > MAX_FORM_BYTES:
        raise TooLarge(
            "too-large", f"The form is too large. The limit is {MAX_FORM_BYTES:,} bytes.", limit=MAX_FORM_BYTES
        )
    try:
        pairs = parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise Invalid("not-a-form", "The form is malformed. Reload the page and submit the form again.") from None
    if any("\x00" in part for pair in pairs for part in pair):
        raise Invalid("nul-character", "The request contains a NUL character. Remove it.")
    return ImmutableMultiDict(pairs)


def text(fields: Fields, name: str, *, max_length: int = 300) -> str:
    """A field's text, or an empty one if it is missing; ``Invalid`` above ``max_length`` characters."""
    value = fields.get(name, "")
    if len(value) > max_length:
        raise Invalid("too-long", f"The field {name} has {len(value)} characters; the limit is {max_length}.")
    return value


def read_choice(fields: Fields, name: str, among: Any, *, message: str) -> Any:
    """A field's text if the ``Literal`` ``among`` has it; otherwise ``Invalid`` with the message."""
    value = text(fields, name)
    if value not in get_args(among):
        raise Invalid("bad-field", message)
    return value


def require_reason(reason: str) -> None:
    """``Invalid`` if ``reason`` is empty."""
    if not reason:
        raise Invalid("no-reason", "Enter a reason. It is shown in the history.")


def number_field(fields: Fields, name: str, kind: type[Any]) -> Any:
    """A field's value as ``kind``, None if it is empty; ``Invalid`` if it is not a number."""
    value = text(fields, name, max_length=40).strip()
    try:
        return kind(value) if value else None
    except ValueError:
        raise Invalid("no-number", f"{value!r} is not a number. Enter a number.") from None


class TakenForms:
    """Sets a cookie with the address of an accepted form, for the page's script: it then forgets the typed input."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_post = scope["type"] == "http" and scope["method"] == "POST" and not scope["path"].startswith(API_PREFIX)

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < status.HTTP_400_BAD_REQUEST:
                cookie = f"{TAKEN_COOKIE}={quote(scope['path'], safe='')}; Max-Age=60; Path=/; SameSite=Lax"
                message["headers"] = [*message.get("headers", ()), (b"set-cookie", cookie.encode())]
            await send(message)

        await self._app(scope, receive, send_with_cookie if is_post else send)


FormFields = Annotated[Fields, Depends(read_fields)]


class RefusedForm(Exception):
    """The response page for a refused form. The request's transaction is committed, because a refused action may have
    counted an attempt."""

    def __init__(self, page: Response) -> None:
        super().__init__()
        self.page = page


@contextmanager
def refusal_on(page: Callable[P, Response], *args: P.args, **values: P.kwargs) -> Iterator[None]:
    """Respond with ``page(*args, status=, error=, faults=, **values)`` if the block raises a ``KennelError``."""
    refused: Callable[..., Response] = page
    try:
        yield
    except KennelError as error:
        answer = refused(*args, status=choose_status(error), error=error.message, faults=error.faults, **values)
        answer.headers.update(error_headers(error))
        raise RefusedForm(answer) from error
