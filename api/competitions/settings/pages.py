"""The settings of a competition: the form, the open tasks before entries are accepted, and deleting a draft."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.responses import Response
from sqlalchemy.orm import Session

from api.competitions.settings.form import (
    DECLARED,
    PARTS,
    SPECIFICATION,
    Declared,
    FormField,
    extractor_choices,
    form_field,
    hash_value,
    parsed,
    shown_values,
    typed_in,
)
from api.http.dependencies import (
    ActingOrganizer,
    AppSettings,
    CompetitionCreator,
    DbSession,
    Now,
    Organizer,
    SignedIn,
    Transactions,
    Viewer,
)
from api.http.forms import FormFields, refusal_on, text
from api.http.routing import Router
from api.http.transactions import in_transaction
from api.rendering.templates import render_page, see_other
from scorer.acting import Acting
from scorer.competitions import competition_state, setup
from scorer.competitions.change_rules import LATER, fixed_fields
from scorer.competitions.competition_state import CompetitionState
from scorer.competitions.spec import CompetitionChanges, CompetitionSpec
from scorer.competitions.worker_weights import installed_defaults, preparing_workers
from scorer.errors import Conflict, Invalid
from scorer.extractor_catalogue import find_extractor
from scorer.lifecycle import Phase

router = Router(prefix="/competitions/{slug}/settings", include_in_schema=False)
DONE_MESSAGES = {
    "changed": "Settings saved.",
    "created": "Draft created. Set an opening time to open the competition.",
}


@router.api_route("", methods=["GET", "HEAD"])
def show_settings(slug: str, acting: ActingOrganizer, viewer: SignedIn, done: str = "") -> Response:
    return _page(acting.session, slug, viewer, now=acting.now, done=DONE_MESSAGES.get(done))


@router.post("")
def change_settings(
    slug: str,
    fields: FormFields,
    begin: Transactions,
    settings: AppSettings,
    author: Organizer,
    viewer: SignedIn,
    now: Now,
) -> Response:
    """Save the changed fields, all or none of them. Others may change different fields at the same time."""
    shown = {name: text(fields, f"shown.{name}") for name, _, _ in DECLARED if name in fields}
    typed = {name: value for name in shown if hash_value(value := typed_in(fields, name)) != shown[name]}
    with refusal_on(in_transaction(begin, _page), slug, viewer, now=now, typed=typed), begin() as session:
        changes = _parse_changes(competition_state.load_state(session, slug, now), typed, shown)
        setup.change(Acting(session, author, now), slug, changes, draw_key=settings.draw_key)
    return see_other(f"/competitions/{typed.get('slug', slug)}/settings?done=changed")


@router.post("/delete")
def delete_draft(
    slug: str, fields: FormFields, begin: Transactions, author: Organizer, viewer: SignedIn, now: Now
) -> Response:
    with refusal_on(in_transaction(begin, _page), slug, viewer, now=now, place="delete"), begin() as session:
        if text(fields, "confirm").strip() != slug:
            raise Invalid("not-confirmed", f"The slug does not match. To delete the draft, type {slug}.")
        setup.delete_draft(Acting(session, author, now), slug)
    return see_other("/")


def _page(
    session: Session,
    /,
    slug: str,
    viewer: Viewer,
    *,
    now: Now,
    typed: Mapping[str, str] = {},
    **outcome: Any,
) -> Response:
    state = competition_state.load_state(session, slug, now)
    fixed = fixed_fields(setup.load_change_facts(session, state, now))
    values = shown_values(setup.read_spec_values(state))
    later = {} if state.phase is Phase.DRAFT else LATER

    def shown(declared: Sequence[Declared]) -> list[FormField]:
        return [form_field(declared_field, values, typed, fixed=fixed, later=later) for declared_field in declared]

    return render_page(
        "competitions/settings/show.html",
        viewer=viewer,
        now=now,
        state=state,
        parts={
            title: shown(declared)
            for title, declared in PARTS.items()
            if title != "Draws" or state.competition.entries == "generator"
        },
        extractors=extractor_choices(preparing_workers(session)),
        **outcome,
    )


def _parse_changes(state: CompetitionState, typed: Mapping[str, str], shown: Mapping[str, str]) -> CompetitionChanges:
    """The typed changes; ``Conflict`` if somebody else has changed the same field since the form was loaded."""
    values = shown_values(setup.read_spec_values(state))
    if any(hash_value(values[name]) != shown[name] for name in typed):
        raise Conflict(
            "changed-meanwhile", "Somebody else has changed these settings in the meantime. Check them and save again."
        )
    return parsed(CompetitionChanges, typed)


new_competition = Router(prefix="/new-competition", include_in_schema=False)
ASKED = {"title", "slug", "entries", "image_count", "image_size", "public.extractor", "private.extractor"}
FORM = tuple(field for field in DECLARED if field[0] in ASKED)
DEFAULTS = {name: str(SPECIFICATION.get(name, {}).get("default", "")) for name, _, _ in FORM}


@new_competition.api_route("", methods=["GET", "HEAD"])
def show_form(session: DbSession, author: CompetitionCreator, viewer: SignedIn) -> Response:
    return _new_page(session, viewer)


@new_competition.post("")
def create_competition(
    fields: FormFields,
    begin: Transactions,
    settings: AppSettings,
    author: CompetitionCreator,
    viewer: SignedIn,
    now: Now,
) -> Response:
    typed = {name: typed_in(fields, name) for name, _, _ in FORM}
    with refusal_on(in_transaction(begin, _new_page), viewer, typed), begin() as session:
        spec = parsed(CompetitionSpec, typed)
        setup.create(Acting(session, author, now), spec, draw_key=settings.draw_key)
    return see_other(f"/competitions/{spec.slug}/settings?done=created")


def _new_page(session: Session, /, viewer: Viewer, typed: Mapping[str, str] = {}, **outcome: Any) -> Response:
    workers = preparing_workers(session)
    defaults = {
        f"{kind}.extractor": find_extractor(name).identity for kind, name in installed_defaults(workers).items()
    }
    return render_page(
        "competitions/settings/new.html",
        viewer=viewer,
        fields=[form_field(field, DEFAULTS | defaults, typed) for field in FORM],
        extractors=extractor_choices(workers),
        **outcome,
    )
