"""The private track's extractor: comparing candidates and choosing one."""

from api.http.dependencies import AppSettings, DbSession, Now, Organizer
from api.http.routing import ApiRouter
from api.tuning.private_extractor.views import (
    ComparisonView,
    NetworkView,
    NewComparison,
    NewNetwork,
    comparison_view,
    network_view,
)
from scorer.competitions.competition_state import state_of
from scorer.tuning import extractor_choice, extractor_comparison

router = ApiRouter(prefix="/competitions/{slug}/network", tags=["network"])


@router.get("")
def show(slug: str, session: DbSession, author: Organizer, now: Now) -> NetworkView:
    """The private track's extractor, how far its scoring is, and the newest comparison. Organizers only."""
    return network_view(session, state_of(session, slug, now))


@router.post("/comparisons", status_code=202)
def compare(
    slug: str, body: NewComparison, session: DbSession, author: Organizer, settings: AppSettings, now: Now
) -> ComparisonView:
    """Have every labelled entry measured in the feature spaces of other extractors, after all scoring. Measurements
    that exist are not repeated."""
    state = state_of(session, slug, now)
    extractor_comparison.start_comparison(
        session, state, **body.model_dump(), weights=settings.weights_sha256, author=author, now=now
    )
    return comparison_view(extractor_comparison.comparison_status(session, state))


@router.put("")
def choose(
    slug: str, body: NewNetwork, session: DbSession, author: Organizer, settings: AppSettings, now: Now
) -> NetworkView:
    """Give the private track another extractor, until a board is published: every entry is scored again, and
    tau starts anew. The references must be prepared for it; a comparison does that."""
    extractor_choice.replace_extractor(
        session,
        state_of(session, slug, now),
        extractor_choice.ExtractorChange(**body.model_dump()),
        weights=settings.weights_sha256,
        author=author,
        now=now,
    )
    return network_view(session, state_of(session, slug, now))
