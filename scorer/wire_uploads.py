"""Uploads whose bytes come to an address that is its own proof: ``take_bytes``, ``hand_in``.

Another client's wire sends them there without saying who it is, all of them in one request, as often as it takes;
then it asks for the submission.
"""

import hmac
from datetime import datetime

from sqlalchemy.orm import Session

from scorer import uploads
from scorer.db.submissions import uploads as rows
from scorer.db.tables import Account, Upload
from scorer.errors import NotFound
from scorer.identifiers import digest_of


def take_bytes(
    session: Session, upload_id: str, secret: str, *, writer: str, now: datetime
) -> tuple[Upload, list[str]]:
    """Let ``writer`` send everything, in place of what came before. The blobs returned are to be deleted after the
    commit. Once the submission is made there is nothing to send (the upload is ``done``). ``NotFound`` without the
    right secret, ``Conflict`` while the submission is being made, and whatever an upload was refused for."""
    upload = rows.upload_by_id(session, upload_id)
    if upload is None or not hmac.compare_digest(upload.put_digest or b"", digest_of(secret)):
        raise NotFound("no-upload", "There is no such upload (any more); please begin a new one.")
    upload = uploads.find(session, upload_id, upload.account, now=now)
    uploads.require_fine(upload)
    if upload.state == "done":
        return upload, []
    return upload, uploads.restart(session, upload, writer=writer)


def hand_in(session: Session, slug: str, upload_id: str, note: str, account: Account, *, now: datetime) -> Upload:
    """A person's upload that shall become a submission with this note; ``NotFound`` if it is not theirs or of another
    competition, ``Conflict`` while bytes are missing. Again is the same."""
    upload = uploads.find(session, upload_id, account, now=now)
    if upload.method != "wire" or upload.competition.slug != slug:
        raise NotFound("no-upload", "There is no such upload for this competition; please begin a new one.")
    uploads.require_fine(upload)
    uploads.require_whole(upload)
    if upload.state == "receiving":
        upload.note = note
        session.flush()
    return upload
