"""``docs/reference/settings.md``: what an operator and an organizer can set."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from deploy.documentation.markdown import code, page, table, text
from scorer.accounts.rate_limits import RATE_LIMITS
from scorer.competitions.spec import CompetitionChanges, CompetitionSpec
from scorer.generators.recovery.plan import Plan
from scorer.settings import Settings

CLIENT = (
    ("KENNEL_URL", "Where the service is: for all commands that call it."),
    ("KENNEL_TOKEN", "The API token with which they call it; it wins over the one that `kennel login` has kept."),
)
STORE = (
    ("AWS_ENDPOINT", "The address of the S3-compatible server; Amazon's own if left out."),
    ("AWS_REGION", "Its region."),
    ("AWS_ACCESS_KEY_ID", "The key's name."),
    ("AWS_SECRET_ACCESS_KEY", "The key."),
    ("AWS_ALLOW_HTTP", "`true` for a server without TLS."),
)
Row = tuple[str, ...]


def settings_page() -> str:
    """The page: the service's settings, rate limits, S3, the command's variables, a competition's fields."""
    return page(
        "Settings",
        "## The service",
        "Every setting is an environment variable, read once when a process starts. `kennel up` finds "
        "values of its own for those that are required.",
        table(("variable", "type", "default", "meaning"), _settings()),
        "## Rate limits",
        "What `KENNEL_RATES` (JSON, by name) replaces.",
        table(("name", "limit"), ((code(name), code(limit)) for name, limit in RATE_LIMITS.items())),
        "## Latent recovery",
        "What `KENNEL_RECOVERY` (JSON, by name) replaces: how thoroughly a generator is searched for images.",
        table(("name", "default"), ((code(name), code(json.dumps(value))) for name, value in Plan().as_json().items())),
        "## S3",
        "Where `BLOB_URL` begins with `s3://`, the store's client reads these variables, and others of its kind.",
        table(("variable", "meaning"), ((code(name), words) for name, words in STORE)),
        "## The command",
        table(("variable", "meaning"), ((code(name), words) for name, words in CLIENT)),
        "## A competition",
        "The fields of the TOML file of `kennel admin create` and of `POST /api/v1/competitions`. The last column says "
        "which `kennel admin update` and `PATCH` can change later.",
        table(("field", "type", "default", "meaning", "later"), _competition()),
    )


def variables() -> frozenset[str]:
    """The names of all environment variables that the page describes."""
    names = {_variable(name) for name in Settings.model_fields}
    return frozenset(names | {name for name, _ in (*CLIENT, *STORE)})


def _variable(name: str) -> str:
    return str(Settings.model_fields[name].validation_alias or f"KENNEL_{name.upper()}")


def _settings() -> Iterator[Row]:
    schema = Settings.model_json_schema(by_alias=False)
    for name in Settings.model_fields:
        about = schema["properties"][name]
        yield code(_variable(name)), _type(about), _default(name, about, schema), text(about.get("description"))


def _competition() -> Iterator[Row]:
    schema = CompetitionSpec.model_json_schema()
    for path, about, default in _leaves(schema, schema, ""):
        changeable = "yes" if path in CompetitionChanges.model_fields else ""
        yield code(path), _type(about), default, text(about.get("description")), changeable


def _leaves(
    of: Mapping[str, Any], schema: Mapping[str, Any], prefix: str
) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """Every field (path, JSON schema, default), those of tables within it under a dotted path."""
    for name, about in of["properties"].items():
        inner, path = _inner(about, schema), f"{prefix}{name}"
        if inner is None:
            yield path, about, _default(name, about, of)
        else:
            yield from _leaves(inner, schema, f"{path}[]." if about.get("type") == "array" else f"{path}.")


def _inner(about: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The table that a field is, or that the members of its list are."""
    reference = about.get("$ref") or about.get("items", {}).get("$ref")
    found: Mapping[str, Any] | None = schema["$defs"][reference.rpartition("/")[2]] if reference else None
    return found


def _type(about: Mapping[str, Any]) -> str:
    """The type of a field in words, from its JSON schema, with its bounds."""
    choices = [each for each in about.get("anyOf", [about]) if each.get("type") != "null"]
    return " or ".join(_one_type(each) for each in choices)


def _one_type(about: Mapping[str, Any]) -> str:
    if "enum" in about:
        return " or ".join(code(value) for value in about["enum"])
    words = {"object": "JSON", "integer": "integer", "number": "number", "boolean": "true or false"}
    known = {"date-time": "time with its zone", "password": "text, secret", "path": "path"}
    name = known.get(about.get("format", "")) or words.get(about.get("type", ""), "text")
    return ", ".join([name, *_bounds(about)])


def _bounds(about: Mapping[str, Any]) -> Iterator[str]:
    """The bounds of a number, or of a text's length, in words."""
    words = {
        "minimum": "at least {}",
        "exclusiveMinimum": "above {}",
        "maximum": "at most {}",
        "exclusiveMaximum": "below {}",
        "maxLength": "at most {} characters",
    }
    for key, bound in words.items():
        if key in about:
            yield bound.format(f"{about[key]:,}")


def _default(name: str, about: Mapping[str, Any], of: Mapping[str, Any]) -> str:
    """The default of a field as JSON; what stands for it where there is none."""
    if name == "scratch":
        return "the user's cache folder"
    if "default" not in about:
        return "**required**" if name in of.get("required", ()) else ""
    default = about["default"]
    if default is None:
        return "none"
    plain = isinstance(default, str)
    return code(default if plain else json.dumps(default)) if default not in ("", "**********") else "empty"
