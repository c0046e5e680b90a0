"""Standings: a track's board for one viewer, judged and ranked when it is read.

Only measurements are stored; everything else is computed from them. The board of a past moment is the same computation
over the rows of that moment. ``board_version`` hashes all inputs of a board, for ETags.
"""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.acting import Acting
from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState, may_see_results, visible_track
from scorer.competitions.shown_tracks import visible_shown_tracks
from scorer.db.leaderboard import board_details
from scorer.db.leaderboard.changes import EXTRA_KINDS, SEEN_BY_ALL
from scorer.db.tables import Account, Track
from scorer.db.teams import members
from scorer.errors import NotFound
from scorer.leaderboard import board_cache
from scorer.leaderboard.board_access import find_board_state
from scorer.leaderboard.board_cache import SNAPSHOT_KEY
from scorer.leaderboard.board_reader import BoardReader
from scorer.leaderboard.rows import load_day_start_listing, load_listing, name_conditions, teams_named
from scorer.lifecycle import TrackKind, utc_day
from scorer.ranking.vectorised import BoardRow


def visible_state(acting: Acting[Account | None], slug: str) -> CompetitionState:
    """The state of a competition that this person may see, from the board cache if there is one. ``NotFound`` otherwise
    (:func:`scorer.competitions.competition_state.visible_state`)."""
    cache = board_cache.find_cache(acting.session)
    if cache is None:
        return competition_state.visible_state(acting, slug)
    snapshot = acting.session.info[SNAPSHOT_KEY] = cache.current_snapshot(slug, acting.now)
    return competition_state.require_visible(snapshot.state, acting.actor)


def states_to_show(acting: Acting[Account | None], slug: str) -> Iterator[CompetitionState]:
    """The states of a competition whose rendered boards this person may be shown, the current one last
    (:func:`visible_state`). While a new board is ranked, visitors are shown the earlier one, if it has been
    rendered."""
    cache = board_cache.find_cache(acting.session)
    former = cache.former_snapshot(slug, acting.now) if cache is not None and acting.actor is None else None
    if former is not None:
        acting.session.info[SNAPSHOT_KEY] = former
        yield competition_state.require_visible(former.state, acting.actor)
    yield visible_state(acting, slug)


def board_version(
    session: Session, state: CompetitionState, kind: TrackKind, *, account: Account | None, now: datetime | None = None
) -> str:
    """A hash of everything that a viewer's board depends on, for ETags: equal hashes mean equal boards. Pass ``now``
    for boards that show who has moved since the day began."""
    track = visible_track(state, kind, account)
    organizer = is_organizer(account, state.competition.id)
    counts = change_counts(session, state, track, extra_kinds=visible_changes(state, account))
    day = None if now is None else utc_day(now)[0]
    inputs = (track.id, state.phase, organizer, day, _own_team_id(session, state, account), counts)
    return hashlib.sha256(repr(inputs).encode()).hexdigest()[:20]


def visible_changes(state: CompetitionState, account: Account | None) -> frozenset[str]:
    """The kinds of changes other than ranks (:data:`scorer.db.leaderboard.changes.EXTRA_KINDS`) that this person's
    board may show. An ETag must not reveal any others."""
    return EXTRA_KINDS if may_see_results(state, account) else SEEN_BY_ALL


def change_counts(
    session: Session, state: CompetitionState, track: Track, *, extra_kinds: Collection[str] = ()
) -> tuple[int, ...]:
    """How many changes there have been to a track's board: equal counts mean equal boards. Kinds of
    :data:`scorer.db.leaderboard.changes.EXTRA_KINDS` can be added to it."""
    snapshot = session.info.get(SNAPSHOT_KEY)
    if snapshot is not None and snapshot.state is state:  # taken by this request
        counts: tuple[int, ...] = snapshot.version(track.id, extra_kinds=extra_kinds)
        return counts
    return board_details.compute_version(session, track, extra_kinds=extra_kinds)


def _own_team_id(session: Session, state: CompetitionState, account: Account | None) -> int | None:
    team = None if account is None else members.load_team(session, state.competition.id, account.id)
    return None if team is None else team.id


def standings(  # noqa: PLR0913 - every option of a board
    session: Session,
    state: CompetitionState,
    kind: TrackKind,
    *,
    account: Account | None,
    late: bool = False,
    as_of: datetime | None = None,
    search: str = "",
    now: datetime | None = None,
) -> BoardReader:
    """The board of a track, to be read page by page. ``Forbidden`` for the private track before publication.

    ``late``: the board of entries after the deadline, which have no private track (``Invalid``: ``late-is-public``).
    ``as_of``: the board at a past moment. ``search``: only teams with this text in their name. ``now``: include the
    ranks that teams have gained since the UTC day began.
    """
    track, then, awards = find_board_state(session, state, kind, account=account, late=late, as_of=as_of)
    # Read boards first: while the session holds no connection, the cache need not check whether it has written.
    listing = load_listing(session, then, kind, late=late, at=as_of)
    day_start = public = None
    if now is not None and not late and as_of is None and kind == "public" and len(listing):
        day_start = load_day_start_listing(session, then, kind, at=utc_day(now)[0])
    if kind == "private" and len(listing):
        public = load_listing(session, then, "public", at=as_of)
    text = search.strip()
    return BoardReader(
        state=then,
        track=track,
        listing=listing,
        day_start=day_start,
        public=public,
        found=teams_named(session, then, listing, text=text, at=as_of) if text else None,
        measured_by=name_conditions(session, then.tracks[kind].id, listing, at=as_of),
        own_team_id=_own_team_id(session, state, account),
        organizer=is_organizer(account, state.competition.id),
        late=late,
        as_of=as_of,
        shown=visible_shown_tracks(session, state, account),
        awards=awards,
    )


def load_rank(session: Session, state: CompetitionState, kind: TrackKind, *, account: Account) -> int | None:
    """The rank of a person's team on a track. ``Forbidden`` for the private track before publication."""
    visible_track(state, kind, account)
    team_id = _own_team_id(session, state, account)
    return None if team_id is None else load_listing(session, state, kind).find_team_rank(team_id)


def load_team_row(session: Session, state: CompetitionState, kind: TrackKind, *, name: str) -> tuple[BoardRow, int]:
    """The row of the team with this name on the public view of a board, and how many teams have a rank. ``NotFound`` if
    the team has no rank, ``Forbidden`` for the private track before publication."""
    visible_track(state, kind, None)
    rows = load_listing(session, state, kind)
    team = members.competing_team(session, state.competition.id, name)
    row = rows.find_team_row(team.id) if team else None
    if row is None:
        raise NotFound("no-place", "No team with this name has a rank on the board.")
    return row, len(rows)


def count_teams(session: Session, states: Sequence[CompetitionState]) -> dict[int, int]:
    """How many teams have a rank on the public board of each competition, by competition id."""
    cache = board_cache.find_cache(session)
    if cache is not None:
        return cache.team_counts(states)
    return {state.competition.id: len(load_listing(session, state, "public")) for state in states}
