"""The form for a new competition: what has no default; all else is among the settings of the draft."""

from collections.abc import Mapping

from fastapi.responses import Response
from sqlalchemy.orm import Session

from api.http.dependencies import Caller, CompetitionCreator, DbSession, Now, SignedIn, Transactions
from api.http.forms import FormFields
from api.http.problem_details import status_of
from api.pages.competition_form import DECLARED, SPECIFICATION, extractor_choices, form_field, parsed, typed_in
from api.rendering.templates import render_page, see_other
from api.routing import Router
from scorer.competitions import setup
from scorer.competitions.spec import CompetitionSpec
from scorer.competitions.worker_weights import installed_defaults, preparing_workers
from scorer.errors import KennelError
from scorer.extractor_catalogue import find_extractor

router = Router(prefix="/new-competition", include_in_schema=False)
ASKED = {"title", "slug", "image_count", "image_size", "public.extractor", "private.extractor"}
FORM = tuple(each for each in DECLARED if each[0] in ASKED)
DEFAULTS = {name: str(SPECIFICATION.get(name, {}).get("default", "")) for name, _, _ in FORM}


@router.api_route("", methods=["GET", "HEAD"])
def show_form(session: DbSession, author: CompetitionCreator, viewer: SignedIn) -> Response:
    """The form."""
    return _page(session, viewer)


@router.post("")
def create_competition(
    fields: FormFields, begin: Transactions, author: CompetitionCreator, viewer: SignedIn, now: Now
) -> Response:
    """Create the draft, and go on to its settings."""
    typed = {name: typed_in(fields, name) for name, _, _ in FORM}
    try:
        spec = parsed(CompetitionSpec, typed)
        with begin() as session:
            setup.create(session, spec, author=author, now=now)
    except KennelError as error:
        with begin() as session:
            return _page(session, viewer, typed, error)
    return see_other(f"/competitions/{spec.slug}/settings?done=created")


def _page(
    session: Session, viewer: Caller, typed: Mapping[str, str] = {}, problem: KennelError | None = None
) -> Response:
    workers = preparing_workers(session)
    defaults = {
        f"{kind}.extractor": find_extractor(name).identity for kind, name in installed_defaults(workers).items()
    }
    return render_page(
        "competitions/new.html",
        status=status_of(problem) if problem else 200,
        viewer=viewer,
        fields=[form_field(each, DEFAULTS | defaults, typed) for each in FORM],
        extractors=extractor_choices(workers),
        problem=problem,
    )
