"""What is told about the private track's network, from what was found."""

from typing import Any

from sqlalchemy.orm import Session

from api.network_schemas import ComparisonView, NetworkView, SpaceView
from scorer.competitions.competition_state import CompetitionState
from scorer.extractor_catalogue import EXTRACTORS
from scorer.tuning import extractor_choice, extractor_comparison
from scorer.tuning.extractor_comparison import ComparedSpace, ComparisonStatus
from scorer.tuning.thresholds import choice_as_json


def network_view(session: Session, state: CompetitionState) -> NetworkView:
    """The network of a competition's private track as it stands."""
    scored = extractor_choice.scoring_progress(session, state)
    return NetworkView(
        extractor=state.tracks["private"].extractor,
        scored=scored.done,
        waiting=scored.waiting,
        failed=scored.failed,
        candidates=[each.identity for each in EXTRACTORS.values()],
        may_choose=not state.published,
        comparison=comparison_view(extractor_comparison.comparison_status(session, state)),
    )


def comparison_view(standing: ComparisonStatus) -> ComparisonView:
    """A comparison as far as it is."""
    comparison = standing.comparison
    return ComparisonView(
        started_at=comparison.created_at if comparison else None,
        started_by=comparison.author.handle if comparison else None,
        memorising=standing.memorising,
        legitimate=standing.legitimate,
        coarse=standing.coarse,
        spaces=[_space(each) for each in standing.spaces],
    )


def _space(space: ComparedSpace) -> SpaceView:
    fields: dict[str, Any] = dict(vars(space))
    choice = fields.pop("choice")
    return SpaceView(**fields, choice=choice_as_json(choice) | {"tau": choice.tau} if choice else None)
