"""tus 1.0.0, the protocol of resumable uploads (https://tus.io/protocols/resumable-upload): headers and refusals."""

import base64
import binascii
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from email.utils import format_datetime
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from api.http.problem_details import build_problem, problem
from api.http.request_bodies import RefusedBody
from scorer.db.tables import Upload
from scorer.errors import Invalid, KennelError

VERSION = "1.0.0"
CHECKSUMS = ("sha1", "sha256")
PATCH_MEDIA_TYPE = "application/offset+octet-stream"
DISCOVERY = {
    "Tus-Resumable": VERSION,
    "Tus-Version": VERSION,
    "Tus-Extension": "creation,expiration,checksum,termination",
    "Tus-Checksum-Algorithm": ",".join(CHECKSUMS),
}

UNSUPPORTED = {"upload-concat": "concatenation", "upload-defer-length": "creation-defer-length"}
"""Headers of extensions that are not in ``DISCOVERY``."""


class TusError(Exception):
    """A refusal with a status that tus defines."""

    def __init__(self, status: int, slug: str, title: str) -> None:
        super().__init__(title)
        self.status = status
        self.slug = slug
        self.title = title


class TusRoute(APIRoute):
    """A route that refuses other versions of tus and sends ``Tus-Resumable`` with every response, including
    refusals."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                _require_version(request)
                response = await handler(request)
            except TusError as refusal:
                response = problem(refusal.status, refusal.slug, refusal.title, headers={"Tus-Version": VERSION})
            except KennelError as error:
                response = build_problem(error)
                if "offset" in error.extra:
                    response.headers["Upload-Offset"] = str(error.extra["offset"])
            except RefusedBody as refusal:
                response = refusal.as_problem()
            response.headers["Tus-Resumable"] = VERSION
            return response

        return handle


def _require_version(request: Request) -> None:
    version = request.headers.get("tus-resumable")
    if version is None and (request.method in {"GET", "OPTIONS"} or not is_tus_request(request)):
        return
    if version != VERSION:
        raise TusError(
            412, "tus-version", f"This service supports tus {VERSION}. Send the header Tus-Resumable: {VERSION}."
        )


def require_offered_extensions(request: Request) -> None:
    """``TusError`` for the headers of tus extensions that are not in ``DISCOVERY``."""
    for header, extension in UNSUPPORTED.items():
        if header in request.headers:
            name = header.title()
            raise TusError(
                501,
                "tus-extension",
                f"{name} requires the tus extension {extension}, which this service does not support. Send one upload "
                "in order, with Upload-Length (tus-js-client: without parallelUploads and uploadLengthDeferred).",
            )
    if request.headers.get("content-type", "").lower() == PATCH_MEDIA_TYPE:
        raise TusError(
            501,
            "tus-extension",
            "A body requires the tus extension creation-with-upload, which this service does not support. Send the "
            "bytes with PATCH (tus-js-client: without uploadDataDuringCreation).",
        )


def is_tus_request(request: Request) -> bool:
    """A tus request is any request without a JSON body."""
    return request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json"


def parse_metadata(header: str) -> Mapping[str, str]:
    """The values in ``Upload-Metadata``: comma-separated pairs of a name and UTF-8 in base64, otherwise ``Invalid``."""
    values = {}
    for pair in filter(None, map(str.strip, header.split(","))):
        name, _, coded = pair.partition(" ")
        try:
            values[name] = base64.b64decode(coded.strip(), validate=True).decode()
        except ValueError:
            raise Invalid("bad-metadata", f"The value of {name!r} in Upload-Metadata is not UTF-8 in base64.") from None
        if "\x00" in values[name]:
            raise Invalid("nul-character", "The request contains a NUL character. Remove it.")
    return values


@dataclass(frozen=True)
class Checksum:
    algorithm: str
    digest: bytes


def parse_checksum(header: str | None) -> Checksum | None:
    """The checksum in ``Upload-Checksum``; ``TusError`` for an unknown algorithm or a malformed value."""
    if header is None:
        return None
    algorithm, _, coded = header.partition(" ")
    try:
        digest = base64.b64decode(coded, validate=True)
    except binascii.Error:
        digest = b""
    if algorithm not in CHECKSUMS or not digest:
        raise TusError(
            400,
            "bad-checksum",
            f"Upload-Checksum must be an algorithm ({' or '.join(CHECKSUMS)}), a space and the checksum in base64.",
        )
    return Checksum(algorithm, digest)


def require_override(request: Request) -> None:
    """``TusError`` unless a POST replaces a PATCH, which some proxies block."""
    if request.headers.get("x-http-method-override", "").upper() != "PATCH":
        raise TusError(405, "wrong-method", "Send PATCH, or POST with X-HTTP-Method-Override: PATCH.")


def require_patch_body(request: Request) -> None:
    """``TusError`` for a content type other than ``PATCH_MEDIA_TYPE``."""
    if request.headers.get("content-type", "").lower() != PATCH_MEDIA_TYPE:
        raise TusError(
            415, "wrong-content-type", f"Send the bytes of an upload with the Content-Type {PATCH_MEDIA_TYPE}."
        )


def upload_headers(upload: Upload) -> dict[str, str]:
    """The tus headers of an upload: offset, length, expiry, and the submission created from it."""
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
