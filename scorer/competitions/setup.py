"""Set-up of competitions: creating, changing and deleting them.

People who have accepted the rules or compete are notified of changes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from pydantic import SecretStr
from sqlalchemy.orm import Session

from scorer import audit_log, extractor_catalogue
from scorer.acting import Acting
from scorer.competitions import competition_roles, data_files, draw_secrets, preparations
from scorer.competitions.board_terms import CHANGED
from scorer.competitions.change_rules import ChangeFacts, find_faults
from scorer.competitions.competition_state import CompetitionState, grace_end, load_state
from scorer.competitions.spec import CompetitionChanges, CompetitionSpec, DrawSpec, Prize, find_times_fault
from scorer.competitions.worker_weights import require_default
from scorer.db import competitions
from scorer.db.leaderboard import final_picks, shown_tracks
from scorer.db.submissions import submissions
from scorer.db.tables import Competition, Track
from scorer.db.teams import members
from scorer.errors import Conflict, Invalid
from scorer.extractor_catalogue import ExtractorSpec
from scorer.findings.formatting import counted
from scorer.lifecycle import TRACK_KINDS, Phase, TrackKind
from scorer.notifications import notices
from scorer.notifications.notices import Kind, NoticeText
from scorer.ranking.awards import MEDALS


def create(acting: Acting, spec: CompetitionSpec, *, draw_key: SecretStr | None = None) -> Competition:
    """Create a competition with its two tracks, and for generators the secrets of their draws.

    ``Conflict`` if the slug is taken. ``Invalid`` for an unknown extractor, a default extractor without weights, and
    two prizes for one place.
    """
    _require_distinct_places(spec.prizes)
    extractors = {kind: _find_extractor(acting.session, spec, kind) for kind in TRACK_KINDS}
    _require_free_slug(acting.session, spec.slug)
    values = spec.model_dump(exclude={"public", "private"})
    competition = Competition(**values, created_by=acting.actor.id, created_at=acting.now)
    acting.session.add(competition)
    acting.session.flush()
    for kind, extractor in extractors.items():
        acting.session.add(
            Track(
                competition_id=competition.id,
                kind=kind,
                extractor=extractor.identity,
                signed=not extractor.non_negative,
                epsilon=getattr(spec, kind).epsilon,
            )
        )
    acting.session.flush()
    competition_roles.add_first_organizer(acting, competition)
    subject = f"competition:{spec.slug}"
    tracks = {
        kind: {"extractor": extractor.name, "epsilon": getattr(spec, kind).epsilon}
        for kind, extractor in extractors.items()
    }
    after = spec.model_dump(mode="json") | tracks
    audit_log.record_action(acting, "competition.created", subject, after=after)
    if spec.entries == "generator":
        draw_secrets.create_secrets(acting, competition, draw_key)
    return competition


def change(acting: Acting, slug: str, changes: CompetitionChanges, *, draw_key: SecretStr | None = None) -> None:
    """Change the fields of a competition that differ in ``changes``, and notify the people concerned.

    ``Conflict`` (``fixed-by-now``) for fields that can no longer change, or not this far. ``Invalid`` for times in the
    wrong order, two prizes for one place, and an unknown extractor.
    """
    competitions.lock_competition(acting.session, slug, share=False)
    state = load_state(acting.session, slug, acting.now)
    before, after = _differences(state, changes)
    if not after:
        return
    _require_distinct_places(changes.prizes if "prizes" in after else ())
    faults = find_faults(before, after, load_change_facts(acting.session, state, acting.now))
    if faults:
        raise Conflict("fixed-by-now", "Some of these changes are no longer possible.", faults=faults)
    if "slug" in after:
        _require_free_slug(acting.session, after["slug"])
    _apply(acting.session, state, after, now=acting.now)
    _require_order(state.competition)
    acting.session.flush()
    subject = f"competition:{state.competition.slug}"
    was, becomes = (
        CompetitionChanges(**values).model_dump(mode="json", include=set(after)) for values in (before, after)
    )
    audit_log.record_action(acting, CHANGED, subject, before=was, after=becomes)
    if state.competition.entries == "generator":
        draw_secrets.create_secrets(acting, state.competition, draw_key)
    if state.phase is not Phase.DRAFT:
        notify_changes(acting.session, state.competition, before, after=after, now=acting.now)


def delete_draft(acting: Acting, slug: str) -> None:
    """Delete a draft, so that its slug is available again. ``Conflict`` (``not-a-draft``) if it has entries or is no
    longer a draft."""
    competitions.lock_competition(acting.session, slug, share=False)
    state = load_state(acting.session, slug, acting.now)
    competition = state.competition
    if state.phase is not Phase.DRAFT or submissions.has_submissions(acting.session, competition.id):
        raise Conflict("not-a-draft", "You can only delete a draft without entries.")
    for file in state.files:
        data_files.withdraw(acting, state, file.name)
    before = {"title": competition.title}
    audit_log.record_action(acting, "competition.deleted", f"competition:{slug}", before=before)
    competition.deleted_at = acting.now
    competition.slug = f"{slug}~{competition.id}"  # nobody can choose a slug with a tilde
    acting.session.flush()


def load_change_facts(session: Session, state: CompetitionState, now: datetime) -> ChangeFacts:
    competition = state.competition
    until = grace_end(competition)
    return ChangeFacts(
        phase=state.phase,
        closed=state.phase is not Phase.DRAFT and competition.closes_at is not None and now >= competition.closes_at,
        picks_open=not state.published and (until is None or now < until),
        has_entries=submissions.has_submissions(session, competition.id),
        has_live_entries=submissions.has_live_submissions(session, competition.id),
        drawn=competition.entries == "generator" and any(act.published for act in state.publications),
        largest_team=members.largest_team(session, competition.id),
        most_picks=final_picks.most_picks(session, competition.id),
    )


def read_spec_values(state: CompetitionState) -> dict[str, Any]:
    """Return the values of a competition by field of its specification."""
    values = {name: getattr(state.competition, name, None) for name in CompetitionSpec.model_fields}
    values["draws"] = DrawSpec(**state.competition.draws).model_dump()
    return values | {
        kind: {"extractor": track.extractor, "epsilon": track.epsilon} for kind, track in state.tracks.items()
    }


def _differences(state: CompetitionState, changes: CompetitionChanges) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the present and the new values of the fields that change."""
    present = read_spec_values(state)
    wanted = changes.model_dump(exclude_unset=True)
    for kind in TRACK_KINDS & wanted.keys():
        name = wanted[kind].get("extractor") or present[kind]["extractor"]
        wanted[kind] = present[kind] | wanted[kind] | {"extractor": extractor_catalogue.find_extractor(name).identity}
    for name in {"draws", "medals"} & wanted.keys():
        wanted[name] = present[name] | wanted[name]
    after = {name: value for name, value in wanted.items() if value != present[name]}
    return {name: present[name] for name in after}, after


def _find_extractor(session: Session, spec: CompetitionSpec, kind: TrackKind) -> ExtractorSpec:
    name = getattr(spec, kind).extractor
    return extractor_catalogue.find_extractor(name) if name else require_default(session, kind)


def _require_free_slug(session: Session, slug: str) -> None:
    if competitions.competition_by_slug(session, slug) is not None:
        raise Conflict("slug-taken", f"There is already a competition {slug!r}. Choose another slug.")


def _require_distinct_places(prizes: Iterable[Prize]) -> None:
    places = Counter(prize.place for prize in prizes)
    twice = [place for place, count in places.items() if count > 1]
    if twice:
        raise Invalid("bad-prizes", f"Place {twice[0]} has more than one prize. Combine them into one.")


def _require_order(competition: Competition) -> None:
    fault = find_times_fault(competition.opens_at, competition.team_merge_deadline, competition.closes_at)
    if fault:
        raise Invalid("bad-times", f"The times are in the wrong order: {fault}.")


def _apply(session: Session, state: CompetitionState, after: Mapping[str, Any], *, now: datetime) -> None:
    remeasured: set[TrackKind] = set(TRACK_KINDS) if "image_size" in after else set()
    for name, value in after.items():
        if name in state.tracks:
            extractor = extractor_catalogue.find_extractor(value["extractor"])
            track = state.tracks[name]
            if track.extractor != extractor.identity:
                track.extractor, track.signed = extractor.identity, not extractor.non_negative
                remeasured.add(name)
            track.epsilon = value["epsilon"]
        else:
            setattr(state.competition, name, value)
    if "image_size" in after:
        for kind in TRACK_KINDS:
            shown_tracks.forget_preparations(session, state.competition.id, kind)
    for kind in remeasured:
        preparations.unset_preparation(session, state.tracks[kind], now=now)


def notify_changes(
    session: Session, competition: Competition, before: Mapping[str, Any], *, after: Mapping[str, Any], now: datetime
) -> None:
    """Notify participants of the changed fields that concern them: one notice for the deadline, one for all others."""
    link = f"/competitions/{competition.slug}"
    if "closes_at" in after:
        notices.notify_entrants(session, competition, _deadline_notice(competition, before["closes_at"], link), now=now)
    changes = [words(before[name], after[name]) for name, words in WORDS.items() if name in after]
    if changes:
        subject = f"{competition.title} has changed"
        notice = NoticeText(Kind.CHANGE, subject, f"{subject}. {' '.join(changes)}", link)
        notices.notify_entrants(session, competition, notice, now=now)


def _deadline_notice(competition: Competition, before: datetime | None, link: str) -> NoticeText:
    closes_at = competition.closes_at
    if closes_at is None:
        what = "no longer has a deadline"
    elif before is None:
        what = "now has a deadline"
    else:
        what = "has a later deadline" if closes_at > before else "has an earlier deadline"
    subject = f"{competition.title} {what}"
    deadline = f": {_moment(closes_at)}" if closes_at else ""
    return NoticeText(Kind.DEADLINE, subject, f"{subject}{deadline} (previously {_moment(before)}).", link)


def _moment(at: datetime | None) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at else "not set"


def _change(what: str, words: Callable[[Any], str]) -> Callable[[Any, Any], str]:
    return lambda before, after: f"{what}: {words(after)} (previously {words(before)})."


def _count(number: int | None) -> str:
    return "unlimited" if number is None else f"{number:,}"


def _days(number: int) -> str:
    return counted(number, "day")


def _prizes(prizes: list[dict[str, Any]]) -> str:
    return ", ".join(f"{prize['amount']} for place {prize['place']}" for prize in prizes) or "none"


def _medals(medals: Mapping[str, int]) -> str:
    return ", ".join(f"{medal} up to place {medals[medal]}" if medals.get(medal) else f"no {medal}" for medal in MEDALS)


def _late(_: bool, after: bool) -> str:
    return f"Entries after the deadline are {'now' if after else 'no longer'} accepted."


def _public_track(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    changed = [name for name in ("extractor", "epsilon") if before[name] != after[name]]
    return " ".join(
        _change(f"{name.capitalize()} of the public score", str)(before[name], after[name]) for name in changed
    )


def _draws(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    changed = [name for name in DRAW_WORDS if before[name] != after[name]]
    return " ".join(DRAW_WORDS[name](before[name], after[name]) for name in changed)


DRAW_WORDS: Mapping[str, Callable[[Any, Any], str]] = MappingProxyType(
    {
        "public": _change("Draws for the public score", str),
        "private": _change("Draws for the final score", str),
        "distribution": _change("Latent distribution of entries that declare no other", str),
        "classes": _change("Classes after the latent", lambda number: str(number or "none")),
        "minutes": _change("Time limit for all draws of an entry", lambda minutes: counted(minutes, "minute")),
        "release": _change("Generators in data releases", lambda released: "yes" if released else "no"),
    }
)
WORDS: Mapping[str, Callable[[Any, Any], str]] = MappingProxyType(
    {
        "rules": lambda *_: "The rules have changed. Please read and accept them before your next entry.",
        "opens_at": _change("Opening time", _moment),
        "team_merge_deadline": _change("Team merge deadline", _moment),
        "upload_grace_seconds": _change("Time to finish uploads after the deadline", lambda s: counted(s, "second")),
        "review_days": _change("Time to appeal after the deadline", _days),
        "appeal_days": _change("Time to appeal against the provisional board", _days),
        "daily_limit": _change("Entries per team and UTC day", _count),
        "pending_limit": _change("Entries in progress per team", _count),
        "rejected_limit": _change("Rejected uploads per team and UTC day", _count),
        "max_team_size": _change("Members per team", _count),
        "final_picks": _change("Final picks per team", _count),
        "prizes": _change("Prizes", _prizes),
        "medals": _change("Medals", _medals),
        "late_submissions": _late,
        "public": _public_track,
        "draws": _draws,
    }
)
"""The sentence about a change, by field. Changes of other fields, such as the private extractor, are not announced."""
