"""Data files that organizers offer participants for download."""

import re
from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts.roles import is_organizer
from scorer.acting import Acting
from scorer.blobs import ReceivedBlob
from scorer.competitions import rules
from scorer.competitions.competition_state import CompetitionState
from scorer.db import competitions
from scorer.db.newest_rows import newest_row
from scorer.db.tables import Account, DataFile
from scorer.errors import Conflict, Invalid, NotFound

NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MAX_FILES = 100
SECRET_ROLES = ("held_out", "private_extra", "private_features")
"""Roles of reference sets that participants must never get."""


def require_name(name: str) -> None:
    """``Invalid`` unless the name needs no escaping in a URL, a zip or a file system."""
    if not NAME_PATTERN.fullmatch(name):
        raise Invalid(
            "bad-name",
            f"{name!r} is not a valid file name. Use at most 100 letters, digits, dots, hyphens and underscores, and "
            "begin with a letter or a digit.",
        )


def offer_file(acting: Acting, state: CompetitionState, name: str, *, received: ReceivedBlob, crc32: int) -> DataFile:
    """Offer an uploaded file to participants; it replaces an earlier file with this name.

    ``Conflict`` if it is a secret reference set of a competition.
    """
    require_name(name)
    competitions.lock_competition(acting.session, state.competition.slug, share=False)
    if competitions.is_reference(acting.session, received.sha256, SECRET_ROLES):
        raise Conflict("secret-images", "These are held-out or private images of a competition. They must stay secret.")
    before = newest_row(acting.session, DataFile, competition_id=state.competition.id, name=name)
    replaced = before is not None and before.offered
    if not replaced and len(competitions.offered_files(acting.session, state.competition.id)) >= MAX_FILES:
        raise Conflict(
            "too-many-files", f"This competition offers {MAX_FILES} files, which is the limit. Withdraw one first."
        )
    if received.bytes < 1:
        raise Invalid("empty", "The file is empty. Choose a file with at least one byte.")
    file = DataFile(
        competition_id=state.competition.id,
        name=name,
        offered=True,
        bytes=received.bytes,
        sha256=received.sha256,
        crc32=crc32,
        blob_key=received.key,
    )
    acting.add(file)
    _record(acting, state, "offered", after=file, before=before if replaced else None)
    return file


def training_images(session: Session, state: CompetitionState) -> ReceivedBlob:
    """Return the zip of a competition's training images; ``Conflict`` if there is none."""
    attached = competitions.load_references(session, state.competition.id).get("train")
    if attached is None:
        raise Conflict("no-references", "Attach training images first.")
    images = attached.reference_set
    return ReceivedBlob(images.blob_key, images.bytes, images.sha256)


def withdraw(acting: Acting, state: CompetitionState, name: str) -> None:
    """Stop offering a file; ``NotFound`` if it is not offered."""
    competitions.lock_competition(acting.session, state.competition.slug, share=False)
    file = _offered(acting.session, state, name)
    same = ("competition_id", "name", "bytes", "sha256", "crc32", "blob_key")
    values: dict[str, Any] = {column: getattr(file, column) for column in same}
    acting.add(DataFile(**values, offered=False))
    _record(acting, state, "withdrawn", after=None, before=file)


def _record(
    acting: Acting, state: CompetitionState, verb: str, *, after: DataFile | None, before: DataFile | None
) -> None:
    was, becomes = (
        {"name": file.name, "bytes": file.bytes, "sha256": file.sha256} if file else None for file in (before, after)
    )
    subject = f"competition:{state.competition.slug}"
    audit_log.record_action(acting, f"data-file.{verb}", subject, before=was, after=becomes)


def find_file(session: Session, state: CompetitionState, name: str, *, account: Account) -> DataFile:
    """``Forbidden`` unless the account has accepted the rules, ``NotFound`` if the file is not offered."""
    _require_access(session, state, account)
    return _offered(session, state, name)


def downloadable_files(session: Session, state: CompetitionState, account: Account) -> Sequence[DataFile]:
    """``Forbidden`` unless the account has accepted the rules, ``NotFound`` if there are no files."""
    _require_access(session, state, account)
    if not state.files:
        raise NotFound("no-files", "This competition offers no files.")
    return state.files


def _require_access(session: Session, state: CompetitionState, account: Account) -> None:
    if not is_organizer(account, state.competition.id):
        rules.require_acceptance(session, state.competition, account)


def _offered(session: Session, state: CompetitionState, name: str) -> DataFile:
    file = newest_row(session, DataFile, competition_id=state.competition.id, name=name)
    if file is None or not file.offered:
        raise NotFound("no-file", f"This competition offers no file {name!r}.")
    return file
