"""The form of a competition's fields: showing and parsing them."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from api.http.forms import FormFields, text
from api.rendering import formatting
from scorer.competitions.spec import MAX_TEXT_LENGTH, CompetitionSpec
from scorer.competitions.worker_weights import missing_weights
from scorer.db.tables import WorkerReport
from scorer.errors import Invalid
from scorer.extractor_catalogue import EXTRACTORS
from scorer.generators.onnx_files import Distribution

PRIZE_LINE = re.compile(r"(\d{1,9})\s*:\s*(\S.*)")
INTEGER = re.compile(r"(-?[0-9]{1,9})(\.0*)?")
FLAGS = {"yes": True, "no": False}
CHOICES: Mapping[str, Mapping[str, str]] = {
    "entries": {"images": "images, in a zip", "generator": "a generator, in an ONNX file"},
    "draws.distribution": {name: name for name in get_args(Distribution)},
}
"""The options of the fields of the kind ``choice``, with their labels."""
Kind = Literal["text", "area", "time", "number", "choice", "flag", "extractor", "prizes"]
HINTS = {
    "slug": "The name in URLs and commands. Use lower-case letters, digits and single hyphens.",
    "daily_limit": "Per team. Leave empty for no limit.",
    "entries": "The service draws a generator's images itself, so that no team can pick them.",
    "draws.distribution": "For generators that declare no other.",
    "draws.minutes": "A generator that needs longer is rejected.",
    "draws.release": "With the images of an entry, a data release then also contains its generator.",
    "draws.classes": "A one-hot class follows the latent. Leave empty for generators without classes.",
    "public.extractor": "The extractor of the public scores.",
    "private.extractor": "The extractor of the final scores. Only organizers can see it until a board is published.",
}
"""Replacements for descriptions of the specification that do not fit a form."""
CONSTRAINTS = {"minimum": "min", "maximum": "max", "maxLength": "maxlength", "pattern": "pattern"}
"""JSON Schema keywords and their HTML attributes."""
_SCHEMA = CompetitionSpec.model_json_schema()
SPECIFICATION = _SCHEMA["properties"]
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class FormField:
    """``fixed``: why the field can no longer change. ``later``: when it can change after the competition opens."""

    name: str
    label: str
    kind: Kind
    value: str
    digest: str
    """The digest of the value in the database. It shows which fields the user and others have changed."""
    hint: str
    constraints: Mapping[str, str | int]
    choices: Mapping[str, str]
    """The options of a flag or a choice, with their labels."""
    fixed: str | None
    later: str | None


Declared = tuple[str, str, Kind]
PARTS: Mapping[str, Sequence[Declared]] = {
    "Texts": (
        ("title", "Title", "text"),
        ("slug", "Slug", "text"),
        ("description", "Description", "area"),
        ("rules", "Rules", "area"),
    ),
    "Dates": (
        ("opens_at", "Opening time", "time"),
        ("team_merge_deadline", "Team merge deadline", "time"),
        ("closes_at", "Deadline for entries", "time"),
        ("upload_grace_seconds", "Grace period for uploads in seconds", "number"),
        ("review_days", "Review period in days", "number"),
        ("appeal_days", "Appeal period in days", "number"),
    ),
    "Participation": (
        ("invitation_only", "By invitation only", "flag"),
        ("max_team_size", "Members per team", "number"),
        ("daily_limit", "Entries per UTC day", "number"),
        ("pending_limit", "Entries in progress", "number"),
        ("rejected_limit", "Rejected uploads per UTC day", "number"),
        ("late_submissions", "Late entries", "flag"),
    ),
    "Ranking and prizes": (
        ("final_picks", "Final picks per team", "number"),
        ("medals.gold", "Last rank with gold", "number"),
        ("medals.silver", "Last rank with silver", "number"),
        ("medals.bronze", "Last rank with bronze", "number"),
        ("prizes", "Prizes", "prizes"),
    ),
    "Entries and scoring": (
        ("entries", "Teams submit", "choice"),
        ("image_count", "Images per entry or draw", "number"),
        ("image_size", "Width and height in pixels", "number"),
        ("score_decimals", "Score decimals", "number"),
        ("public.extractor", "Public extractor", "extractor"),
        ("private.extractor", "Private extractor", "extractor"),
    ),
    "Draws": (
        ("draws.public", "Draws for the public score", "number"),
        ("draws.private", "Draws for the final score", "number"),
        ("draws.distribution", "Latent distribution", "choice"),
        ("draws.classes", "Classes", "number"),
        ("draws.minutes", "Minutes for all draws of an entry", "number"),
        ("draws.release", "Generators in data releases", "flag"),
    ),
}
DECLARED = tuple(field for part in PARTS.values() for field in part)


def form_field(
    declared: Declared,
    values: Mapping[str, str],
    typed: Mapping[str, str],
    *,
    fixed: Mapping[str, str] = {},
    later: Mapping[str, str] = {},
) -> FormField:
    """A field with its value, or with the ``typed`` value."""
    name, label, kind = declared
    field, _, inner = name.partition(".")
    schema = _schema_of(field, inner)
    variants: list[dict[str, Any]] = schema.get("anyOf", [schema])
    constraints = {html: variant[word] for variant in variants for word, html in CONSTRAINTS.items() if word in variant}
    value = values[name]
    return FormField(
        name,
        label,
        kind,
        value=typed.get(name, value),
        digest=hash_value(value),
        hint=HINTS.get(name) or ("" if inner else schema.get("description", "")),
        constraints=constraints,
        choices=dict(zip(FLAGS, FLAGS, strict=True)) if kind == "flag" else CHOICES.get(name, {}),
        fixed=fixed.get(field),
        later=later.get(name, later.get(field)),
    )


def _schema_of(field: str, inner: str) -> dict[str, Any]:
    """The JSON Schema of a field, or of the ``inner`` field of its model."""
    schema: dict[str, Any] = SPECIFICATION[field]
    return _SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]["properties"][inner] if inner else schema


def extractor_choices(workers: Sequence[WorkerReport]) -> dict[str, str]:
    """The options of a field of the kind ``extractor``, with labels for weights that none of the workers has."""
    return {
        name: f"{name} (no worker has its weights)" if missing_weights(name, workers) else name
        for name in (spec.identity for spec in EXTRACTORS.values())
    }


def typed_in(fields: FormFields, name: str) -> str:
    """The value of a field, with the browsers' CRLF as LF."""
    return text(fields, name, max_length=2 * MAX_TEXT_LENGTH).replace("\r\n", "\n").strip()


def hash_value(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()[:16]


def shown_values(values: Mapping[str, Any]) -> dict[str, str]:
    shown = {"prizes": "\n".join(f"{prize['place']}: {prize['amount']}" for prize in values["prizes"])}
    for name, _, _ in DECLARED:
        field, _, inner = name.partition(".")
        shown.setdefault(name, _shown(values[field][inner] if inner else values[field]))
    return shown


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return formatting.field(value) if hasattr(value, "tzinfo") else str(value).replace("\r\n", "\n").strip()


def parsed(model: type[Model], typed: Mapping[str, str]) -> Model:
    """Parse typed values as fields of a specification; ``Invalid`` for an invalid value."""
    kinds = {name: kind for name, _, kind in DECLARED}
    wanted: dict[str, Any] = {}
    for name, value in typed.items():
        field, _, inner = name.partition(".")
        if inner:
            wanted.setdefault(field, {})[inner] = _parsed(kinds[name], value)
        else:
            wanted[field] = _parsed(kinds[name], value)
    try:
        return model.model_validate(wanted)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()]
        raise Invalid(
            "bad-settings", "Some settings are invalid. Correct them and save again.", faults=faults
        ) from None


def _parsed(kind: Kind, value: str) -> Any:
    if kind == "prizes":
        return [_prize_in(line) for line in value.splitlines() if line.strip()]
    if kind in {"time", "number", "extractor"} and not value:
        return None
    if kind == "number":
        return _number_in(value)
    if kind == "flag":
        return FLAGS.get(value, value)
    return f"{value}Z" if kind == "time" else value


def _number_in(value: str) -> int | str:
    """The typed number; other text stays, and validation refuses it."""
    number = INTEGER.fullmatch(value)
    return int(number[1]) if number else value


def _prize_in(line: str) -> dict[str, Any]:
    prize = PRIZE_LINE.fullmatch(line.strip())
    if prize is None:
        raise Invalid(
            "bad-settings", f"{line.strip()[:100]!r} is not a prize. Write one prize per line, such as 1: $5,000."
        )
    return {"place": int(prize[1]), "amount": prize[2]}
