"""Boards of past moments, made without holding up the current boards."""

from dataclasses import dataclass
from datetime import UTC, datetime

from scorer.db import rescoring
from scorer.db.leaderboard import ranked_entries
from scorer.db.session import Connection
from scorer.leaderboard.board_snapshots import BoardKey
from scorer.ranking.columns import EntryColumns, JudgingRules
from scorer.ranking.judged_entries import JudgedEntries
from scorer.ranking.vectorised import BoardListing, RankedBoard, choose_finals, rank_entries

NEVER = datetime(1, 1, 2, tzinfo=UTC)
MAX_REREAD = 10_000
"""Up to this many entries, earlier measurements are read for these entries only. Beyond it, all are read and cached."""


@dataclass
class PastBoard:
    """A board of a past moment that is being made. It shares no mutable data with the cache, so it needs no lock."""

    competition_id: int
    public_id: int
    max_final_picks: int
    key: BoardKey
    current: dict[int, EntryColumns]
    """The current columns, by track."""
    superseded: dict[int, EntryColumns]
    """Every measurement that is not its entry's newest, by track, where these have been read."""
    judged: dict[int, JudgedEntries]
    """The entries as they were last judged, by track. Parts with unchanged inputs are reused."""

    @property
    def at(self) -> datetime:
        if self.key.at is None:
            raise ValueError("the current board is not a past board")
        return self.key.at

    def normalise(self, connection: Connection) -> None:
        """Move the moment back to the last change before it, since both moments have the same board.

        Set it to None (now) if nothing has changed since. While a final board was published, use the moment that this
        board shows.
        """
        if self.key.track_id != self.public_id:
            self.key = self.key._replace(
                at=ranked_entries.final_as_of(connection, self.competition_id, at=self.at) or self.at
            )
        at, changed_later = ranked_entries.rule_changes_around(
            connection, self.competition_id, list(self.current), at=self.at
        )
        moment = ranked_entries.to_microseconds(self.at)
        never = ranked_entries.to_microseconds(NEVER)
        last = never if at is None else ranked_entries.to_microseconds(at)
        for track_id, current in self.current.items():
            earlier = self._superseded(connection, track_id)
            for measured_at in (current.measured_at, earlier.measured_at):
                past = measured_at[measured_at <= moment]
                changed_later |= len(past) < len(measured_at)
                last = max(last, int(past.max(initial=last)))
        self.key = self.key._replace(at=ranked_entries.from_microseconds(last) if changed_later else None)

    def listing(self, connection: Connection) -> BoardListing:
        return self.ranked_board(connection).compacted()

    def ranked_board(self, connection: Connection) -> RankedBoard:
        judged = self._judged(connection, self.key.track_id)
        if self.key.track_id != self.public_id:  # the private track, or an earlier one
            picks = ranked_entries.load_picks(connection, self.competition_id, at=self.at)
            public = self._judged(connection, self.public_id)
            judged = judged.with_finals(choose_finals(public, picks, self.max_final_picks))
        return rank_entries(judged, late=self.key.late)

    def rules(self, connection: Connection, track_id: int) -> JudgingRules:
        return ranked_entries.load_judging_rules(connection, track_id, at=self.at)

    def _judged(self, connection: Connection, track_id: int) -> JudgedEntries:
        rules = self.rules(connection, track_id)
        return judged_by(rules, self._columns(connection, track_id), self.judged.get(track_id))

    def _columns(self, connection: Connection, track_id: int) -> EntryColumns:
        """The columns at that moment. An entry that was measured again later has its newest measurement from before. An
        entry that was first measured later is missing."""
        if rescoring.has_switched_since(connection, track_id, self.at):  # other measurements counted then
            return ranked_entries.load_columns(connection, track_id, at=self.at)
        current, moment = self.current[track_id], ranked_entries.to_microseconds(self.at)
        unchanged = current.measured_at <= moment
        measured_later = current.ref[~unchanged]
        if track_id in self.superseded or len(measured_later) > MAX_REREAD:
            return current.before(moment, self._superseded(connection, track_id))
        if not len(measured_later):
            return current
        earlier = ranked_entries.load_columns(connection, track_id, refs=measured_later.tolist(), at=self.at)
        return current.take(unchanged).updated_with(earlier)

    def _superseded(self, connection: Connection, track_id: int) -> EntryColumns:
        if track_id not in self.superseded:
            self.superseded[track_id] = ranked_entries.load_superseded_columns(connection, track_id)
        return self.superseded[track_id]


def judged_by(rules: JudgingRules, entries: EntryColumns, former: JudgedEntries | None) -> JudgedEntries:
    """Entries judged under ``rules``, reusing ``former`` as far as its inputs are the same."""
    if former is None or former.columns is not entries or not former.rules.equals(rules, but_tau=True):
        return JudgedEntries(entries, rules)
    return former if former.rules.equals(rules) else former.under(rules.tau)
