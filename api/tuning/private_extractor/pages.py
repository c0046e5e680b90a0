"""Compares extractors on labelled entries and chooses the private track's extractor."""

from typing import Any

from fastapi.responses import Response

from api.http.dependencies import ActingOrganizer, AppSettings, KnownViewer, SignedIn, Viewer
from api.http.forms import FormFields, number_field, refusal_on, require_reason, text
from api.http.routing import Router
from api.rendering.templates import render_page, see_other
from api.tuning.private_extractor.views import private_extractor_view
from scorer.acting import Acting
from scorer.competitions import competition_state
from scorer.lifecycle import STAGES
from scorer.tuning import extractor_choice, extractor_comparison

router = Router(include_in_schema=False)


@router.api_route("/competitions/{slug}/private-extractor", methods=["GET", "HEAD"])
def show_private_extractor(slug: str, acting: ActingOrganizer, viewer: KnownViewer) -> Response:
    return _page(acting, slug, viewer)


def _page(acting: Acting, slug: str, viewer: Viewer, **outcome: Any) -> Response:
    state = competition_state.load_state(acting.session, slug, acting.now)
    view = private_extractor_view(acting.session, state)
    compared = view.comparison.extractors
    return render_page(
        "tuning/private_extractor/show.html",
        viewer=viewer,
        now=acting.now,
        state=state,
        view=view,
        stages=STAGES,
        choosable=[other.extractor for other in compared if not other.present and other.state != "preparing"],
        busy=view.waiting > 0 or any(extractor.state in {"preparing", "measuring"} for extractor in compared),
        **outcome,
    )


@router.post("/competitions/{slug}/private-extractor/comparisons")
def start_comparison(
    slug: str, fields: FormFields, acting: ActingOrganizer, viewer: SignedIn, settings: AppSettings
) -> Response:
    state = competition_state.load_state(acting.session, slug, acting.now)
    wanted = [name[:100] for name in fields.getlist("extractor")]
    with refusal_on(_page, acting, slug, viewer, place="compare"):
        extractor_comparison.start_comparison(
            acting, state, wanted, early_labels="early_labels" in fields, weights=settings.weights_sha256
        )
    return see_other(f"/competitions/{slug}/private-extractor")


@router.post("/competitions/{slug}/private-extractor")
def choose_extractor(
    slug: str, fields: FormFields, acting: ActingOrganizer, viewer: SignedIn, settings: AppSettings
) -> Response:
    state = competition_state.load_state(acting.session, slug, acting.now)
    reason = text(fields, "reason", max_length=2000).strip()
    with refusal_on(_page, acting, slug, viewer, place="choose"):
        require_reason(reason)
        tau = number_field(fields, "tau", float)
        weights = settings.weights_sha256
        extractor_choice.replace_extractor(
            acting, state, text(fields, "extractor"), reason=reason, tau=tau, weights=weights
        )
    return see_other(f"/competitions/{slug}/private-extractor")
