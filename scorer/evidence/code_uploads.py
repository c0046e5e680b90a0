"""Uploads of the code behind an entry, for reviewers: a zip or a notebook, replaceable by its team until the close."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import BinaryIO, Literal

from sqlalchemy.orm import Session

from scorer.accounts.roles import is_reviewer
from scorer.archive.central_directory import find_directory, members_of
from scorer.blobs import ReceivedBlob
from scorer.competitions.competition_state import CompetitionState, state_of
from scorer.db.evidence import code_attachments
from scorer.db.submissions import submissions
from scorer.db.tables import Account, CodeAttachment, Submission
from scorer.errors import Conflict, Forbidden, Invalid, NotFound
from scorer.evidence import code_requests
from scorer.lifecycle import Phase
from scorer.submissions.access import find_submission, is_own, unknown_submission

MAX_CODE_BYTES = 20 * 1024**2
MAX_DIRECTORY_BYTES = 1 << 20
"""Size limit of the zip's directory, about ten thousand files."""
CodeKind = Literal["zip", "notebook"]
SUFFIXES: Mapping[str, str] = {"zip": ".zip", "notebook": ".ipynb"}


def kind_of(file: BinaryIO) -> CodeKind:
    """The kind of file by its content, whatever its name; ``Invalid`` if it is neither a zip nor a notebook."""
    start = file.read(2)
    file.seek(0)
    if start == b"PK":
        directory = find_directory(file)
        if directory.size > MAX_DIRECTORY_BYTES:
            raise Invalid("too-many-files", "The zip of code lists more files than anybody can read.")
        members_of(directory)
        return "zip"
    try:
        notebook = json.loads(file.read(MAX_CODE_BYTES + 1))
    except (ValueError, RecursionError):
        notebook = None
    if isinstance(notebook, dict) and isinstance(notebook.get("cells"), list) and "nbformat" in notebook:
        return "notebook"
    raise Invalid("not-code", "The code is neither a zip nor a notebook (.ipynb, nbformat 4).")


def require_code_change(session: Session, submission_id: str, account: Account, now: datetime) -> Submission:
    """The submission, if this person may attach or replace its code now: their own team's, until the close or until
    the time by which organizers ask for it (a late entry's at any time). ``NotFound``, ``Forbidden`` or ``Conflict``
    otherwise."""
    submission = find_submission(session, submission_id, account)
    if not is_own(session, submission, account):
        raise Forbidden("not-yours", "Only the team of an entry attaches code to it.")
    state = state_of(session, submission.competition.slug, now)
    if not takes_code(session, state, submission, now):
        raise Conflict("closed", "The competition has closed; the code of its entries can no longer be changed.")
    return submission


def takes_code(session: Session, state: CompetitionState, submission: Submission, now: datetime) -> bool:
    """Whether the code of an entry may be attached or replaced now."""
    return state.phase is Phase.OPEN or submission.late or code_requests.is_wanted(session, submission, now)


def attach_code(
    session: Session, submission_id: str, received: ReceivedBlob, kind: CodeKind, *, account: Account, now: datetime
) -> tuple[CodeAttachment, CodeAttachment | None]:
    """Attach received code to an entry. Returns it, and the attachment that it replaces, whose blob may be deleted."""
    submission = require_code_change(session, submission_id, account, now)
    submissions.lock_submission(session, submission.ref)
    replaced = code_attachments.newest_code(session, submission.ref)
    attached = CodeAttachment(
        submission_ref=submission.ref,
        kind=kind,
        bytes=received.bytes,
        sha256=received.sha256,
        blob_key=received.key,
        author_id=account.id,
        created_at=now,
    )
    session.add(attached)
    session.flush()
    return attached, replaced


def find_code(session: Session, submission_id: str, account: Account) -> tuple[Submission, CodeAttachment]:
    """The code of an entry, for organizers and for reviewers.

    ``Forbidden`` for the entry's own team, ``NotFound`` for everybody else and where no code is attached.
    """
    submission = submissions.submission_by_id(session, submission_id)
    if submission is None or not (
        is_reviewer(account, submission.competition_id) or is_own(session, submission, account)
    ):
        raise unknown_submission(submission_id)
    if not is_reviewer(account, submission.competition_id):
        raise Forbidden("wrong-role", "Attached code is read by reviewers and organizers alone.")
    code = code_attachments.newest_code(session, submission.ref)
    if code is None:
        raise NotFound("no-code", "No code is attached to this entry.")
    return submission, code


def newest_code_of(session: Session, submission: Submission) -> CodeAttachment | None:
    """The code attached to a submission last, or None."""
    return code_attachments.newest_code(session, submission.ref)
