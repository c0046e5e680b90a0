"""``kennel admin`` matches the OpenAPI document. Each command runs against a service that is built from the document,
and every operation for organizers, reviewers and admins has a command."""

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args, get_origin
from urllib.parse import unquote

import httpx
import pytest
import typer
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from jsonschema import Draft202012Validator

from api.http import dependencies
from api.main import create_app
from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.main import make_admin
from scorer.settings import Settings

PREFIX = "/api/v1"
CONTENT = b"The content of a file."
FINISHED = ("done", "measured")
"""States that commands wait for."""
TIME = "2026-03-14T12:00:00Z"
ROLES = {
    dependencies.admin,
    dependencies.any_organizer,
    dependencies.competition_creator,
    dependencies.organizer,
    dependencies.reviewer,
}
AN_IMAGE = "an image on a page"
NEEDS_SESSION = "needs a session: use `account create` and `set-role` on the server, or the page /admin/accounts"
WITHOUT_COMMAND = {
    "POST /admin/accounts": NEEDS_SESSION,
    "PUT /accounts/{handle}/role": NEEDS_SESSION,
    "GET /competitions/{slug}/gallery": "names the images of the gallery on a page",
    "GET /competitions/{slug}/gallery/{submission_id}": AN_IMAGE,
    "GET /competitions/{slug}/tracks/{kind}/thresholds/impact/{name}": "the complete lists of a preview, for its page",
    "GET /submissions/{submission_id}/shared-images/{other_ref}": AN_IMAGE,
}
"""Operations for organizers without a command, and the reason."""
NEED_NUMBERS = {"reference attach"}
"""Commands that wait for a job and print numbers from its response."""
COMPETITION = """
slug = "dogs"
title = "Dogs"
opens_at = 2026-03-14T12:00:00Z
public = { extractor = "inception_v3" }
private = { extractor = "nasnetalarge" }
"""


@dataclass
class DocumentedService:
    """Responds as in an OpenAPI document, with all fields (``generous``) or as few as allowed. Raises
    ``AssertionError`` for unknown requests."""

    app: FastAPI
    document: Mapping[str, Any]
    generous: bool = True
    used: set[str] = field(default_factory=set)

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Record a request and return the response."""
        path, operation = self._operation(request.method, request.url.path)
        self.used.add(f"{request.method} {path.removeprefix(PREFIX)}")
        known = {parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "query"}
        assert set(request.url.params) <= known, f"{request.url} has parameters that the API does not know"
        self._check_body(operation, request)
        status, answer = next(
            (code, response) for code, response in operation["responses"].items() if code.startswith("2")
        )
        contents = answer.get("content", {})
        if "application/json" not in contents:
            return httpx.Response(int(status), content=CONTENT if contents else b"", request=request)
        return httpx.Response(int(status), json=self._sample(contents["application/json"]["schema"]), request=request)

    def _operation(self, method: str, path: str) -> tuple[str, Mapping[str, Any]]:
        fitting = [
            (template, methods[method.lower()])
            for template, methods in self.document["paths"].items()
            if method.lower() in methods and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), unquote(path))
        ]
        assert fitting, f"{method} {path} is not in the API's document"
        return min(fitting, key=lambda operation: operation[0].count("{"))

    def _check_body(self, operation: Mapping[str, Any], request: httpx.Request) -> None:
        contents = operation.get("requestBody", {}).get("content", {})
        if "application/json" in contents:
            schema = {**contents["application/json"]["schema"], "components": self.document["components"]}
            Draft202012Validator(schema).validate(json.loads(request.read()))

    def _sample(self, schema: Mapping[str, Any], name: str = "") -> Any:
        """Return a value of a schema for the field ``name``."""
        if "$ref" in schema:
            return self._sample(self.document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], name)
        if "anyOf" in schema:
            is_bare = name.startswith("next_") or name == "missing_weights" or not self.generous
            nothing = [option for option in schema["anyOf"] if option.get("type") == "null"]
            return None if is_bare and nothing else self._sample(schema["anyOf"][0], name)
        if "enum" in schema:
            return next((state for state in FINISHED if state in schema["enum"]), schema["enum"][0])
        if schema.get("type") == "object":
            return {
                field_name: self._sample(part, field_name) for field_name, part in schema.get("properties", {}).items()
            }
        if schema.get("type") == "array":
            return [self._sample(schema["items"], name)] if self.generous and "items" in schema else []
        plain = {"boolean": self.generous, "integer": 7, "number": 0.25, "string": _text(schema, name)}
        return schema["const"] if "const" in schema else plain.get(schema.get("type", ""), "anything")


def _text(schema: Mapping[str, Any], name: str) -> str:
    if schema.get("format") == "date-time":
        return TIME
    if name == "sha256":
        return hashlib.sha256(CONTENT).hexdigest()
    return name if name in {"id", "name"} else f"{name}\x1b[31m"


def leaves(group: Any, *names: str) -> Iterator[tuple[str, Any]]:
    """Yield the commands of a group with their full names."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from leaves(command, *names, name)
        else:
            yield " ".join([*names, name]), command


ADMIN = typer.main.get_command(make_admin({}))
COMMANDS = dict(leaves(ADMIN))


def find_annotation(parameter: Any) -> Any:
    """Return the type of an argument or option. Older supported versions of Typer have click's types."""
    if hasattr(parameter, "type_descriptor"):
        return parameter.type_descriptor.annotation
    if hasattr(parameter.type, "choices"):
        return Literal[tuple(parameter.type.choices)]
    names = {"integer": int, "float": float, "path": Path, "file": Path, "datetime": datetime}
    return names.get(parameter.type.name.removesuffix(" range"), str)


def value_for(parameter: Any, folder: Path) -> list[str]:
    """Return words for the value of an argument or option."""
    annotation = find_annotation(parameter)
    if get_origin(annotation) is Literal:
        return [str(get_args(annotation)[0])]
    if annotation is Path:
        if parameter.name == "to":
            return [str(folder / f"saved-{parameter.param_type_name}")]
        (folder / "file").write_text(COMPETITION)
        return [str(folder / "file")]
    pairs = {"references": f"train={folder / 'zip'}", "constant": "tau=0.5"}
    if parameter.name in pairs:
        return [pairs[parameter.name]]
    return [{int: "3", float: "0.5", datetime: "2026-03-14"}.get(annotation, "dogs")]


def words_for(name: str, folder: Path, *, complete: bool) -> list[str]:
    """Return a command line with the required arguments, or with all arguments and options."""
    excluded = {"--train"} if name == "file offer" and complete else ()
    words = ["--train"] if name == "file offer" and not complete else []
    (folder / "zip").write_bytes(CONTENT)
    for parameter in COMMANDS[name].params:
        if parameter.name in {"as_json", "form", "help"} or not (parameter.required or complete):
            continue
        if parameter.param_type_name == "argument":
            words += value_for(parameter, folder)
        elif parameter.opts[0] not in excluded:
            words += parameter.opts[:1] if parameter.is_flag else [parameter.opts[0], *value_for(parameter, folder)]
    return words


def run(words: Sequence[str]) -> tuple[int, str]:
    """Run a command and return its exit status and output."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        status = ADMIN.main([*words], prog_name="kennel admin", standalone_mode=False)
    return int(status or 0), out.getvalue()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocumentedService]:
    """A service for the commands of this module."""
    folder = tmp_path_factory.mktemp("blobs")
    addresses = {"database_url": "postgresql://x/x", "redis_url": "redis://x", "blob_url": folder.as_uri()}
    app = create_app(Settings.model_validate(addresses))
    documented = DocumentedService(app, app.openapi())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KENNEL_URL", "http://kennel.test")
        patch.setenv("KENNEL_TOKEN", "secret")
        patch.setattr(httpx.HTTPTransport, "handle_request", lambda _, request: documented.answer(request))
        yield documented


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_matches_the_document(
    name: str, service: DocumentedService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for complete in (True, False):
        service.generous = complete or name in NEED_NUMBERS
        words = [*name.split(), *words_for(name, tmp_path, complete=complete)]
        status, text = run(words)
        assert status in {ExitCode.DONE, ExitCode.FAULTY}
        assert text.strip()
        assert "\x1b" not in text, "text of other people is printed without escaping"
    service.generous = True
    document = json.loads(run([*words, "--json"])[1])
    if any(parameter.name == "form" for parameter in COMMANDS[name].params):
        rows = list(csv.reader(io.StringIO(run([*words, "--format", "csv"])[1])))
        assert len(rows) == 1 + len(document)
        assert len({len(row) for row in rows}) == 1


def test_every_privileged_operation_has_a_command(
    service: DocumentedService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    service.used.clear()
    for complete in (True, False):
        service.generous = True
        for name in COMMANDS:
            run([*name.split(), *words_for(name, tmp_path, complete=complete)])
    privileged = set(operations_for_roles(service))
    assert privileged - service.used == set(WITHOUT_COMMAND)
    assert {"GET /competitions/{slug}/audit", "POST /rebuttals/{rebuttal_id}/answer"} <= privileged


def operations_for_roles(service: DocumentedService) -> Iterator[str]:
    """Yield the operations of the API that require one of the roles."""
    for route in iter_route_contexts(service.app.routes):
        path = route.path or ""
        if path.startswith(PREFIX) and ROLES & set(walk_calls(getattr(route, "dependant", None))):
            yield from (f"{method} {path.removeprefix(PREFIX)}" for method in route.methods or ())


def walk_calls(dependant: Any) -> Iterator[Any]:
    """Yield the functions that a route depends on."""
    for dependency in dependant.dependencies if dependant is not None else ():
        yield dependency.call
        yield from walk_calls(dependency)
