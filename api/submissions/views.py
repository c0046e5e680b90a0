"""Schemas of submissions and their measurements, and how responses are made."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, Field
from sqlalchemy.orm import Session

from api.http.views import Page, RecordView, Request, ShownNumberView, shown_numbers
from scorer.accounts.roles import is_organizer
from scorer.db.jobs import job_queue
from scorer.db.submissions.submissions import SubmissionDetails, details_by_ref
from scorer.db.tables import Account, CodeAttachment, Submission
from scorer.evidence import code_uploads
from scorer.leaderboard import submission_scores
from scorer.lifecycle import PENDING, Status, TrackKind
from scorer.submissions.progress import JobProgress, job_progress_of


class NewCodeRequest(Request):
    """A request for the code of an entry."""

    until: AwareDatetime = Field(
        description="The team may attach it until then, even after the close. At most 365 days from now."
    )
    text: str = Field("", max_length=code_uploads.MAX_TEXT_LENGTH)


class CodeRequestView(RecordView):
    """A request for the code of an entry."""

    until: datetime
    text: str
    created_at: datetime


class CodeView(RecordView):
    """The code attached to a submission, which reviewers and organizers can download."""

    kind: Literal["zip", "notebook"]
    bytes: int
    sha256: str
    attached_by: str
    created_at: datetime


class ClosestPairView(BaseModel):
    """An image of an entry and the reference image nearest to it."""

    image: int = Field(description="Its place among the zip's images, from 0.")
    reference: int = Field(description="The place of the nearest one among the reference images, from 0.")
    reference_name: str = Field(description="The first letters of the reference zip's hash, and the name in it.")
    distance: float = Field(description="The cosine distance of their features.")


class MeasurementView(RecordView):
    """A measurement, judged with the newest threshold. ``mifid`` is null for a copy."""

    track: TrackKind
    fid: float
    memorization_distance: float
    distance_se: float | None
    tau: float | None
    penalised: bool | None
    copy_: bool = Field(serialization_alias="copy")
    disqualified: bool = Field(description="Disqualified by a ruling: it is not ranked.")
    mifid: float | None
    rank: int | None = Field(description="The team's rank, if this entry is its best one.")
    would_be_rank: int | None = Field(description="The rank of the team if this entry were its best one.")
    explanation: str = Field(description="Whether and why it is penalised, in a sentence.")
    histogram: dict[str, Any]
    measured_at: datetime
    closest_pairs: list[ClosestPairView] | None = Field(None, description="Organizers only.")
    provenance: dict[str, Any] | None = Field(None, description="Organizers only.")


class SubmissionView(RecordView):
    """A submission as its team sees it. The status ``scored`` refers to the public track."""

    id: str
    ref: int
    competition: str
    team: str
    submitted_by: str
    file_name: str
    bytes: int
    sha256: str | None = Field(description="Of the zip; null for an imported entry, which has none.")
    imported: bool = Field(description="From a table of results: it has measurements but no images.")
    zip_removed_at: datetime | None = Field(
        None, description="When its zip left the store, long after the final publication: its images are gone."
    )
    note: str
    status: Status
    reason: str | None
    faults: list[str] | None
    ignored: str | None = Field(
        None, description="Files in the zip that are not part of the entry, such as those of operating systems."
    )
    stage: str | None
    fraction: float | None
    queue_position: int | None
    paused: bool = Field(description="It waits because an admin has paused the scoring; it keeps its place.")
    accepted_at: datetime
    finished_at: datetime | None
    late: bool = Field(description="Begun after the close: it is on the board of late entries alone.")
    sprite: str | None = Field(description="Address of a PNG with small versions of some of its images.")
    code: CodeView | None
    code_wanted_until: datetime | None = Field(description="Until when organizers ask for the code; null if not.")
    code_request: str = Field(description="What they have written with it.")
    measurements: list[MeasurementView]
    shown: list[ShownNumberView] = Field(
        description="Its numbers on the shown tracks that you may see, where they have been measured."
    )
    private_state: str | None = Field(None, description="Organizers only: waiting, running, done or failed.")


class AcceptedView(BaseModel):
    """A submission that was accepted just now."""

    id: str
    status: Status
    queue_position: int | None = Field(description="1: it is checked next. Null if it no longer waits.")


class SubmissionPage(Page):
    submissions: list[SubmissionView]


class StateView(RecordView):
    """The status and progress of a submission. The status ``scored`` refers to the public track; a stream ends with
    it."""

    status: Status
    at: datetime = Field(description="When it reached this status.")
    reason: str | None = Field(description="Why, where there is something to say.")
    stage: str | None
    stage_in_words: str | None
    fraction: float | None = Field(description="Of the stage, from 0 to 1.")
    queue_position: int | None
    paused: bool = Field(description="It waits because an admin has paused the scoring; it keeps its place.")
    estimate_seconds: int | None = Field(
        description="Until the public score is there, as the queue is now; null if nothing like it was scored yet."
    )
    cancellable: bool = Field(description="Whether its team can still cancel it.")
    over: bool = Field(description="Whether this is its last status; the stream ends.")


def accepted_view(session: Session, submission: Submission) -> AcceptedView:
    """The answer to an upload."""
    position = job_queue.position_of_entry(session, submission.ref)
    return AcceptedView(id=submission.id, status=Status(submission.status), queue_position=position)


def submission_view(
    session: Session, submission: Submission, account: Account, *, ranked: bool = True, for_review: bool = False
) -> SubmissionView:
    """The submission with its progress and measurements. ``ranked``: with ranks, which lists leave out;
    ``for_review``: with private scores."""
    (view,) = submission_views(session, [submission], account, ranked=ranked, for_review=for_review)
    return view


def submission_views(
    session: Session,
    submissions: Sequence[Submission],
    account: Account,
    *,
    ranked: bool = False,
    for_review: bool = False,
) -> list[SubmissionView]:
    """:func:`submission_view` of submissions of one competition. Without ranks, the number of queries does not grow
    with that of the submissions."""
    if not submissions:
        return []
    refs = [submission.ref for submission in submissions]
    organizer = is_organizer(account, submissions[0].competition_id)
    progress = job_progress_of(session, [each.ref for each in submissions if organizer or each.status in PENDING])
    details = details_by_ref(session, refs)
    judged = submission_scores.measurements_by_ref(session, submissions, account, ranked=ranked, for_review=for_review)
    shown = shown_numbers(session, submissions, account, for_review=for_review)
    return [
        SubmissionView.of(
            submission,
            **_progress_fields(progress.get(submission.ref, JobProgress()), organizer=organizer)
            | _code_fields(details[submission.ref])
            | {
                "competition": submission.competition.slug,
                "team": details[submission.ref].team.name,
                "submitted_by": submission.account.handle,
                "sprite": f"/api/v1/submissions/{submission.id}/sprite" if submission.sprite_key else None,
                "measurements": [_measurement(each, organizer=organizer) for each in judged[submission.ref]],
                "shown": shown[submission.ref],
            },
        )
        for submission in submissions
    ]


def _progress_fields(progress: JobProgress, *, organizer: bool) -> dict[str, Any]:
    return asdict(progress) if organizer else {**asdict(progress), "private_state": None}


def _code_fields(details: SubmissionDetails) -> dict[str, Any]:
    request, code = details.code_request, details.code
    return {
        "code_wanted_until": request.until if request else None,
        "code_request": request.text if request else "",
        "code": code_view(code) if code else None,
    }


def code_view(code: CodeAttachment) -> CodeView:
    """Attached code as its team sees it: kind, size and hash."""
    return CodeView.of(code, attached_by=code.author.handle)


def _measurement(judged: submission_scores.JudgedMeasurement, *, organizer: bool) -> MeasurementView:
    return MeasurementView.of(
        judged,
        fid=judged.measurement.fid,
        memorization_distance=judged.measurement.memorization_distance,
        distance_se=judged.measurement.distance_se,
        copy_=judged.copy,
        histogram=judged.measurement.histogram,
        measured_at=judged.measurement.created_at,
        closest_pairs=judged.measurement.closest_pairs if organizer else None,
        provenance=judged.measurement.provenance if organizer else None,
    )
