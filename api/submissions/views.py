"""Schemas of submissions and their measurements."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, Field
from sqlalchemy.orm import Session

from api.http.views import Page, RecordView, Request, ShownNumberView, shown_numbers
from scorer.accounts.roles import is_organizer
from scorer.db import competitions
from scorer.db.jobs import job_queue
from scorer.db.submissions.draws import load_generators
from scorer.db.submissions.submissions import SubmissionDetails, details_by_ref
from scorer.db.tables import Account, CodeAttachment, Submission
from scorer.evidence import code_uploads
from scorer.generators.onnx_files import Distribution
from scorer.leaderboard import submission_scores
from scorer.lifecycle import PENDING, Status, TrackKind
from scorer.submissions import files
from scorer.submissions.progress import JobProgress, load_job_progress


class NewCodeRequest(Request):
    """A request for the code of a submission."""

    until: AwareDatetime = Field(
        description=(
            "The deadline, at most 365 days ahead. The team can attach the code until then, even after the "
            "competition's deadline."
        )
    )
    text: str = Field("", max_length=code_uploads.MAX_TEXT_LENGTH)


class CodeRequestView(RecordView):
    """A request for the code of a submission."""

    until: datetime
    text: str
    created_at: datetime


class CodeView(RecordView):
    """The code of a submission, which reviewers and organizers can download."""

    kind: Literal["zip", "notebook"]
    bytes: int
    sha256: str
    attached_by: str
    created_at: datetime


class ClosestPairView(BaseModel):
    """An image of a submission and its nearest reference image."""

    image: int = Field(description="The index of the image in the zip, from 0.")
    reference: int = Field(description="The index of the nearest reference image, from 0.")
    reference_name: str = Field(
        description="The first characters of the reference zip's hash, and the name in the zip."
    )
    distance: float = Field(description="The cosine distance of their features.")


class DrawView(BaseModel):
    """The numbers of one draw."""

    fid: float
    memorization_distance: float


class MeasurementView(RecordView):
    """A measurement with the penalty from the current threshold. `mifid` is null for a copy."""

    track: TrackKind
    fid: float = Field(description="The mean over draws, like `memorization_distance`.")
    fid_spread: float | None = Field(
        description="The standard deviation of `fid` over draws; null for a single draw, and for a zip."
    )
    draws: list[DrawView] | None = Field(description="The numbers of each draw; null for a zip.")
    memorization_distance: float
    distance_se: float | None
    tau: float | None
    penalised: bool | None
    copy_: bool = Field(serialization_alias="copy")
    disqualified: bool = Field(description="Whether a ruling disqualified the submission, so that it is not ranked.")
    mifid: float | None
    rank: int | None = Field(description="The team's rank; null unless this is its best submission.")
    would_be_rank: int | None = Field(description="The rank that the team would have if this were its best submission.")
    explanation: str = Field(description="A sentence about whether and why the submission is penalised.")
    histogram: dict[str, Any]
    measured_at: datetime
    closest_pairs: list[ClosestPairView] | None = Field(None, description="For organizers only.")
    provenance: dict[str, Any] | None = Field(None, description="For organizers only.")


class CheckedGeneratorView(RecordView):
    """A generator that has passed its check."""

    dimension: int = Field(description="The latent dimension, without the one-hot class.")
    distribution: Distribution
    classes: int | None
    network_sha256: str = Field(description="Equal for files that differ only in names, metadata and padding.")
    seconds: float = Field(description="The predicted time of all draws.")
    same_as: str | None = Field(description="The ID of your first submission with nearly the same images.")
    public_draws: int = Field(description="Public draws of all your submissions that are nearly the same generator.")
    private_fault: str | None = Field(
        description="The fault of a private draw. For organizers, and for you once a board is published."
    )


class SubmissionView(RecordView):
    """A submission. The status `scored` refers to the public track."""

    id: str
    ref: int
    competition: str
    team: str
    submitted_by: str
    file_name: str
    bytes: int
    sha256: str | None = Field(description="The SHA-256 of the file; null for an imported submission, which has none.")
    imported: bool = Field(
        description="Whether the submission comes from a table of results, with measurements but without images."
    )
    zip_removed_at: datetime | None = Field(
        None,
        description="When the file was deleted, long after the final publication. Its images are no longer available.",
    )
    note: str
    status: Status
    reason: str | None
    faults: list[str] | None
    ignored: str | None = Field(
        None, description="Files in the zip that are not part of the submission, such as those of operating systems."
    )
    stage: str | None
    fraction: float | None
    queue_position: int | None
    paused: bool = Field(
        description="Whether it waits because an admin paused scoring. It keeps its position in the queue."
    )
    accepted_at: datetime
    finished_at: datetime | None
    late: bool = Field(
        description="Whether it was submitted after the deadline. Late submissions have a separate board."
    )
    generator: CheckedGeneratorView | None = Field(description="Null for images, and until the check has passed.")
    sprite: str | None = Field(description="The address of a PNG with small versions of some of its images.")
    code: CodeView | None
    code_wanted_until: datetime | None = Field(
        description="The deadline of the organizers' code request; null without a request."
    )
    code_request: str = Field(description="The text of the code request.")
    measurements: list[MeasurementView]
    shown: list[ShownNumberView] = Field(description="Its measured values on the shown tracks that you can see.")
    private_state: str | None = Field(None, description="For organizers only: waiting, running, done or failed.")


class AcceptedView(BaseModel):
    """A new submission."""

    id: str
    status: Status
    queue_position: int | None = Field(
        description="The position in the queue: 1 is next. Null once it has left the queue."
    )


class SubmissionPage(Page):
    submissions: list[SubmissionView]


class StateView(RecordView):
    """The status and progress of a submission. The status `scored` refers to the public track and ends the stream."""

    status: Status
    at: datetime = Field(description="The time of this status.")
    reason: str | None = Field(description="The reason, if there is one.")
    stage: str | None
    stage_in_words: str | None
    fraction: float | None = Field(description="The progress of the stage, from 0 to 1.")
    queue_position: int | None
    paused: bool = Field(
        description="Whether it waits because an admin paused scoring. It keeps its position in the queue."
    )
    estimate_seconds: int | None = Field(
        description="The expected time to the public score with the current queue; null without similar scored "
        "submissions."
    )
    cancellable: bool = Field(description="Whether its team can still cancel it.")
    over: bool = Field(description="Whether this is the last status, which ends the stream.")


def accepted_view(session: Session, submission: Submission) -> AcceptedView:
    position = job_queue.load_entry_position(session, submission.ref)
    return AcceptedView(id=submission.id, status=Status(submission.status), queue_position=position)


def submission_view(
    session: Session, submission: Submission, account: Account, *, ranked: bool = True, for_review: bool = False
) -> SubmissionView:
    """A submission with its progress and measurements. ``ranked`` adds ranks, which lists leave out; ``for_review``
    adds private scores."""
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
    """:func:`submission_view` for submissions of one competition. Without ranks, the number of queries is constant."""
    if not submissions:
        return []
    refs = [submission.ref for submission in submissions]
    organizer = is_organizer(account, submissions[0].competition_id)
    progress = load_job_progress(
        session, [submission.ref for submission in submissions if organizer or submission.status in PENDING]
    )
    details = details_by_ref(session, refs)
    judged = submission_scores.measurements_by_ref(session, submissions, account, ranked=ranked, for_review=for_review)
    shown = shown_numbers(session, submissions, account, for_review=for_review)
    generators = _generators(session, submissions, organizer=organizer)
    return [
        SubmissionView.of(
            submission,
            **asdict(progress.get(submission.ref, JobProgress()))
            | ({} if organizer else {"private_state": None})
            | _code_fields(details[submission.ref])
            | {
                "competition": submission.competition.slug,
                "team": details[submission.ref].team.name,
                "submitted_by": submission.account.handle,
                "generator": generators.get(submission.ref),
                "sprite": f"/api/v1/submissions/{submission.id}/sprite" if files.find_sprite(submission) else None,
                "measurements": [
                    _measurement(measurement, organizer=organizer) for measurement in judged[submission.ref]
                ],
                "shown": shown[submission.ref],
            },
        )
        for submission in submissions
    ]


def _generators(
    session: Session, submissions: Sequence[Submission], *, organizer: bool
) -> dict[int, CheckedGeneratorView]:
    competition = submissions[0].competition
    if competition.entries == "images":
        return {}
    shows_private = organizer or competitions.is_published(session, competition.id)
    return {
        ref: CheckedGeneratorView.of(
            entry.checked,
            same_as=entry.same_as,
            public_draws=entry.public_draws,
            private_fault=entry.private_fault if shows_private else None,
        )
        for ref, entry in load_generators(session, [submission.ref for submission in submissions]).items()
    }


def _code_fields(details: SubmissionDetails) -> dict[str, Any]:
    request, code = details.code_request, details.code
    return {
        "code_wanted_until": request.until if request else None,
        "code_request": request.text if request else "",
        "code": code_view(code) if code else None,
    }


def code_view(code: CodeAttachment) -> CodeView:
    return CodeView.of(code, attached_by=code.author.handle)


def _measurement(judged: submission_scores.JudgedMeasurement, *, organizer: bool) -> MeasurementView:
    return MeasurementView.of(
        judged,
        fid=judged.measurement.fid,
        fid_spread=judged.measurement.fid_spread,
        draws=judged.measurement.draws,
        memorization_distance=judged.measurement.memorization_distance,
        distance_se=judged.measurement.distance_se,
        copy_=judged.copy,
        histogram=judged.measurement.histogram,
        measured_at=judged.measurement.created_at,
        closest_pairs=judged.measurement.closest_pairs if organizer else None,
        provenance=judged.measurement.provenance if organizer else None,
    )
