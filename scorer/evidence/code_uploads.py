"""The code of an entry, for reviewers: its team attaches a zip or a notebook and may replace it until the deadline.

Organizers can request code later, which allows the team to attach it until a deadline.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import BinaryIO, Literal

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.acting import Acting
from scorer.archive.limited_listing import require_files
from scorer.blobs import ReceivedBlob
from scorer.competitions import appeal_windows
from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.confinement.limited_call import NOTEBOOK, call_limited
from scorer.db.newest_rows import newest_row
from scorer.db.submissions import submissions
from scorer.db.tables import CodeAttachment, CodeRequest, Submission
from scorer.db.teams import merges
from scorer.errors import Conflict, Forbidden, Invalid, NotFound
from scorer.evidence.notebooks import is_notebook
from scorer.lifecycle import Phase
from scorer.notifications import notices
from scorer.notifications.notices import Kind, NoticeText
from scorer.submissions.access import find_submission, find_with_rulings, is_own
from scorer.teams import storage, teams
from scorer.teams.storage import UploadLimits

MAX_TEXT_LENGTH = 5000
MAX_TIME = timedelta(days=365)


def request_code(acting: Acting, submission_id: str, *, until: datetime, text: str) -> CodeRequest:
    """Ask an entry's team for its code, and notify it. A later request replaces an earlier one and its deadline.
    ``Invalid`` for a deadline that has passed or is more than a year away."""
    submission = submissions.submission_by_id(acting.session, submission_id)
    if submission is None:
        raise NotFound("no-submission", f"There is no submission {submission_id!r}.")
    if submission.team.benchmark or submission.imported:
        raise Conflict("no-code-here", "Benchmark entries and imported entries have no code.")
    if not acting.now < until <= acting.now + MAX_TIME:
        raise Invalid(
            "bad-deadline", f"The deadline is {until:%Y-%m-%d %H:%M} UTC. Choose a time within the next 365 days."
        )
    request = CodeRequest(submission_ref=submission.ref, until=until, text=text.strip())
    acting.add(request)
    after = {"until": until.isoformat(), "text": request.text}
    audit_log.record_action(acting, "code.requested", f"submission:{submission.id}", after=after)
    subject = f"{submission.competition.title}: code requested for {submission.file_name}"
    body = (
        f"The organizers request the code of entry {submission.ref} ({submission.file_name}) by "
        f"{until:%Y-%m-%d %H:%M} UTC. Attach it on the entry's page. {request.text}"
    )
    team = merges.current_team(acting.session, submission.team_id)
    notice = NoticeText(Kind.MESSAGE, subject, body.strip(), f"/submissions/{submission.id}#code")
    notices.notify(acting.session, notice, acting.now, teams=[team.id])
    return request


def is_wanted(session: Session, submission: Submission, now: datetime) -> bool:
    request = newest_row(session, CodeRequest, submission_ref=submission.ref)
    return request is not None and now < request.until


MAX_CODE_BYTES = 20 * 1024**2
MAX_FILES, MAX_DIRECTORY_BYTES = 10_000, 1 << 20
"""The limits on the directory of a zip of code."""
CodeKind = Literal["zip", "notebook"]
SUFFIXES: Mapping[str, str] = {"zip": ".zip", "notebook": ".ipynb"}


def detect_kind(file: BinaryIO, *, limited: bool) -> CodeKind:
    """The kind of file according to its content, regardless of its name. ``Invalid`` if it is neither a zip nor a
    notebook.

    ``limited``: a limited process reads the file. ``Invalid`` also if that process cannot read it.
    """
    start = file.read(2)
    file.seek(0)
    if start == b"PK":
        require_files(file, MAX_FILES, MAX_DIRECTORY_BYTES, limited=limited)
        return "zip"

    def read() -> list[bytes]:
        return [file.read(MAX_CODE_BYTES + 1)]

    if not (call_limited(is_notebook, read, purpose=NOTEBOOK) if limited else is_notebook(read())):
        raise Invalid(
            "not-code", "The code is neither a zip nor a notebook. Upload a .zip, or an .ipynb with nbformat 4."
        )
    return "notebook"


def require_code_change(acting: Acting, submission_id: str) -> Submission:
    """The submission, if this person may attach or replace its code now. ``NotFound``, ``Forbidden`` or ``Conflict`` if
    not.

    It must belong to their own team. They may attach code until the deadline, until the end of an organizer's request
    for it, or while the team can appeal. Late entries take code at any time.
    """
    submission = find_submission(acting.session, submission_id, acting.actor)
    if not is_own(acting.session, submission, acting.actor):
        raise Forbidden("not-yours", "Only the entry's team can attach code to it.")
    state = load_state(acting.session, submission.competition.slug, acting.now)
    if not takes_code(acting.session, state, submission, now=acting.now):
        raise Conflict("closed", "The deadline has passed, so the code of this entry can no longer be changed.")
    return submission


def takes_code(session: Session, state: CompetitionState, submission: Submission, *, now: datetime) -> bool:
    if state.phase is Phase.OPEN or submission.late or is_wanted(session, submission, now):
        return True
    return appeal_windows.takes_appeals(session, state, submission, now=now)


def require_room_for_code(acting: Acting, submission: Submission, limits: UploadLimits, *, wanted: int) -> None:
    """``Conflict`` if code of ``wanted`` bytes, in place of the entry's current code, exceeds a storage quota."""
    replaced = newest_row(acting.session, CodeAttachment, submission_ref=submission.ref)
    more = wanted - (replaced.bytes if replaced is not None else 0)
    if more > 0:
        storage.require_room(acting, submission.competition, limits, wanted=more, benchmark=False)


def attach_code(
    acting: Acting, submission_id: str, received: ReceivedBlob, *, kind: CodeKind, limits: UploadLimits
) -> tuple[CodeAttachment, CodeAttachment | None]:
    """Attach received code to an entry. Returns the attachment, and the replaced one, so that its blob can be deleted.
    ``Conflict`` if it exceeds a storage quota."""
    submission = require_code_change(acting, submission_id)
    teams.find_or_create_team(
        acting, submission.competition_id
    )  # also locks the team, so that concurrent uploads are counted one after another
    submissions.lock_submission(acting.session, submission.ref)
    require_room_for_code(acting, submission, limits, wanted=received.bytes)
    replaced = newest_row(acting.session, CodeAttachment, submission_ref=submission.ref)
    attached = CodeAttachment(
        submission_ref=submission.ref, kind=kind, bytes=received.bytes, sha256=received.sha256, blob_key=received.key
    )
    acting.add(attached)
    return attached, replaced


def load_code_for_download(acting: Acting, submission_id: str) -> tuple[Submission, CodeAttachment]:
    """The code of an entry, for organizers and reviewers. Records the download in the audit log.

    ``Forbidden`` for the entry's own team. ``NotFound`` for everybody else, and if no code is attached.
    """
    submission, reviews = find_with_rulings(acting.session, submission_id, acting.actor)
    if not reviews:
        raise Forbidden("wrong-role", "Only reviewers and organizers can download attached code.")
    code = newest_row(acting.session, CodeAttachment, submission_ref=submission.ref)
    if code is None:
        raise NotFound("no-code", "No code is attached to this entry.")
    subject, after = f"submission:{submission.id}", {"sha256": code.sha256}
    audit_log.record_action(acting, "code.downloaded", subject, after=after)
    return submission, code
