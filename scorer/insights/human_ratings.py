"""Human ratings: studies in which people rate images for realism and grids of images for diversity, from 1 to 5.

Studies are blind: nothing sent to a rater reveals the team of an image. They are balanced: items with the fewest
ratings come first.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts.roles import is_reviewer
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.db import human_ratings
from scorer.db.human_ratings import RatedItem
from scorer.db.jobs.job_queue import newest_job
from scorer.db.leaderboard.board_details import load_entry_names
from scorer.db.newest_rows import newest_rows, only_row
from scorer.db.submissions import submissions
from scorer.db.submissions.labels import decided_labels
from scorer.db.tables import Job, Rater, RatingItem, RatingStudy, Submission
from scorer.errors import Conflict, Invalid, NotFound
from scorer.identifiers import hash_secret
from scorer.jobs import leases
from scorer.leaderboard.rows import load_listing
from scorer.lifecycle import JobState, Queue, Status
from scorer.metrics.statistics.rater_agreement import interval_alpha

RatingKind = Literal["realism", "diversity"]
RATING_KINDS: tuple[RatingKind, RatingKind] = ("realism", "diversity")
MAX_BATCH_LENGTH = 100


class StudySpec(BaseModel):
    """The contents of a rating study, and the number of ratings."""

    model_config = ConfigDict(extra="forbid")

    teams: int = Field(
        100,
        ge=1,
        le=10_000,
        description="The number of best teams to include. Penalised submissions, and those with a label other than"
        " `legitimate`, are left out.",
    )
    submissions: list[Annotated[str, Field(max_length=100)]] | None = Field(
        None, max_length=10_000, description="The IDs of the submissions to rate instead of the best teams'."
    )
    images: int = Field(100, ge=0, le=10_000, description="The number of images per submission to rate for realism.")
    grids: int = Field(10, ge=0, le=1_000, description="The number of grids per submission to rate for diversity.")
    side: int = Field(5, ge=2, le=10, description="The number of images along each side of a grid.")
    wanted: int = Field(5, ge=1, le=1_000, description="The number of ratings that each image and each grid needs.")


@dataclass(frozen=True)
class StudyStatus:
    """A study, the job that prepares its images, and the numbers of items and ratings."""

    study: RatingStudy
    job: Job | None
    totals: Mapping[str, tuple[int, int]]
    """(items, ratings) by kind."""

    @property
    def state(self) -> JobState | Literal["open", "ended"]:
        """``waiting``, ``running`` or ``failed`` until the images are ready, then ``open``, finally ``ended``."""
        if self.study.ended_at is not None:
            return "ended"
        if self.study.packed_at is not None:
            return "open"
        return JobState(self.job.state) if self.job else JobState.FAILED

    def wanted(self, kind: str) -> int:
        return self.totals.get(kind, (0, 0))[0] * self.study.wanted


@dataclass(frozen=True)
class MeanRating:
    """The mean rating of a submission, from 1 to 5. It is the mean of its items' mean ratings."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    submission_id: str
    team: str
    kind: RatingKind
    mean: float
    standard_error: float | None
    """The standard error of the mean, over the rated items."""
    items: int
    ratings: int


def start_study(acting: Acting, state: CompetitionState, spec: StudySpec, *, seed: int) -> RatingStudy:
    """Start a study: choose its submissions and queue the preparation of their images. ``Invalid`` for more images than
    a submission has, ``Conflict`` if no submission qualifies."""
    count = state.competition.image_count
    if spec.images + spec.grids == 0:
        raise Invalid("nothing-to-rate", "The study has neither images nor grids. Add at least one.")
    if max(spec.images, spec.side**2 if spec.grids else 0) > count:
        raise Invalid("too-many-images", f"An entry has only {count:,} images. Choose fewer images or smaller grids.")
    refs = (
        _chosen(acting.session, state, spec.submissions)
        if spec.submissions
        else _best(acting.session, state, spec.teams)
    )
    if not refs:
        raise Conflict(
            "nobody-to-rate",
            "No entry on the private board qualifies. Each is penalised or has a label other than legitimate.",
        )
    study = RatingStudy(
        competition_id=state.competition.id,
        submission_refs=refs,
        seed=seed,
        **spec.model_dump(include={"images", "grids", "side", "wanted"}),
    )
    acting.add(study)
    leases.add_job(acting.session, Queue.RATINGS, study_id=study.id, now=acting.now)
    after = spec.model_dump(exclude={"submissions"}) | {"entries": len(refs)}
    audit_log.record_action(acting, "study.started", _subject(study), after=after)
    return study


def _subject(study: RatingStudy) -> str:
    return f"study:{study.competition.slug}/{study.id}"


def _best(session: Session, state: CompetitionState, limit: int) -> list[int]:
    """The refs of the best ``limit`` submissions on the private board, without penalised ones and those with a decided
    label other than legitimate."""
    labels = decided_labels(session, state.competition.id)
    rows = load_listing(session, state, "private").page(0, None)
    refs = [row.ref for row in rows if not row.penalised and labels.get(row.ref, "legitimate") == "legitimate"]
    return refs[:limit]


def _chosen(session: Session, state: CompetitionState, submission_ids: Sequence[str]) -> list[int]:
    wanted = list(dict.fromkeys(submission_ids))
    entries = [submissions.submission_by_id(session, submission_id) for submission_id in wanted]
    wrong_ids = [id_ for id_, entry in zip(wanted, entries, strict=True) if not _is_ratable(state, entry)]
    if wrong_ids:
        faults = [f"{id_} is not a scored entry of this competition" for id_ in wrong_ids]
        raise Invalid("not-ratable", "Only scored entries of this competition can be rated.", faults=faults)
    return [entry.ref for entry in entries if entry is not None]


def _is_ratable(state: CompetitionState, entry: Submission | None) -> bool:
    return entry is not None and entry.competition_id == state.competition.id and entry.status == Status.SCORED


def record_items(session: Session, claim: leases.Claim, items: Sequence[Mapping[str, Any]], *, now: datetime) -> bool:
    """Record the items that a worker has prepared, in the given (random) order. False if the claim no longer holds the
    job."""
    if not leases.finish_job(session, claim, now):
        return False
    study = session.get_one(RatingStudy, claim.job.study_id)
    human_ratings.add_items(session, [{**item, "study_id": study.id} for item in items])
    study.packed_at = now
    return True


def list_studies(session: Session, state: CompetitionState) -> list[StudyStatus]:
    studies = newest_rows(session, RatingStudy, competition_id=state.competition.id)
    return [study_status(session, study) for study in studies]


def study_status(session: Session, study: RatingStudy) -> StudyStatus:
    job = newest_job(session, study_id=study.id)
    session.refresh(study)
    totals = {row.kind: (row.items, row.ratings) for row in human_ratings.totals(session, study.id)}
    return StudyStatus(study, job, totals)


def find_study(acting: Acting, slug: str, study_id: int) -> RatingStudy:
    """A study of a competition. ``NotFound`` if the competition has none with this id."""
    competition = load_state(acting.session, slug, acting.now).competition
    study = acting.session.get(RatingStudy, study_id)
    if study is None or study.competition_id != competition.id:
        raise NotFound("no-study", f"There is no rating study {study_id} in {slug}.")
    return study


def end(acting: Acting, study: RatingStudy) -> None:
    """End a study, so that it takes no more ratings. ``Conflict`` if it has already ended."""
    human_ratings.lock_study(acting.session, study.id)
    acting.session.refresh(study)
    if study.ended_at is not None:
        raise Conflict("no-change", "This study has already ended.")
    study.ended_at = acting.now
    audit_log.record_action(acting, "study.ended", _subject(study))


def invite_rater(acting: Acting, study: RatingStudy, name: str, *, secret: str) -> Rater:
    """Invite a rater with the link ``secret`` (random, made by the caller), under a name that organizers see."""
    name = name.strip()
    if not name:
        raise Invalid("no-name", "Enter a name for the rater.")
    rater = Rater(study_id=study.id, digest=hash_secret(secret), name=name, created_at=acting.now)
    acting.session.add(rater)
    acting.session.flush()
    after = {"rater": rater.id, "name": name}
    audit_log.record_action(acting, "rater.invited", _subject(study), after=after)
    return rater


def dismiss(acting: Acting, study: RatingStudy, rater_id: int) -> None:
    """Dismiss a rater, who can then no longer rate. Earlier ratings stay. ``NotFound`` if there is no such active
    rater."""
    rater = acting.session.get(Rater, rater_id)
    if rater is None or rater.study_id != study.id or rater.ended_at is not None:
        raise NotFound("no-rater", f"There is no rater {rater_id} in this study.")
    rater.ended_at = acting.now
    after = {"rater": rater.id, "name": rater.name}
    audit_log.record_action(acting, "rater.dismissed", _subject(study), before=after)


def find_member_rater(acting: Acting, study_id: int) -> Rater:
    """The rater of an account that organizes or reviews the competition. ``NotFound`` for others."""
    study = acting.session.get(RatingStudy, study_id)
    if study is None or not is_reviewer(acting.actor, study.competition_id):
        raise NotFound("no-study", "There is no such rating study, or you are not among its raters.")
    return _require_open(
        human_ratings.find_member_rater(
            acting.session, study.id, acting.actor.id, name=acting.actor.handle, now=acting.now
        )
    )


def find_rater_by_secret(session: Session, secret: str) -> Rater:
    """The rater invited with the link ``secret``. ``NotFound`` for an unknown link."""
    rater = only_row(session, Rater, digest=hash_secret(secret))
    if rater is None:
        raise NotFound("no-link", "This link does not work. Ask the organizers for a new one.")
    return _require_open(rater)


def _require_open(rater: Rater) -> Rater:
    if rater.ended_at is not None or rater.study.ended_at is not None:
        raise Conflict("ended", "This study no longer accepts ratings from you. Thank you for your ratings.")
    if rater.study.packed_at is None:
        raise Conflict("not-ready", "The images are still being prepared. Try again in a few minutes.")
    return rater


def next_items(
    session: Session, rater: Rater, kind: RatingKind, *, limit: int, exclude: Collection[int] = ()
) -> Sequence[RatingItem]:
    """The next items for a rater, without those that their client already has (``exclude``)."""
    return human_ratings.next_items(session, rater, kind, wanted=rater.study.wanted, exclude=exclude, limit=limit)


def find_item(session: Session, rater: Rater, item_id: int) -> RatingItem:
    """An item of the rater's study. ``NotFound`` if the study has none with this id."""
    item = only_row(session, RatingItem, id=item_id, study_id=rater.study_id)
    if item is None:
        raise NotFound("no-item", f"This study has no item {item_id}.")
    return item


def rate(session: Session, rater: Rater, values: Mapping[int, int], *, now: datetime) -> int:
    """Record a rater's values by item id. Returns the number of new ratings. Earlier ratings of the same items stay, so
    the request is idempotent. ``Invalid`` for a value outside 1 to 5 or an item of another study."""
    if not values:
        return 0
    if not all(1 <= value <= 5 for value in values.values()):
        raise Invalid("bad-rating", "Every rating must be a number from 1 to 5.")
    if human_ratings.known_items(session, rater.study_id, values.keys()) != set(values):
        raise Invalid("no-item", "Some of these items are not in this study.")
    return human_ratings.add_ratings(session, rater.id, values, now=now)


def mean_ratings(session: Session, study: RatingStudy) -> tuple[list[MeanRating], dict[RatingKind, float | None]]:
    """Mean ratings of each submission, best first, and the raters' agreement by kind (Krippendorff's alpha)."""
    rows = human_ratings.rating_sums(session, study.id)
    entries = load_entry_names(session, study.submission_refs)
    grouped: dict[tuple[RatingKind, int], list[RatedItem]] = {}
    for row in rows:
        grouped.setdefault((row.kind, row.submission_ref), []).append(row)
    means = [_mean(*entries[ref], kind=kind, rows=of_entry) for (kind, ref), of_entry in grouped.items()]
    agreement = {kind: _agreement([row for row in rows if row.kind == kind]) for kind in RATING_KINDS}
    return sorted(means, key=lambda rating: (RATING_KINDS.index(rating.kind), -rating.mean, rating.team)), agreement


def _agreement(rows: Sequence[RatedItem]) -> float | None:
    return interval_alpha(
        [row.given for row in rows], [int(row.total) for row in rows], [int(row.squares) for row in rows]
    )


def _mean(submission_id: str, team: str, *, kind: RatingKind, rows: Sequence[RatedItem]) -> MeanRating:
    values = np.array([int(row.total) / row.given for row in rows])
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    ratings = sum(row.given for row in rows)
    return MeanRating(submission_id, team, kind, float(values.mean()), error, len(rows), ratings)
