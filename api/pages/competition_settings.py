"""The settings of a competition: what organizers change, what is missing before entries are taken, deleting a draft."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import ValidationError
from sqlalchemy.orm import Session

from api.http.dependencies import Caller, DbSession, Now, Organizer, SignedIn, Transactions
from api.http.forms import FormFields, text
from api.http.problem_details import status_of
from api.rendering import formatting
from api.rendering.templates import render_page, see_other
from scorer.competitions import competition_state, setup
from scorer.competitions.change_rules import LATER, fixed_fields
from scorer.competitions.competition_state import CompetitionState
from scorer.competitions.spec import MAX_TEXT_LENGTH, CompetitionChanges, CompetitionSpec
from scorer.errors import Conflict, Invalid, KennelError
from scorer.extractor_catalogue import EXTRACTORS
from scorer.lifecycle import TRACK_KINDS, Phase

router = APIRouter(prefix="/competitions/{slug}/settings", include_in_schema=False)
DONE_MESSAGES = {"changed": "It is changed."}
PRIZE_LINE = re.compile(r"(\d{1,9})\s*:\s*(\S.*)")
Kind = Literal["text", "area", "time", "number", "flag", "extractor", "prizes"]
HINTS = {"daily_limit": "Entries a team and UTC day; empty for no limit."}
"""Where the words of the specification are those of JSON."""
SPECIFICATION = CompetitionSpec.model_json_schema()["properties"]


@dataclass(frozen=True)
class FormField:
    """A field of the form. ``fixed``: why it cannot change any more; ``later``: when it may, once it is open."""

    name: str
    label: str
    kind: Kind
    value: str
    digest: str
    """Of the value in the database, so that it can be seen what was typed over, and what others change meanwhile."""
    hint: str
    fixed: str | None
    later: str | None
    bounds: Mapping[str, int]


Declared = tuple[str, str, Kind]
TEXTS: Sequence[Declared] = (
    ("title", "Title", "text"),
    ("slug", "Slug", "text"),
    ("description", "Description", "area"),
)
RULES: Sequence[Declared] = (("rules", "Rules", "area"),)
PARTS: Mapping[str, Sequence[Declared]] = {
    "Dates": (
        ("opens_at", "Opens", "time"),
        ("team_merge_deadline", "Teams may merge until", "time"),
        ("closes_at", "Closes", "time"),
        ("upload_grace_seconds", "Seconds of grace for uploads", "number"),
        ("review_days", "Days of review", "number"),
        ("appeal_days", "Days of appeal", "number"),
    ),
    "Who may enter, and how often": (
        ("invitation_only", "By invitation", "flag"),
        ("max_team_size", "Members of a team", "number"),
        ("daily_limit", "Entries a team and UTC day", "number"),
        ("pending_limit", "Entries in progress at once", "number"),
        ("rejected_limit", "Rejected uploads a team and UTC day", "number"),
        ("late_submissions", "Entries after the close", "flag"),
    ),
    "What is won": (
        ("final_picks", "Final picks of a team", "number"),
        ("medals.gold", "Gold to place", "number"),
        ("medals.silver", "Silver to place", "number"),
        ("medals.bronze", "Bronze to place", "number"),
        ("prizes", "Prizes", "prizes"),
    ),
    "Images and measuring": (
        ("image_count", "Images in an entry", "number"),
        ("image_size", "Pixels of a side", "number"),
        ("score_decimals", "Decimals of a score", "number"),
        ("public.extractor", "Public network", "extractor"),
        ("private.extractor", "Private network", "extractor"),
    ),
}
DECLARED = (*TEXTS, *RULES, *(field for part in PARTS.values() for field in part))


@router.api_route("", methods=["GET", "HEAD"])
def show_settings(
    slug: str, session: DbSession, author: Organizer, viewer: SignedIn, now: Now, done: str = ""
) -> Response:
    """The form, with what cannot change any more, and why."""
    return _page(session, slug, viewer, now, done=DONE_MESSAGES.get(done))


@router.post("")
def change_settings(
    slug: str, fields: FormFields, begin: Transactions, author: Organizer, viewer: SignedIn, now: Now
) -> Response:
    """Change what was typed over, whatever others have changed elsewhere; all of it, or nothing."""
    shown = {name: text(fields, f"shown.{name}") for name, _, _ in DECLARED if name in fields}
    typed = {name: value for name in shown if _digest(value := _typed(fields, name)) != shown[name]}
    try:
        with begin() as session:
            changes = _changes_of(competition_state.state_of(session, slug, now), typed, shown)
            setup.change(session, slug, changes, author=author, now=now)
    except KennelError as error:
        with begin() as session:
            return _page(session, slug, viewer, now, problem=error, typed=typed)
    return see_other(f"/competitions/{typed.get('slug', slug)}/settings?done=changed")


@router.post("/delete")
def delete_draft(
    slug: str, fields: FormFields, begin: Transactions, author: Organizer, viewer: SignedIn, now: Now
) -> Response:
    """Delete a draft, if its slug was typed once more."""
    try:
        if text(fields, "confirm").strip() != slug:
            raise Invalid("not-confirmed", f"To delete the draft, please type its slug: {slug}.")
        with begin() as session:
            setup.delete_draft(session, slug, author=author, now=now)
    except KennelError as error:
        with begin() as session:
            return _page(session, slug, viewer, now, problem=error, place="delete")
    return see_other("/")


def _page(
    session: Session,
    slug: str,
    viewer: Caller,
    now: Now,
    *,
    typed: Mapping[str, str] = {},
    problem: KennelError | None = None,
    **outcome: Any,
) -> Response:
    state = competition_state.state_of(session, slug, now)
    fixed = fixed_fields(setup.standing_of(session, state, now))
    values = _values_of(state)

    def shown(declared: Sequence[Declared]) -> list[FormField]:
        return [_field(each, values, typed, fixed, state.phase) for each in declared]

    return render_page(
        "competitions/settings.html",
        status=status_of(problem) if problem else 200,
        viewer=viewer,
        now=now,
        state=state,
        texts=shown(TEXTS),
        rules=shown(RULES),
        parts={title: shown(declared) for title, declared in PARTS.items()},
        extractors=[spec.identity for spec in EXTRACTORS.values()],
        problem=problem,
        **outcome,
    )


def _field(
    declared: Declared, values: Mapping[str, str], typed: Mapping[str, str], fixed: Mapping[str, str], phase: Phase
) -> FormField:
    name, label, kind = declared
    field, _, inner = name.partition(".")
    schema = SPECIFICATION[field]
    choices: list[dict[str, Any]] = schema.get("anyOf", [schema])
    numbers: dict[str, Any] = next((each for each in choices if each.get("type") == "integer"), {})
    bounds = {html: numbers[bound] for html, bound in (("min", "minimum"), ("max", "maximum")) if bound in numbers}
    later = None if phase is Phase.DRAFT else LATER.get(field)
    hint = "" if inner else HINTS.get(field) or schema.get("description", "")
    value = values[name]
    return FormField(name, label, kind, typed.get(name, value), _digest(value), hint, fixed.get(field), later, bounds)


def _typed(fields: FormFields, name: str) -> str:
    return text(fields, name, max_length=MAX_TEXT_LENGTH).replace("\r\n", "\n").strip()


def _values_of(state: CompetitionState) -> dict[str, str]:
    """A competition as its form shows it."""
    values = setup.values_of(state)
    shown = {name: _shown(values[name]) for name, _, kind in DECLARED if "." not in name and kind != "prizes"}
    shown |= {f"medals.{medal}": str(last) for medal, last in values["medals"].items()}
    shown |= {f"{kind}.extractor": values[kind]["extractor"] for kind in TRACK_KINDS}
    return shown | {"prizes": "\n".join(f"{prize['place']}: {prize['amount']}" for prize in values["prizes"])}


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return formatting.field(value) if hasattr(value, "tzinfo") else str(value).replace("\r\n", "\n").strip()


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()[:16]


def _changes_of(state: CompetitionState, typed: Mapping[str, str], shown: Mapping[str, str]) -> CompetitionChanges:
    """What was typed; ``Conflict`` if somebody else has changed the same field since the form was shown, ``Invalid``
    for what is no value of its field."""
    values = _values_of(state)
    if any(_digest(values[name]) != shown[name] for name in typed):
        raise Conflict("changed-meanwhile", "Somebody else has changed this meanwhile: please look at it again.")
    kinds = {name: kind for name, _, kind in DECLARED}
    wanted: dict[str, Any] = {}
    for name, value in typed.items():
        field, _, inner = name.partition(".")
        if field == "medals":
            medals = ((medal, f"medals.{medal}") for medal in state.competition.medals)
            wanted[field] = {medal: typed.get(name, values[name]) for medal, name in medals}
        elif inner:
            wanted[field] = {inner: value}
        else:
            wanted[field] = _parsed(kinds[name], value)
    try:
        return CompetitionChanges.model_validate(wanted)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
        raise Invalid("bad-settings", "This is no value for it.", faults=faults) from None


def _parsed(kind: Kind, value: str) -> Any:
    if kind == "prizes":
        return [_prize_in(line) for line in value.splitlines() if line.strip()]
    if kind in {"time", "number"} and not value:
        return None
    return f"{value}Z" if kind == "time" else value


def _prize_in(line: str) -> dict[str, str]:
    prize = PRIZE_LINE.fullmatch(line.strip())
    if prize is None:
        raise Invalid("bad-settings", f"A prize is a line such as 1: $5,000. This is none: {line.strip()[:100]}")
    return {"place": prize[1], "amount": prize[2]}
