"""Publication of the final board: the checklist before it, publishing, and withdrawing."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.competitions.competition_state import CompetitionState
from scorer.db import competitions, tuning
from scorer.db.leaderboard.scores import Score
from scorer.db.review import publication
from scorer.db.review.publication import OpenEntry
from scorer.db.tables import Account, Competition, Publication
from scorer.errors import Conflict
from scorer.leaderboard.rows import BoardRow, BoardRows, rows_of
from scorer.lifecycle import Phase
from scorer.notifications import notices
from scorer.review import failed_scores

MAX_CONCERNS = 10
"""Submissions of an open point that are listed."""


@dataclass(frozen=True)
class Concern:
    """One submission behind an open point, with a sentence about it."""

    submission_id: str
    team: str
    words: str


@dataclass(frozen=True)
class ChecklistPoint:
    """One condition of the checklist. ``count`` is the number of open cases."""

    name: str
    title: str
    count: int
    words: str
    link: str
    """The page on which to settle it, as a path on this site."""
    concerns: Sequence[Concern] = ()

    @property
    def passed(self) -> bool:
        """Whether no case is open."""
        return self.count == 0


def checklist(session: Session, state: CompetitionState) -> list[ChecklistPoint]:
    """All conditions that should hold before publication, open or passed."""
    board = rows_of(session, state.competition, state.tracks, "private")
    return [
        _closed(state),
        _pending(session, state),
        _private_work(session, state),
        _failed(session, state),
        _unscored(session, state),
        _thresholds(session, state),
        _reviews(session, state),
        _medals(session, state, board),
        _borderline(session, state, board),
        _rebuttals(session, state),
    ]


def _closed(state: CompetitionState) -> ChecklistPoint:
    open_ = state.phase in {Phase.DRAFT, Phase.OPEN}
    words = "Teams may still enter." if open_ else "No more entries are taken for the final board."
    return ChecklistPoint("closed", "The competition has closed", int(open_), words, _competition_path(state))


def _pending(session: Session, state: CompetitionState) -> ChecklistPoint:
    rows = publication.pending_entries(session, state.competition.id)
    words = "Entries that wait for their public score."
    return _point("public-work", "Every entry has ended", rows, words, f"{_competition_path(state)}/entries")


def _private_work(session: Session, state: CompetitionState) -> ChecklistPoint:
    rows = publication.unfinished_on(session, state.tracks["private"])
    words = "Entries whose private score is being made."
    return _point("private-work", "The private scores are made", rows, words, f"{_competition_path(state)}/entries")


def _failed(session: Session, state: CompetitionState) -> ChecklistPoint:
    rows = failed_scores.failed_private(session, state)
    concerns = [
        Concern(row.submission_id or "", row.file_name or "", _first_line(row.error)) for row in rows[:MAX_CONCERNS]
    ]
    words = "Private work that failed for good, each after several attempts. It can be tried again."
    title = "No private work has failed"
    return ChecklistPoint("failed-work", title, len(rows), words, f"{_competition_path(state)}/publication", concerns)


def _first_line(text: str | None) -> str:
    return (text or "").split("\n", 1)[0][:300]


def _unscored(session: Session, state: CompetitionState) -> ChecklistPoint:
    rows = publication.unscored_on(session, state.tracks["private"])
    words = "Entries with a public score and no private one: they cannot be on the final board."
    return _point("unscored", "Every entry has a private score", rows, words, f"{_competition_path(state)}/entries")


def _thresholds(session: Session, state: CompetitionState) -> ChecklistPoint:
    missing = [kind for kind, track in state.tracks.items() if tuning.newest_threshold(session, track.id) is None]
    words = "Entries closer to the training images pay for it."
    if missing:
        # Teams without picks are ranked by their best public submissions.
        words = f"Without it nobody has a score on the {' and the '.join(missing)} track, nor a rank by it."
    return ChecklistPoint(
        "threshold", "Both tracks have their tau", len(missing), words, f"{_competition_path(state)}/tau"
    )


def _reviews(session: Session, state: CompetitionState) -> ChecklistPoint:
    rows = publication.undecided_reviews(session, state.competition.id)
    words = "Entries that somebody has begun to review and nobody has decided."
    return _point("reviews", "Reviews that were begun are decided", rows, words, f"{_competition_path(state)}/desk")


def _medals(session: Session, state: CompetitionState, board: BoardRows) -> ChecklistPoint:
    winners = board.page(0, _last(state))
    rows = publication.undecided(session, state.tracks["private"].id, [row.ref for row in winners])
    words = f"Places down to rank {_last(state)} whose entry has neither a decided label nor a ruling."
    ranked = _ranked(rows, winners)
    return _point(
        "medals", "The medal places are reviewed", ranked, words, f"{_competition_path(state)}/desk", _at_rank
    )


def _borderline(session: Session, state: CompetitionState, board: BoardRows) -> ChecklistPoint:
    last = _last(state)
    cutoff = max((row.score for row in board.page(0, last)), default=-math.inf)
    # Without the penalty a score is the FID.
    candidates = [row for row in board.page(0, None) if (row.rank or 0) <= last or row.fid < cutoff]
    rows = publication.near_tau(session, state.tracks["private"].id, [row.ref for row in candidates])
    words = (
        f"Entries within {publication.BORDERLINE_STANDARD_ERRORS:g} standard errors of tau, in the"
        " medal places or there but for the penalty,"
        " that nobody has ruled on."
    )
    ranked = _ranked(rows, candidates)
    return _point(
        "borderline", "Nobody's medal hangs on a hair", ranked, words, f"{_competition_path(state)}/desk", _near_tau
    )


class _Ranked(NamedTuple):
    """A ranked submission behind an open point."""

    rank: int
    id: str
    team: str
    penalised: bool
    memorization_distance: float
    tau: float


def _ranked(rows: Sequence[Score], board: Sequence[BoardRow]) -> list[_Ranked]:
    """Judged submissions with their ranks, best first. Every ranked one has a tau."""
    ranks = {row.ref: row.rank or 0 for row in board}
    return sorted(
        _Ranked(ranks[row.ref], row.id, row.team, bool(row.penalised), row.memorization_distance, row.tau or 0.0)
        for row in rows
    )


def _rebuttals(session: Session, state: CompetitionState) -> ChecklistPoint:
    rows = publication.open_rebuttals(session, state.competition.id)
    words = "Teams that have appealed and wait for an answer."
    return _point("rebuttals", "Every rebuttal is answered", rows, words, f"{_competition_path(state)}/desk")


def _competition_path(state: CompetitionState) -> str:
    return f"/competitions/{state.competition.slug}"


def _last(state: CompetitionState) -> int:
    return max(state.competition.medals.values(), default=0)


def _named(row: OpenEntry) -> str:
    return str(row.file_name)


def _at_rank(row: _Ranked) -> str:
    return f"rank {row.rank}"


def _near_tau(row: _Ranked) -> str:
    side = "penalised" if row.penalised else "not penalised"
    return f"rank {row.rank}, {side}: distance {row.memorization_distance:.4f} beside tau {row.tau:.4f}"


def _point(
    name: str,
    title: str,
    rows: Sequence[OpenEntry | _Ranked],
    words: str,
    link: str,
    describe: Callable[[Any], str] = _named,
) -> ChecklistPoint:
    concerns = [Concern(row.id, row.team, describe(row)) for row in rows[:MAX_CONCERNS]]
    return ChecklistPoint(name, title, len(rows), words, link, concerns)


def publication_history(session: Session, state: CompetitionState) -> Sequence[Publication]:
    """Every publication and withdrawal of the final board, newest first."""
    return competitions.publications_of(session, state.competition.id)


def publish(
    session: Session,
    state: CompetitionState,
    *,
    published: bool,
    reason: str,
    author: Account,
    now: datetime,
    override: str | None = None,
) -> Publication:
    """Publish the final board (the private track's) or withdraw it, with author and reason.

    ``Conflict`` before the close, if nothing would change, and for open points without ``override``, the reason for
    publishing all the same, which only organizers can read, in the audit log.
    """
    competitions.lock_competition(session, state.competition.slug, share=False)
    if published and state.phase in {Phase.DRAFT, Phase.OPEN}:
        raise Conflict("not-closed", "The final board can be published once the competition has closed.")
    if published == competitions.is_published(session, state.competition.id):
        raise Conflict("no-change", f"The final board is {'already' if published else 'not'} published.")
    open_ = [point for point in checklist(session, state) if not point.passed] if published else []
    _require_override(open_, override)
    act = Publication(
        competition_id=state.competition.id,
        published=published,
        reason=reason,
        author_id=author.id,
        created_at=now,
    )
    session.add(act)
    session.flush()
    _record_audit(session, state, act, open_, override, author=author, now=now)
    _notify_published(session, state.competition, published=published, reason=reason, now=now)
    return act


def _require_override(open_: Sequence[ChecklistPoint], override: str | None) -> None:
    if open_ and not (override or "").strip():
        faults = [f"{point.title}: {point.count} open" for point in open_]
        raise Conflict(
            "open-points",
            "There are open points. Say in `override` why the board shall be published all the same.",
            faults=faults,
        )


def _record_audit(
    session: Session,
    state: CompetitionState,
    act: Publication,
    open_: Sequence[ChecklistPoint],
    override: str | None,
    *,
    author: Account,
    now: datetime,
) -> None:
    after: dict[str, Any] = {"published": act.published, "reason": act.reason}
    if open_:
        after |= {"override": override, "open": {point.name: point.count for point in open_}}
    action = "board.published" if act.published else "board.withdrawn"
    subject = f"competition:{state.competition.slug}"
    before = {"published": not act.published}
    audit_log.record_action(session, action, subject, actor=author, now=now, before=before, after=after)


def _notify_published(
    session: Session, competition: Competition, *, published: bool, reason: str, now: datetime
) -> None:
    title = competition.title
    link = f"/competitions/{competition.slug}"
    if published:
        subject = f"The final board of {title} is published"
        link = f"{link}?track=private"
        body = f"The private scores and the final ranks of {title} are there for all to see. {reason}"
    else:
        subject = f"The final board of {title} is withdrawn"
        body = f"The organizers have taken the final board of {title} back. {reason}"
    notices.notify_competition(session, competition, notices.Kind.PUBLICATION, subject, body, link, now)
