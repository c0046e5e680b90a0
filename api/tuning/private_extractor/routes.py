"""The private track's extractor: comparing and choosing extractors."""

from api.http.dependencies import ActingOrganizer, AppSettings
from api.http.routing import ApiRouter
from api.tuning.private_extractor.views import (
    NewComparison,
    NewPrivateExtractor,
    PrivateExtractorView,
    private_extractor_view,
)
from scorer.competitions.competition_state import load_state
from scorer.tuning import extractor_choice, extractor_comparison
from scorer.tuning.extractor_comparison import ComparisonStatus

router = ApiRouter(prefix="/competitions/{slug}/private-extractor", tags=["extractors"])


@router.get("")
def show(slug: str, acting: ActingOrganizer) -> PrivateExtractorView:
    """Get the private track's extractor, the progress of its scoring, and the latest comparison. Organizers only."""
    return private_extractor_view(acting.session, load_state(acting.session, slug, acting.now))


@router.post("/comparisons", status_code=202)
def compare(slug: str, body: NewComparison, acting: ActingOrganizer, settings: AppSettings) -> ComparisonStatus:
    """Compare other extractors with the private track's. All labelled submissions are measured in their feature spaces
    when no other jobs are waiting; existing measurements are reused."""
    state = load_state(acting.session, slug, acting.now)
    extractor_comparison.start_comparison(acting, state, **body.model_dump(), weights=settings.weights_sha256)
    return extractor_comparison.comparison_status(acting.session, state)


@router.put("")
def choose(
    slug: str, body: NewPrivateExtractor, acting: ActingOrganizer, settings: AppSettings
) -> PrivateExtractorView:
    """Change the private track's extractor, until a board is published. All submissions are scored again, and tau is
    reset. The references must be prepared for the new extractor: compare it first."""
    state = load_state(acting.session, slug, acting.now)
    extractor_choice.replace_extractor(acting, state, **body.model_dump(), weights=settings.weights_sha256)
    return private_extractor_view(acting.session, load_state(acting.session, slug, acting.now))
