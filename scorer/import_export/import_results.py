"""Imports: a table of results from a competition held elsewhere becomes submissions with measurements but no images."""

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
"""How many submissions are added per statement."""


class ImportRequest(BaseModel):
    """The settings of an import that the table does not contain. If no competition has the slug, one is created."""

    model_config = ConfigDict(extra="forbid")

    file_name: str = Field("results.csv", min_length=1, max_length=300)
    title: str | None = Field(
        None, max_length=200, description="The title, if the import creates a competition. Default: the slug."
    )
    public_extractor: str = Field("inception_2015", description="The extractor of the public measurements.")
    private_extractor: str = Field("nasnetalarge", description="The extractor of the private measurements.")
    epsilon: float = Field(EPSILON, gt=0, lt=1e-3)
    opens_at: AwareDatetime | None = Field(None, description="Default: `closes_at` minus one second per submission.")
    closes_at: AwareDatetime | None = Field(None, description="Default: now.")
    tau_public: float | None = Field(None, ge=0, le=2, description="Tau of the public track. You can change it later.")
    tau_private: float | None = Field(
        None, ge=0, le=2, description="Tau of the private track. You can change it later."
    )
    sealed_score: float = Field(999_999.0, description="The score that marks a disqualified submission.")
    column: list[str] = Field(
        [],
        max_length=20,
        description="The header of a column that has another name in this table, as `name=header`.",
        examples=[["fid_public=FID"]],
    )

    def names(self) -> dict[str, str]:
        """The table's headers by column name. ``Invalid`` for an item that is not ``name=header``."""
        pairs = [item.partition("=") for item in self.column]
        wrong = [name for name, sign, header in pairs if not (name and sign and header)]
        if wrong:
            raise Invalid("bad-column", f"The column option {wrong[0]!r} is invalid. Write it as name=header.")
        return {name.strip(): header for name, _, header in pairs}


@dataclass(frozen=True)
class ScoreReproduction:
    """How well the table's scores are reproduced: the largest relative difference over the `compared` submissions,
    which have a score and are not disqualified. Null if there are none."""

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
    """By track, without tracks for which the request has no tau."""


def import_table(
    acting: Acting,
    slug: str,
    sheet: ResultsTable,
    *,
    request: ImportRequest,
    table_sha256: str,
    new_id: Callable[[], str],
) -> ImportResult:
    """Import a table's submissions into a competition. If the slug is new, the competition is created.

    Submissions are scored and get decided labels. A score of ``sealed_score`` disqualifies them. Submissions that were
    imported before do not change.

    ``Conflict``: people have submitted to the competition (``has-entries``), a submission has other numbers than before
    (``changed-rows``), a team of people has a name in the table (``team-taken``), or the final board is published
    (``published``). ``Forbidden`` if this person does not organize the competition, or may not create one.
    """
    created = competition_by_slug(acting.session, slug) is None
    if created:
        roles.require_role(acting.actor, "organizer")
        setup.create(acting, _spec(slug, len(sheet.lines), request, now=acting.now))
    access.require_organizer(acting, slug=slug)
    lock_competition(acting.session, slug, share=False)
    state = competition_state.load_state(acting.session, slug, acting.now)
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
    counted = {name: getattr(result, name) for name in ("rows", "added", "known", "labelled", "disqualified")}
    after = {"file": request.file_name, "table_sha256": table_sha256, **counted}
    audit_log.record_action(acting, "results.imported", f"competition:{state.competition.slug}", after=after)
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
            appeal_days=0,  # the results were decided elsewhere
            public=TrackSpec(extractor=request.public_extractor, epsilon=request.epsilon),
            private=TrackSpec(extractor=request.private_extractor, epsilon=request.epsilon),
        )
    except ValidationError as error:
        faults = [fault["msg"] for fault in error.errors()]
        raise Invalid(
            "bad-competition", f"The competition {slug!r} cannot be created from this request.", faults=faults
        ) from None


def _unknown(session: Session, state: CompetitionState, lines: Sequence[ResultsLine]) -> list[ResultsLine]:
    competition_id = state.competition.id
    if import_results.has_own_entries(session, competition_id):
        raise Conflict(
            "has-entries",
            f"{state.competition.slug} has entries that people submitted, so no table can be imported into it.",
        )
    imported = import_results.imported_numbers(session, competition_id, state.tracks)
    changed = [
        line for line in lines if line.submission_id in imported and imported[line.submission_id] != line.numbers
    ]
    if changed:
        raise Conflict(
            "changed-rows",
            f"{len(changed):,} entries were imported before with other values. Nothing was imported.",
            faults=[f"line {line.at:,}: {line.submission_id}" for line in changed[:MAX_FAULTS_LISTED]],
        )
    unknown = [line for line in lines if line.submission_id not in imported]
    taken = import_results.load_teams_with_members(session, competition_id, sorted({line.team for line in unknown}))
    if taken:
        raise Conflict(
            "team-taken",
            "Some team names in the table belong to teams with members. Rename them in the table.",
            faults=list(taken)[:MAX_FAULTS_LISTED],
        )
    return unknown


def _moments(state: CompetitionState, count: int, now: datetime) -> list[datetime]:
    """Times of submission, which the table lacks: evenly spaced between opening and close, in order."""
    opens_at, closes_at = state.competition.opens_at, state.competition.closes_at
    end = min(closes_at or now, now)
    if opens_at is None or opens_at >= end:
        raise Conflict("not-open", f"{state.competition.slug} has not opened yet, so it cannot have results.")
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


def _tune(acting: Acting, state: CompetitionState, request: ImportRequest) -> None:
    """Set the thresholds of the request if they differ from the current ones."""
    for kind in TRACK_KINDS:
        tau = getattr(request, f"tau_{kind}")
        current = tuning.newest_threshold(acting.session, state.tracks[kind].id)
        if tau is None or (current is not None and current.tau == tau):
            continue
        choice = thresholds.TuningRequest(
            method="manual", tau=tau, reason=f"The tau that {request.file_name} was scored with."
        )
        thresholds.set_threshold(acting, state, kind, request=choice)
