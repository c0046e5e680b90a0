"""Uploads under way, as whoever began them finds them again after a reload, and their notes."""

from datetime import datetime

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.submissions import uploads as rows
from scorer.db.tables import Account, Upload
from scorer.errors import Conflict
from scorer.submissions import intake
from scorer.submissions.intake import NewSubmission
from scorer.submissions.uploads import has_expired


def list_open_uploads(session: Session, state: CompetitionState, account: Account, *, now: datetime) -> list[Upload]:
    """The account's uploads in a competition that may still become submissions, the longest idle first: those that were
    begun in time, until the grace period ends."""
    uploads = rows.open_uploads(session, state.competition.id, account.id)
    return [each for each in uploads if not has_expired(each, now) and _may_finish(state, each, now)]


def _may_finish(state: CompetitionState, upload: Upload, now: datetime) -> bool:
    entry = NewSubmission(upload.file_name, benchmark=upload.benchmark)
    return intake.is_taken(state, entry, begun=upload.begun_at, now=upload.completed_at or now)


def change_note(session: Session, upload: Upload, note: str) -> None:
    """Replace an upload's note, whose bytes go on as they were; ``Conflict`` once all of them are there."""
    if not rows.change_note(session, upload.id, note):
        raise Conflict("upload-closed", "This upload is complete already.")
