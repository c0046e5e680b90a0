"""Imports: a table of results of a competition held elsewhere becomes submissions with measurements but no images."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import numpy as np
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts import roles
from scorer.acting import Acting
from scorer.competitions import competition_state, setup
from scorer.competitions.competition_state import CompetitionState
from scorer.competitions.spec import CompetitionSpec, TrackSpec
from scorer.db import import_results, tuning
from scorer.db.competitions import competition_by_slug, lock_competition
from scorer.errors import Conflict, Invalid
from scorer.import_export.results_csv import MAX_FAULTS_LISTED, NUMBER_COLUMNS, ResultsLine, ResultsTable
from scorer.lifecycle import TRACK_KINDS, TrackKind
from scorer.metrics.mifid import EPSILON, mifid
from scorer.submissions import access
from scorer.tuning import thresholds

CHUNK_ENTRIES = 10_000
"""Submissions that are added at once."""


class ImportRequest(BaseModel):
    """What the table itself does not say. Without a competition of that slug, one is made."""

    model_config = ConfigDict(extra="forbid")

    file_name: str = Field("results.csv", min_length=1, max_length=300)
    title: str | None = Field(None, max_length=200, description="Of a competition that is made; its slug, if left out.")
    public_extractor: str = Field("inception_2015", description="The extractor that the public numbers were made with.")
    private_extractor: str = Field("nasnetalarge", description="The extractor that the private numbers were made with.")
    epsilon: float = Field(EPSILON, gt=0, lt=1e-3)
    opens_at: AwareDatetime | None = Field(None, description="If left out: a second an entry before the close.")
    closes_at: AwareDatetime | None = Field(None, description="If left out: now.")
    tau_public: float | None = Field(None, ge=0, le=2, description="Of the public track; it can be re-tuned later.")
    tau_private: float | None = Field(None, ge=0, le=2, description="Of the private track; it can be re-tuned later.")
    sealed_score: float = Field(999_999.0, description="The score that stands for a disqualified entry.")
    column: list[str] = Field(
        [], max_length=20, description="What a column is called in this table.", examples=[["fid_public=FID"]]
    )

    def names(self) -> dict[str, str]:
        """The table's headers by column name; ``Invalid`` for an item that is not ``name=header``."""
        pairs = [item.partition("=") for item in self.column]
        wrong = [name for name, sign, header in pairs if not (name and sign and header)]
        if wrong:
            raise Invalid("bad-column", f"A column is named as name=header, not as {wrong[0]!r}.")
        return {name.strip(): header for name, _, header in pairs}


@dataclass(frozen=True)
class ScoreReproduction:
    """How well the table's scores are reproduced: the largest relative difference over the submissions `compared`,
    which have a score and are not disqualified (null if there are none)."""

    compared: int
    largest_relative_difference: float | None


@dataclass(frozen=True)
class ImportResult:
    """The counts of an import. ``known`` submissions had been imported before and are unchanged."""

    state: CompetitionState
    created: bool
    rows: int
    added: int
    known: int
    labelled: int
    disqualified: int
    ignored_columns: Sequence[str]
    reproduced: Mapping[str, ScoreReproduction]
    """By track; without the tracks for which the request has no tau."""


def import_table(
    acting: Acting,
    slug: str,
    sheet: ResultsTable,
    *,
    request: ImportRequest,
    table_sha256: str,
    new_id: Callable[[], str],
) -> ImportResult:
    """Import a table's submissions into a competition, which is created if the slug is new: scored, with decided
    labels, and disqualified if their score is ``sealed_score``. Submissions imported before stay as they are.

    ``Conflict``: ``has-entries`` if people have submitted there, ``changed-rows`` if a submission has other numbers
    than before, ``team-taken`` if a team of people has a name of the table, ``published`` if the final board is.
    ``Forbidden`` for whoever does not organize the competition, or may not open one.
    """
    created = competition_by_slug(acting.session, slug) is None
    if created:
        roles.require_role(acting.actor, "organizer")
        setup.create(acting, _spec(slug, len(sheet.lines), request, now=acting.now))
    access.require_organizer(acting, slug=slug)
    lock_competition(acting.session, slug, share=False)
    state = competition_state.state_of(acting.session, slug, acting.now)
    added = _unknown(acting.session, state, sheet.lines)
    if added:
        competition_state.require_not_final(acting.session, state.competition)
    provenance = {"imported": True, "file": request.file_name, "table_sha256": table_sha256}
    origin = import_results.Origin(state.competition.id, acting.actor.id, provenance, acting.now)
    moments = _moments(state, len(added), acting.now)
    for start in range(0, len(added), CHUNK_ENTRIES):
        part = slice(start, start + CHUNK_ENTRIES)
        entries = list(map(partial(_entry, new_id), added[part], moments[part]))
        refs = import_results.add_entries(acting.session, origin, state.tracks, entries=entries)
        _add_labels_and_rulings(acting.session, origin, added[part], refs=refs, sealed_score=request.sealed_score)
    result = ImportResult(
        state=state,
        created=created,
        rows=len(sheet.lines),
        added=len(added),
        known=len(sheet.lines) - len(added),
        labelled=sum(line.label is not None for line in added),
        disqualified=sum(_is_sealed(line, request.sealed_score) for line in added),
        ignored_columns=sheet.ignored,
        reproduced={
            kind: _reproduced(
                sheet.lines, kind, tau, epsilon=state.tracks[kind].epsilon, sealed_score=request.sealed_score
            )
            for kind in TRACK_KINDS
            if (tau := getattr(request, f"tau_{kind}")) is not None
        },
    )
    _record_audit(acting, result, request, table_sha256=table_sha256)
    _tune(acting, state, request)
    return result


def _spec(slug: str, entries: int, request: ImportRequest, *, now: datetime) -> CompetitionSpec:
    closes_at = request.closes_at or now
    try:
        return CompetitionSpec(
            slug=slug,
            title=request.title or slug,
            opens_at=request.opens_at or closes_at - timedelta(seconds=entries + 1),
            closes_at=closes_at,
            appeal_days=0,  # it was decided elsewhere
            public=TrackSpec(extractor=request.public_extractor, epsilon=request.epsilon),
            private=TrackSpec(extractor=request.private_extractor, epsilon=request.epsilon),
        )
    except ValidationError as error:
        faults = [fault["msg"] for fault in error.errors()]
        raise Invalid("bad-competition", f"A competition {slug!r} cannot be made of this.", faults=faults) from None


def _unknown(session: Session, state: CompetitionState, lines: Sequence[ResultsLine]) -> list[ResultsLine]:
    competition_id = state.competition.id
    if import_results.has_own_entries(session, competition_id):
        raise Conflict("has-entries", f"People have handed entries in to {state.competition.slug}: it takes no table.")
    imported = import_results.imported_numbers(session, competition_id, state.tracks)
    changed = [
        line for line in lines if line.submission_id in imported and imported[line.submission_id] != line.numbers
    ]
    if changed:
        raise Conflict(
            "changed-rows",
            f"{len(changed):,} entries were imported before, with other numbers; nothing was changed.",
            faults=[f"line {line.at:,}: {line.submission_id}" for line in changed[:MAX_FAULTS_LISTED]],
        )
    unknown = [line for line in lines if line.submission_id not in imported]
    taken = import_results.teams_of_people(session, competition_id, sorted({line.team for line in unknown}))
    if taken:
        raise Conflict(
            "team-taken",
            "Teams of people are called as some of the table's are.",
            faults=list(taken)[:MAX_FAULTS_LISTED],
        )
    return unknown


def _moments(state: CompetitionState, count: int, now: datetime) -> list[datetime]:
    """Times of submission, which the table lacks: in order, evenly spaced between opening and close."""
    opens_at, closes_at = state.competition.opens_at, state.competition.closes_at
    end = min(closes_at or now, now)
    if opens_at is None or opens_at >= end:
        raise Conflict("not-open", f"{state.competition.slug} has not been open yet, so nothing can have been entered.")
    return [opens_at + (end - opens_at) * (place + 1) / (count + 1) for place in range(count)]


def _entry(new_id: Callable[[], str], line: ResultsLine, accepted_at: datetime) -> import_results.ImportedEntry:
    numbers = dict(zip(NUMBER_COLUMNS, line.numbers, strict=True))
    fid, distance = ({kind: numbers[f"{what}_{kind}"] for kind in TRACK_KINDS} for what in ("fid", "distance"))
    return import_results.ImportedEntry(line.submission_id, new_id(), line.team, accepted_at, fid, distance)


def _add_labels_and_rulings(
    session: Session,
    origin: import_results.Origin,
    lines: Sequence[ResultsLine],
    *,
    refs: Mapping[str, int],
    sealed_score: float,
) -> None:
    labels = {
        refs[line.submission_id]: (line.label, f"Imported as {line.label_text}.")
        for line in lines
        if line.label is not None
    }
    import_results.add_labels(session, origin, labels)
    sealed = [refs[line.submission_id] for line in lines if _is_sealed(line, sealed_score)]
    import_results.disqualify(
        session, origin, sealed, reason=f"Disqualified in the imported table: its score is {sealed_score:g}."
    )


def _is_sealed(line: ResultsLine, sealed_score: float) -> bool:
    return sealed_score in {line.public_score, line.private_score}


def _reproduced(
    lines: Sequence[ResultsLine], kind: TrackKind, tau: float, *, epsilon: float, sealed_score: float
) -> ScoreReproduction:
    place = TRACK_KINDS.index(kind)
    scored = [
        (line.numbers[place], line.numbers[place + 2], score)
        for line in lines
        if (score := getattr(line, f"{kind}_score")) not in {None, sealed_score}
    ]
    if not scored:
        return ScoreReproduction(0, None)
    fid, distance, score = np.array(scored).T
    relative_difference = np.abs(mifid(fid, distance, tau, epsilon) - score) / np.maximum(
        np.abs(score), np.finfo(float).tiny
    )
    return ScoreReproduction(len(scored), float(relative_difference.max()))


def _record_audit(acting: Acting, result: ImportResult, request: ImportRequest, *, table_sha256: str) -> None:
    counted = {name: getattr(result, name) for name in ("rows", "added", "known", "labelled", "disqualified")}
    after = {"file": request.file_name, "table_sha256": table_sha256, **counted}
    subject = f"competition:{result.state.competition.slug}"
    audit_log.record_action(acting, "results.imported", subject, after=after)


def _tune(acting: Acting, state: CompetitionState, request: ImportRequest) -> None:
    """Set the thresholds of the request where they differ from the current ones."""
    for kind in TRACK_KINDS:
        tau = getattr(request, f"tau_{kind}")
        current = tuning.newest_threshold(acting.session, state.tracks[kind].id)
        if tau is None or (current is not None and current.tau == tau):
            continue
        choice = thresholds.TuningRequest(method="manual", tau=tau, reason=f"As {request.file_name} was scored.")
        thresholds.set_threshold(acting, state, kind, request=choice)
