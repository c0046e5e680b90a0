"""The rows of the tables of a data release, under pseudonyms (:mod:`scorer.import_export.release_columns`)."""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.data_release import release_rows
from scorer.import_export.release_columns import TABLES, Column
from scorer.leaderboard.rows import load_fid_spreads, load_listing
from scorer.leaderboard.uncertainty import UncertainPlace, uncertain_places
from scorer.lifecycle import TRACK_KINDS
from scorer.metrics.metric_catalogue import METRICS
from scorer.ranking.awards import MEDALS


@dataclass(frozen=True)
class Pseudonyms:
    """Pseudonyms that only the holder of ``key`` can compute: HMAC-SHA256, the first 80 bits as hex."""

    key: bytes

    def of(self, what: str, number: int | str) -> str:
        """The pseudonym of a ``team``, a ``submission``, ``images``, a ``person`` or a ``rater``. Deterministic."""
        digest = hmac.new(self.key, f"{what}:{number}".encode(), hashlib.sha256)
        return f"{what[0]}-{digest.hexdigest()[:20]}"


TableRow = tuple[Any, ...]
Row = Mapping[Any, Any]
"""The values of a row by column, with numbers in place of pseudonyms."""


def table_rows(session: Session, state: CompetitionState, table: str, *, names: Pseudonyms) -> Iterator[TableRow]:
    """The rows of a table, always in the same order, each with the columns of ``TABLES``."""
    for row in _ranks(session, state) if table == "ranks" else _stored(session, state.competition.id, table):
        yield tuple(_value(row, column, names) for column in TABLES[table])


def _value(row: Row, column: Column, names: Pseudonyms) -> Any:
    value = row[column.name]
    return value if column.pseudonym_kind is None or value is None else names.of(column.pseudonym_kind, value)


def _stored(session: Session, competition_id: int, table: str) -> Iterator[Row]:
    read, single_rows = _READERS[table]
    return chain.from_iterable(map(single_rows, read(session, competition_id)))


def _as_read(row: Row) -> Iterator[Row]:
    yield row


def _empty(table: str) -> Row:
    """Null in the nullable columns of a table, because data stored as JSON may lack them."""
    return {column.name: None for column in TABLES[table] if column.nullable}


def _findings(row: Row) -> Iterator[Row]:
    for quantity in row["findings"]:
        yield {**_empty("evidence"), **quantity, **row}


def _cells(row: Row) -> Iterator[Row]:
    for cell in row["cells"] or ():
        yield {**cell, **row, "cell": cell["cell"] + 1, "p_value": cell["p"]}


def _shown_measurement(row: Row) -> Iterator[Row]:
    constants = json.dumps(row["constants"], sort_keys=True)
    yield {**row, "constants": constants, "better": METRICS[row["metric"]].direction}


def _threshold(row: Row) -> Iterator[Row]:
    yield {**_empty("thresholds"), **row["choice"], **(row["choice"].get("confusion") or {}), **row}


def _ranks(session: Session, state: CompetitionState) -> Iterator[Row]:
    for kind in TRACK_KINDS:
        certain = {place.rank: place for place in uncertain_places(session, state, kind)}
        listing = load_listing(session, state, kind)
        spreads = load_fid_spreads(session, state.competition, state.tracks[kind], refs=listing.refs)
        for row in listing.stream():
            medal = state.awards_on(kind).find_award(row.rank).medal
            subject = {"track": kind, "team": row.team_id, "submission": row.ref, "medal": medal}
            spread = spreads[row.ref].deviation if row.ref in spreads else None
            yield {**vars(row), **_uncertainty(certain.get(row.rank)), **subject, "fid_spread": spread}


def _uncertainty(place: UncertainPlace | None) -> Row:
    medals = {} if place is None or place.medals is None else place.medals
    names = ("standard_error", "first_rank", "last_rank")
    known = dict.fromkeys(names) if place is None else {name: getattr(place, name) for name in names}
    return known | {f"{medal}_probability": medals.get(medal) for medal in MEDALS}


_READERS: Mapping[str, tuple[Callable[[Session, int], Iterator[Row]], Callable[[Row], Iterator[Row]]]] = (
    MappingProxyType(
        {
            "submissions": (release_rows.submissions, _as_read),
            "measurements": (release_rows.measurements, _as_read),
            "evidence": (release_rows.evidence, _findings),
            "cells": (release_rows.evidence, _cells),
            "shown_measurements": (release_rows.shown_measurements, _shown_measurement),
            "labels": (release_rows.labels, _as_read),
            "thresholds": (release_rows.thresholds, _threshold),
            "rulings": (release_rows.rulings, _as_read),
            "ratings": (release_rows.ratings, _as_read),
        }
    )
)
"""By table: the function that reads its rows from the database, and the function that turns each into release rows."""
