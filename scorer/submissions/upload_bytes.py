"""The bytes of uploads: parts added to the blob store, then joined, checked and submitted as one file."""

import hashlib
import hmac
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from anyio import to_thread
from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.blobs import Blobs, BlobWriter, ReceivedBlob
from scorer.db.submissions import uploads as rows
from scorer.db.tables import Upload
from scorer.errors import Conflict, Invalid, KennelError, NotFound, Unavailable
from scorer.identifiers import hash_secret
from scorer.submissions import intake, upload_reservations, uploads
from scorer.submissions.files import entry_key
from scorer.submissions.upload_reservations import taken_over_error
from scorer.teams.storage import UploadLimits

log = logging.getLogger(__name__)

BeginTransaction = Callable[[], AbstractContextManager[Session]]
MIN_PART_BYTES = 1 << 16
"""A last part below this size is rewritten with the bytes that follow it, or small requests would make many files."""
PART_BYTES = 4 << 20
PART_FLUSH_AFTER = timedelta(seconds=2)
"""A part is stored at this size or age. This limits the loss of a broken connection, and slow connections make
progress."""


@dataclass
class Appender:
    """One request that adds bytes to an upload.

    ``offset`` is the number of recorded bytes. Only the current ``writer`` may record more.
    """

    begin: BeginTransaction
    store: Blobs
    upload: Upload
    writer: str
    offset: int
    life: timedelta
    limits: UploadLimits
    now: Callable[[], datetime]
    _reserved: int = field(init=False)
    """The number of bytes from the beginning of the upload that may be stored."""
    _small: str | None = field(init=False)
    """The key of the last recorded part if it is small: the next part begins with its bytes and replaces it."""
    _filling: BlobWriter | None = None
    """The part being received."""
    _since: datetime | None = None
    _parts: list[ReceivedBlob] = field(default_factory=list)
    """Stored parts that are not yet recorded."""

    def __post_init__(self) -> None:
        self._reserved = upload_reservations.reserved_bytes(self.upload)
        last = self.upload.parts[-1] if self.offset else None
        self._small = last if last and self.offset - uploads.part_start(last) < MIN_PART_BYTES else None

    async def append(self, chunks: AsyncIterator[bytes]) -> None:
        """Store and record a stream. ``Conflict`` once a newer request has taken over.

        If the stream breaks off or exceeds the declared length (``TooLarge``), the bytes so far are recorded before the
        error propagates. If the store fails, the last part is not recorded.
        """
        try:
            async for chunk in chunks:
                moment = self.now()
                self._since = self._since or moment
                if chunk and (await self._add(chunk) or moment - self._since >= PART_FLUSH_AFTER):
                    await self._flush()
        finally:
            if self._filling is not None:
                await self._flush()

    async def append_whole(self, chunks: AsyncIterator[bytes], algorithm: str, digest: bytes) -> bool:
        """Store a stream and record it only if it is complete and has this hash (tus checksum extension).

        False for another hash. Parts are stored as they arrive, but none is recorded before the last byte.
        """
        actual = hashlib.new(algorithm)
        try:
            async for chunk in chunks:
                actual.update(chunk)
                if chunk and await self._add(chunk):
                    await self._store()
        except BaseException:
            await self._discard()
            raise
        if actual.digest() != digest:
            await self._discard()
            return False
        if self._filling is not None or self._parts:
            await self._flush()
        return True

    async def _add(self, chunk: bytes) -> bool:
        """Add a chunk to the part; return whether the part has its full size."""
        part = self._filling or await self._next_part()
        length, end = self.upload.length, self._end + part.bytes + len(chunk)
        if end > length:
            raise uploads.too_long_error(length)
        if end > self._reserved:
            self._reserved = await to_thread.run_sync(self._reserve, min(end + min(end, PART_BYTES), length))
        self._filling = part
        try:
            await part.write(chunk)
        except BaseException:  # the part may contain a piece of the chunk
            await self._discard()
            raise
        return part.bytes >= PART_BYTES

    def _reserve(self, to: int) -> int:
        with self.begin() as session:
            return upload_reservations.reserve_arriving(
                session, self.upload.id, writer=self.writer, to=to, limits=self.limits, now=self.now()
            )

    @property
    def _end(self) -> int:
        """The beginning of the part being received."""
        start = uploads.part_start(self._small) if self._small else self.offset
        return start + sum(part.bytes for part in self._parts)

    async def _next_part(self) -> BlobWriter:
        part = self.store.writer(uploads.part_key(self.upload.id, self._end, self.writer, offset=self.offset))
        if self._small and not self._parts:
            await part.write(await to_thread.run_sync(self._read_small, self._small))
        return part

    def _read_small(self, key: str) -> bytes:
        try:
            return self.store.read(key)
        except NotFound:  # another request has replaced it
            raise taken_over_error() from None

    async def _store(self) -> None:
        if self._filling is not None:
            self._parts.append(await self._filling.close())
            self._filling = self._since = None

    async def _flush(self) -> None:
        """Store the buffer and record all stored parts.

        Parts that may be recorded stay: perhaps only the acknowledgement of the commit was lost.
        """
        arrived = self.now()
        try:
            await self._store()
        except BaseException:
            await self._discard()
            raise
        to = self._end
        try:
            await to_thread.run_sync(self._record, to, arrived)
        except KennelError:
            await self._discard()
            raise
        last, self._parts = self._parts[-1], []
        self._small = last.key if last.bytes < MIN_PART_BYTES else None
        self.offset = to

    async def _discard(self) -> None:
        parts, self._parts = self._parts, []
        if self._filling is not None:
            await self._filling.abort()
            self._filling = None
        if parts:
            await to_thread.run_sync(self.store.discard, [part.key for part in parts])

    def _record(self, to: int, arrived: datetime) -> None:
        with self.begin() as session:
            recorded = rows.advance(
                session,
                self.upload.id,
                writer=self.writer,
                offset=self.offset,
                to=to,
                replaces=self._small,
                parts=[part.key for part in self._parts],
                expires_at=arrived + self.life,
                completed_at=arrived if to == self.upload.length else None,
            )
            if not recorded:
                raise taken_over_error()
        if self._small:
            self.store.discard([self._small])


def finalise(
    begin: BeginTransaction,
    store: Blobs,
    upload_id: str,
    *,
    public_id: str,
    now: Callable[[], datetime],
    lease: timedelta = uploads.FINISH_LEASE,
    limited: bool = False,
) -> Upload:
    """Create the submission of a complete upload, or refuse it permanently. Returns the upload's row. Idempotent.

    The row is not yet ``done`` while another caller creates the submission, during its ``lease``. ``limited``: a
    limited process checks the directory of a zip.

    An internal error propagates and leaves the upload unchanged, for a repeated request or the sweep.
    """
    with begin() as session:
        until = uploads.claim_finish(session, upload_id, now=now(), lease=lease)
        upload = uploads.current_upload(session, upload_id)
    if until is not None:
        try:
            _make(begin, store, upload, public_id=public_id, limited=limited)
        except Exception:
            with begin() as session:
                rows.release_finish(session, upload_id, until=until, now=now())
                upload = uploads.current_upload(session, upload_id)
            if upload.state == "receiving":
                raise
            log.info("upload %s was closed while its submission was being created", upload_id)
    with begin() as session:
        return uploads.current_upload(session, upload_id)


def _make(begin: BeginTransaction, store: Blobs, upload: Upload, *, public_id: str, limited: bool) -> None:
    # The same key for every attempt: a second attempt overwrites the same bytes after the first has died.
    key = entry_key(upload.competition, upload.id)
    received = store.copy(upload.parts[0], key) if upload.method == "put" else store.join(upload.parts, key)
    try:
        _require_declared(upload, received)
        with store.open(key) as file:
            ignored = intake.require_file(file, upload.competition, uploads.entry_of(upload), limited=limited)
        with begin() as session:
            submission = uploads.finish(session, upload, received, public_id=public_id)
            submission.ignored = ignored
        unused = submission.blob_key != key
    except Unavailable:
        raise
    except KennelError as error:
        with begin() as session:
            uploads.refuse(session, upload, error)
            unused = uploads.current_upload(session, upload.id).state != "done"
    if unused:
        store.discard([key])


def _require_declared(upload: Upload, received: ReceivedBlob) -> None:
    if received.bytes != upload.length:
        raise Invalid(
            "wrong-length",
            f"{received.bytes:,} bytes arrived, but {upload.length:,} were announced. Please upload the file again.",
        )
    if upload.sha256 not in {None, received.sha256}:
        raise Invalid(
            "wrong-sha256",
            f"The received bytes have the SHA-256 {received.sha256}, but {upload.sha256} was announced. Please upload "
            "the file again.",
        )


def complete_presigned_upload(begin: BeginTransaction, store: Blobs, upload: Upload, *, now: datetime) -> None:
    """Record that the bytes of a presigned PUT are in the store; ``Conflict`` unless all of them are."""
    size = store.size(uploads.staged_key(upload.id))
    if size != upload.length:
        message = "No bytes have arrived in the store" if size is None else f"{size:,} bytes have arrived in the store"
        raise Conflict("not-complete", f"{message}, but {upload.length:,} bytes were announced. Upload the file first.")
    with begin() as session:
        rows.mark_arrived(session, upload.id, now=now)


def take_bytes(
    session: Session, upload_id: str, secret: str, *, writer: str, now: datetime
) -> tuple[Upload, list[str]]:
    """Restart a wire upload with ``writer`` as its only writer; return it with the keys of blobs to delete afterwards.

    Delete them after the commit. A ``done`` upload is returned without keys. ``NotFound`` without the right secret,
    ``Conflict`` while the submission is being created, and the stored error of a refused upload.
    """
    upload = rows.upload_by_id(session, upload_id)
    if upload is None or not hmac.compare_digest(upload.put_digest or b"", hash_secret(secret)):
        raise NotFound("no-upload", "There is no such upload, or it has ended. Please begin a new one.")
    upload = uploads.find_upload(Acting(session, upload.account, now), upload_id)
    uploads.require_not_refused(upload)
    if upload.state == "done":
        return upload, []
    return upload, uploads.restart(session, upload, writer=writer)


def submit_wire_upload(acting: Acting, slug: str, upload_id: str, *, note: str) -> Upload:
    """Set the note of an account's complete wire upload; idempotent.

    ``NotFound`` if it belongs to another account or competition, ``Conflict`` while bytes are missing.
    """
    upload = uploads.find_upload(acting, upload_id)
    if upload.method != "wire" or upload.competition.slug != slug:
        raise NotFound("no-upload", "There is no such upload in this competition. Please begin a new one.")
    uploads.require_not_refused(upload)
    uploads.require_whole(upload)
    if upload.state == "receiving":
        upload.note = note
        acting.session.flush()
    return upload
