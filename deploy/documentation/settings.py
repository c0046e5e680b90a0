"""``docs/reference/settings.md``: the settings of operators and organizers."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from api.http.rate_limits import RATE_LIMITS
from deploy.documentation.markdown import code, page, table, text
from scorer.competitions.change_rules import LATER
from scorer.competitions.spec import CompetitionSpec
from scorer.generators.recovery.plan import AuditPlan
from scorer.settings import FILE_SUFFIX, Settings, find_variable, is_secret

CLIENT = (
    ("KENNEL_URL", "The service's URL, for all commands that call it."),
    ("KENNEL_TOKEN", "The API token for these commands; takes precedence over the token stored by `kennel login`."),
)
STORE = (
    ("AWS_ENDPOINT", "The address of the S3-compatible server. Default: Amazon's own."),
    ("AWS_REGION", "Its region; `auto` if the server has none."),
    ("AWS_ACCESS_KEY_ID", "The key's name."),
    ("AWS_SESSION_TOKEN", "The token of a temporary key."),
    ("AWS_ALLOW_HTTP", "`true` for a server without TLS."),
)
Row = tuple[str, ...]


def settings_page() -> str:
    """The page: the service's settings, rate limits, S3, the command's variables, a competition's fields."""
    return page(
        "Settings",
        "## The service",
        "Every setting is an environment variable, read once when a process starts. `kennel up` chooses values "
        "for required settings. An empty variable counts as unset. A secret can be in a file instead: "
        "`DATABASE_PASSWORD_FILE` names the file with `DATABASE_PASSWORD`, and so on.",
        table(("variable", "type", "default", "meaning"), _settings()),
        "## Rate limits",
        "`KENNEL_RATES` (JSON, by name) replaces these defaults.",
        table(("name", "limit"), ((code(name), code(limit)) for name, limit in RATE_LIMITS.items())),
        "## Latent recovery",
        (
            "`KENNEL_RECOVERY` (JSON, by name) replaces these defaults, which determine how thoroughly a generator "
            "is searched for images."
        ),
        table(
            ("name", "default"),
            ((code(name), code(json.dumps(value))) for name, value in AuditPlan().as_json().items()),
        ),
        "## S3",
        "If `BLOB_URL` begins with `s3://`, the store's client reads these variables, and others with the same "
        "prefix. The key needs the rights `s3:GetObject`, `s3:PutObject`, `s3:DeleteObject`, "
        "`s3:AbortMultipartUpload`, `s3:ListMultipartUploadParts` and, on the bucket, `s3:ListBucket`. Without "
        "`s3:ListBucket` the cleanup finds no lost files, and Amazon's S3 responds with 403 for a file that does "
        "not exist.",
        table(("variable", "meaning"), ((code(name), meaning) for name, meaning in STORE)),
        "## The command",
        table(("variable", "meaning"), ((code(name), meaning) for name, meaning in CLIENT)),
        "## A competition",
        "The fields of the TOML file of `kennel admin competition create` and of `POST /api/v1/competitions`. In "
        "a draft, `kennel admin competition update` and `PATCH` can change all of them. The last column shows "
        "which fields can change later, and how.",
        table(("field", "type", "default", "meaning", "later"), _competition()),
    )


def variables() -> frozenset[str]:
    """The names of all environment variables that the page describes."""
    names = {find_variable(name) for name in Settings.model_fields}
    files = {find_variable(name) + FILE_SUFFIX for name, field in Settings.model_fields.items() if is_secret(field)}
    return frozenset(names | files | {name for name, _ in (*CLIENT, *STORE)})


def _settings() -> Iterator[Row]:
    schema = Settings.model_json_schema(by_alias=False)
    for name in Settings.model_fields:
        field = schema["properties"][name]
        yield code(find_variable(name)), _type(field), _default(name, field, schema), text(field.get("description"))


def _competition() -> Iterator[Row]:
    schema = CompetitionSpec.model_json_schema()
    for path, field, default in _leaves(schema, schema, ""):
        changeable = LATER.get(path) or LATER.get(path.partition(".")[0].removesuffix("[]"), "yes")
        yield code(path), _type(field), default, text(field.get("description")), changeable


def _leaves(
    of: Mapping[str, Any], schema: Mapping[str, Any], prefix: str
) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """Every field (path, JSON schema, default); the fields of inner tables have dotted paths."""
    for name, field in of["properties"].items():
        inner = _inner(field, schema)
        path = f"{prefix}{name}"
        if inner is None:
            yield path, field, _default(name, field, of)
        else:
            yield from _leaves(inner, schema, f"{path}[]." if field.get("type") == "array" else f"{path}.")


def _inner(field: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema of a field that is a table or a list of tables, else None."""
    reference = field.get("$ref") or field.get("items", {}).get("$ref")
    definition: Mapping[str, Any] | None = schema["$defs"][reference.rpartition("/")[2]] if reference else None
    return definition


def _type(field: Mapping[str, Any]) -> str:
    """The type of a field as text, from its JSON schema, with its bounds."""
    choices = [choice for choice in field.get("anyOf", [field]) if choice.get("type") != "null"]
    return " or ".join(_one_type(choice) for choice in choices)


def _one_type(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return " or ".join(code(value) for value in field["enum"])
    words = {"object": "JSON", "integer": "integer", "number": "number", "boolean": "true or false"}
    known = {"date-time": "time with a time zone", "password": "text, secret", "path": "path"}
    name = known.get(field.get("format", "")) or words.get(field.get("type", ""), "text")
    return ", ".join([name, *_bounds(field)])


def _bounds(field: Mapping[str, Any]) -> Iterator[str]:
    """The bounds of a number or of a text's length, as text."""
    words = {
        "minimum": "at least {}",
        "exclusiveMinimum": "above {}",
        "maximum": "at most {}",
        "exclusiveMaximum": "below {}",
        "maxLength": "at most {} characters",
    }
    for key, bound in words.items():
        if key in field:
            yield bound.format(f"{field[key]:,}")


def _default(name: str, field: Mapping[str, Any], of: Mapping[str, Any]) -> str:
    """The default of a field as JSON, or a text for fields without one."""
    if name == "scratch":
        return "the user's cache folder"
    if "default" not in field:
        return "**required**" if name in of.get("required", ()) else ""
    default = field["default"]
    if default is None:
        return "none"
    plain = isinstance(default, str)
    return code(default if plain else json.dumps(default)) if default not in ("", "**********", []) else "empty"
