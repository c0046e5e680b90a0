"""Publishing the private board as provisional or final, and withdrawing it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState, at_moment
from scorer.db import competitions, tuning
from scorer.db.leaderboard import board_details, ranked_entries
from scorer.db.notifications import competing_teams
from scorer.db.tables import Publication
from scorer.errors import Conflict
from scorer.findings.formatting import counted
from scorer.leaderboard import board_cache
from scorer.leaderboard.board_versions import moves_since, newest_version
from scorer.lifecycle import Phase
from scorer.notifications import notices
from scorer.notifications.notices import Kind, NoticeText
from scorer.review.checklist import ChecklistPoint, checklist


def publish(
    acting: Acting,
    state: CompetitionState,
    *,
    published: bool,
    reason: str,
    final: bool = True,
    override: str | None = None,
    after: str | None = None,
) -> Publication:
    """Publish the private track's board as the final or (not ``final``) the provisional one, or withdraw it.

    ``after`` is the version of the checklist that the organizer saw: ``Conflict`` (``board-has-moved``) if the board or
    its open items have changed since. ``override`` is the reason for publishing despite open items. Only organizers
    can read it, in the audit log. ``Conflict`` also before the deadline, if nothing would change, and for open items
    without ``override``.
    """
    if published:
        _require_closed(state)
        open_ = _lock_unchanged_points(acting.session, state, after, now=acting.now, final=final)
    else:
        open_ = ()
        competitions.lock_competition(acting.session, state.competition.slug, share=False)
    former = newest_version(acts := competitions.load_publications(acting.session, state.competition.id))
    in_force = acts[0] if acts and acts[0].published else None
    _require_change(in_force, published=published, final=final)
    _require_override(open_, override)
    act = Publication(
        competition_id=state.competition.id,
        published=published,
        final=final or not published,
        reason=reason,
        as_of=_board_moment(acting.session, state, acting.now),
        author_id=acting.actor.id,
        created_at=acting.now,
    )
    acting.session.add(act)
    acting.session.flush()
    _record_audit(acting, state, act, in_force=in_force, open_=open_, override=override)
    _notify(acting.session, state, act, former=former)
    return act


def _require_closed(state: CompetitionState) -> None:
    if state.phase in {Phase.DRAFT, Phase.OPEN}:
        raise Conflict("not-closed", "The competition has not closed yet. Publish the board after the deadline.")


def _board_moment(session: Session, state: CompetitionState, now: datetime) -> datetime:
    """``now``, or the newest change if that is later: clocks of other machines may be ahead."""
    track_ids = [track.id for track in state.tracks.values()]
    newest = ranked_entries.newest_change(session.connection(), state.competition.id, track_ids)
    return now if newest is None else max(now, newest)


def _require_change(in_force: Publication | None, *, published: bool, final: bool) -> None:
    if not published and in_force is None:
        raise Conflict("no-change", "No board is published, so there is none to withdraw.")
    if published and in_force is not None and (in_force.final or not final):
        raise Conflict("no-change", f"The {board_name(in_force)} board is already published.")


def board_name(act: Publication) -> str:
    return "final" if act.final else "provisional"


def _lock_unchanged_points(
    session: Session, state: CompetitionState, after: str | None, *, now: datetime, final: bool
) -> Sequence[ChecklistPoint]:
    """The open items. Locks the competition and both thresholds until the end of the transaction.

    Reading the points takes a moment, so nothing is locked at first. Once everything is locked, the points are read
    again only if the change feed reports a change in between.
    """
    version = _board_version(session, state, now)
    seen = checklist(session, state, now, final=final)
    competitions.lock_competition(session, state.competition.slug, share=False)
    for track in sorted(state.tracks.values(), key=lambda track: track.id):
        tuning.lock_track(session, track.id)
    session.refresh(state.competition)
    _require_closed(at_moment(state, now))
    locked = seen if _board_version(session, state, now) == version else checklist(session, state, now, final=final)
    if locked.version != seen.version or after not in {None, seen.version}:
        raise Conflict(
            "board-has-moved",
            "The board or its checklist has changed since you looked. Check both again before you publish.",
        )
    return seen.open


def _board_version(session: Session, state: CompetitionState, now: datetime) -> tuple[int, ...]:
    """The version of the private board and of the labels."""
    track = state.tracks["private"]
    cache = board_cache.find_cache(session)
    if cache is None:
        return board_details.compute_version(session, track, extra_kinds={"label"})
    return cache.current_snapshot(state.competition.slug, now).version(track.id, extra_kinds={"label"})


def _require_override(open_: Sequence[ChecklistPoint], override: str | None) -> None:
    if open_ and not (override or "").strip():
        faults = [f"{point.title}: {point.count} open" for point in open_]
        raise Conflict(
            "open-points",
            "The checklist has open items. Resolve them, or give a reason in `override` to publish anyway.",
            faults=faults,
        )


def _record_audit(
    acting: Acting,
    state: CompetitionState,
    act: Publication,
    *,
    in_force: Publication | None,
    open_: Sequence[ChecklistPoint],
    override: str | None,
) -> None:
    after: dict[str, Any] = _described(act) | {"reason": act.reason}
    if open_:
        after |= {"override": override, "open": {point.name: point.count for point in open_}}
    action = "board.published" if act.published else "board.withdrawn"
    subject = f"competition:{state.competition.slug}"
    before = {"published": False} if in_force is None else _described(in_force)
    audit_log.record_action(acting, action, subject, before=before, after=after)


def _described(act: Publication) -> dict[str, Any]:
    return {"published": True, "final": act.final} if act.published else {"published": False}


def _notify(session: Session, state: CompetitionState, act: Publication, *, former: Publication | None) -> None:
    """Notify all teams that compete. Teams with a rank that differs from the previous version are notified of that."""
    competition = state.competition
    link = f"/competitions/{competition.slug}"
    teams = set(competing_teams(session, competition.id))

    def send(team_ids: set[int], subject: str, body: str, *, path: str) -> None:
        notice = NoticeText(Kind.PUBLICATION, subject, body, link + path)
        notices.notify(session, notice, act.created_at, teams=team_ids)

    if not act.published:
        name = board_name(former or act)
        subject = f"The {name} board of {competition.title} has been withdrawn"
        send(
            teams,
            subject,
            f"The organizers withdrew the {name} board of {competition.title}. Reason: {act.reason}",
            path="",
        )
        return
    subject = f"The {board_name(act)} board of {competition.title} has been published"
    body = f"The {board_name(act)} scores and ranks of {competition.title} have been published."
    if not act.final:
        days = counted(competition.appeal_days, "day")
        body += f" Teams can appeal for {days}. Ranks can change until the final board is published."
    body += f" Reason: {act.reason}"
    moved = teams & set(moves_since(session, state, former).team.tolist()) if former is not None else set()
    send(teams - moved, subject, body, path="")
    if former is not None and moved:
        body += f" Your team's rank has changed since the board of {former.created_at:%Y-%m-%d %H:%M} UTC."
        send(moved, f"{subject}, and your rank has changed", body, path="/versions")
