"""tus 1.0.0, the protocol of resumable uploads (https://tus.io/protocols/resumable-upload): its headers, its words."""

import base64
import binascii
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from email.utils import format_datetime
from typing import Any

from anyio import fail_after
from fastapi import Request, Response
from fastapi.routing import APIRoute

from api.http.problem_details import problem, problem_of
from scorer.db.tables import Upload
from scorer.errors import Invalid, KennelError

VERSION = "1.0.0"
CHECKSUMS = ("sha1", "sha256")
IDLE_SECONDS = 60
"""A request whose bytes stop for so long is ended; its client can go on with another."""
PATCH_MEDIA_TYPE = "application/offset+octet-stream"
DISCOVERY = {
    "Tus-Resumable": VERSION,
    "Tus-Version": VERSION,
    "Tus-Extension": "creation,expiration,checksum,termination",
    "Tus-Checksum-Algorithm": ",".join(CHECKSUMS),
}


class TusError(Exception):
    """An answer that only tus has a status for."""

    def __init__(self, status: int, slug: str, title: str) -> None:
        super().__init__(title)
        self.status, self.slug, self.title = status, slug, title


class TusRoute(APIRoute):
    """Every answer says which version is spoken, the refusals too; other versions are refused."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def speak(request: Request) -> Response:
            try:
                _require_version(request)
                response = await answer(request)
            except TusError as refusal:
                response = problem(refusal.status, refusal.slug, refusal.title, headers={"Tus-Version": VERSION})
            except KennelError as error:
                response = problem_of(error)
                if "offset" in error.extra:
                    response.headers["Upload-Offset"] = str(error.extra["offset"])
            except TimeoutError:
                response = problem(408, "too-slow", f"No byte arrived for {IDLE_SECONDS} s.")
            response.headers["Tus-Resumable"] = VERSION
            return response

        return speak


def _require_version(request: Request) -> None:
    spoken = request.headers.get("tus-resumable")
    if spoken is None and (request.method in {"GET", "OPTIONS"} or not is_tus_request(request)):
        return
    if spoken != VERSION:
        raise TusError(412, "tus-version", f"This service speaks tus {VERSION}: send the header Tus-Resumable.")


def is_tus_request(request: Request) -> bool:
    """Whether a request is one of tus, not one of JSON."""
    return request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json"


def metadata_of(header: str) -> Mapping[str, str]:
    """``Upload-Metadata``: words and base64, comma-separated; ``Invalid`` if it is not that, in UTF-8."""
    found = {}
    for pair in filter(None, map(str.strip, header.split(","))):
        name, _, coded = pair.partition(" ")
        try:
            found[name] = base64.b64decode(coded.strip(), validate=True).decode()
        except ValueError:
            raise Invalid("bad-metadata", f"Upload-Metadata has no base64 of UTF-8 under {name!r}.") from None
        if "\x00" in found[name]:
            raise Invalid("nul-character", "The request has a NUL character in it.")
    return found


@dataclass(frozen=True)
class Checksum:
    """What ``Upload-Checksum`` says of a piece."""

    algorithm: str
    digest: bytes


def checksum_of(header: str | None) -> Checksum | None:
    """The checksum of a piece, if it has one; ``Refusal`` for an algorithm that is not announced."""
    if header is None:
        return None
    algorithm, _, coded = header.partition(" ")
    try:
        digest = base64.b64decode(coded, validate=True)
    except binascii.Error:
        digest = b""
    if algorithm not in CHECKSUMS or not digest:
        raise TusError(400, "bad-checksum", f"Upload-Checksum is one of {', '.join(CHECKSUMS)} and base64.")
    return Checksum(algorithm, digest)


def require_override(request: Request) -> None:
    """``Refusal`` unless a POST stands for a PATCH: some proxies know no PATCH."""
    if request.headers.get("x-http-method-override", "").upper() != "PATCH":
        raise TusError(405, "wrong-method", "A POST here says X-HTTP-Method-Override: PATCH.")


def require_patch_body(request: Request) -> None:
    """``Refusal`` unless the body is a piece of an upload."""
    if request.headers.get("content-type", "").lower() != PATCH_MEDIA_TYPE:
        raise TusError(415, "wrong-content-type", f"A piece of an upload has the Content-Type {PATCH_MEDIA_TYPE}.")


async def with_idle_timeout(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same chunks; ``TimeoutError`` when the next one takes too long."""
    while True:
        with fail_after(IDLE_SECONDS):
            chunk = await anext(chunks, None)
        if chunk is None:
            return
        yield chunk


def headers_of(upload: Upload) -> dict[str, str]:
    """How far an upload is, and what became of it."""
    headers = {
        "Upload-Offset": str(upload.received),
        "Upload-Length": str(upload.length),
        "Cache-Control": "no-store",
    }
    if upload.described:
        headers["Upload-Metadata"] = upload.described
    if upload.completed_at is None:
        headers["Upload-Expires"] = format_datetime(upload.expires_at, usegmt=True)
    if upload.submission is not None:
        headers["Kennel-Submission"] = upload.submission.id
    return headers
