"""The private track's extractor: comparing candidates and choosing one."""

from api.http.dependencies import ActingOrganizer, AppSettings
from api.http.routing import ApiRouter
from api.tuning.private_extractor.views import (
    NewComparison,
    NewPrivateExtractor,
    PrivateExtractorView,
    private_extractor_view,
)
from scorer.competitions.competition_state import state_of
from scorer.tuning import extractor_choice, extractor_comparison
from scorer.tuning.extractor_comparison import ComparisonStatus

router = ApiRouter(prefix="/competitions/{slug}/private-extractor", tags=["extractors"])


@router.get("")
def show(slug: str, acting: ActingOrganizer) -> PrivateExtractorView:
    """The private track's extractor, how far its scoring is, and the newest comparison. Organizers only."""
    return private_extractor_view(acting.session, state_of(acting.session, slug, acting.now))


@router.post("/comparisons", status_code=202)
def compare(slug: str, body: NewComparison, acting: ActingOrganizer, settings: AppSettings) -> ComparisonStatus:
    """Have every labelled entry measured in the feature spaces of other extractors, after all scoring. Measurements
    that exist are not repeated."""
    state = state_of(acting.session, slug, acting.now)
    extractor_comparison.start_comparison(acting, state, **body.model_dump(), weights=settings.weights_sha256)
    return extractor_comparison.comparison_status(acting.session, state)


@router.put("")
def choose(
    slug: str, body: NewPrivateExtractor, acting: ActingOrganizer, settings: AppSettings
) -> PrivateExtractorView:
    """Give the private track another extractor, until a board is published: every entry is scored again, and
    tau starts anew. The references must be prepared for it; a comparison does that."""
    state = state_of(acting.session, slug, acting.now)
    extractor_choice.replace_extractor(acting, state, **body.model_dump(), weights=settings.weights_sha256)
    return private_extractor_view(acting.session, state_of(acting.session, slug, acting.now))
