"""Requests that schemathesis makes from the OpenAPI document, with documented and undocumented values.

This module adds two things. Most requests name existing things, because a request for an unknown competition tests
little. Some requests have a value of :data:`HOSTILE` in one place: half a surrogate pair, a NUL character, or a number
or time outside the database's range. schemathesis seldom makes such values.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import schemathesis
from fastapi import FastAPI
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Ok

from tests.privacy.canaries import Canaries
from tests.privacy.requests import CALLS, RouteCall, list_parameters

HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**31, 2**63, -(2**63) - 1, 10**30, 1e308, -1e-308),
    *("", " ", "\0", "a" * 5000, "\ud800", "\u202e", "\u0130", "'; --", "../..", "%00", "<b>", "=1+1"),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999+14:00", "2026-02-30T00:00:00Z", "-1", "1e9", "nan"),
    *([], {}, [[]], [None], {"": {}}, [{}] * 300),
)
"""Values that a client may send instead of a documented one."""

schemathesis.serializer.alias(["application/offset+octet-stream", "text/csv"], "application/octet-stream")


def load_operations(app: FastAPI) -> Iterator[Any]:
    """schemathesis' operations of an application's document, without invented tokens. Each request sets its role."""
    schema = schemathesis.openapi.from_dict(app.openapi())
    schema.config.generation.update(with_security_parameters=False)
    for result in schema.get_all_operations():
        assert isinstance(result, Ok), result
        yield result.ok()


def generate_cases(operation: Any, planted: Canaries) -> st.SearchStrategy[Case[Any]]:
    """Requests of an operation with the documented types, with other types, and with a hostile value in one place."""
    known = _known_words(operation, planted)
    sound = _cases(operation, GenerationMode.POSITIVE, known)
    kinds = [sound]
    if operation.path_parameters or operation.query or operation.body:
        kinds += [_with_hostile_value(sound), _cases(operation, GenerationMode.NEGATIVE, known)]
    return st.one_of(kinds)


def _known_words(operation: Any, planted: Canaries) -> Sequence[Mapping[str, Any]]:
    """All combinations of path parameters that name existing things."""
    call = CALLS.get(operation.label, RouteCall())
    words = {**list_parameters(planted), **call.words(planted)}
    names = [parameter.name for parameter in operation.path_parameters if parameter.name in words]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*(words[name] for name in names))]


def _cases(operation: Any, mode: GenerationMode, known: Sequence[Mapping[str, Any]]) -> st.SearchStrategy[Case[Any]]:
    chosen = st.sampled_from([*known, *known, {}])
    return chosen.flatmap(
        lambda words: cast(st.SearchStrategy[Case[Any]], operation.as_strategy(mode, path_parameters=words))
    )


@st.composite
def _with_hostile_value(draw: st.DrawFn, cases: st.SearchStrategy[Case[Any]]) -> Case[Any]:
    """A case with one value of its body or query replaced."""
    case = draw(cases)
    value = draw(st.sampled_from(HOSTILE))
    places: list[tuple[str, tuple[Any, ...]]] = [("query", (name,)) for name in case.query or ()]
    if isinstance(case.body, dict | list):
        places += [("body", place) for place in _places_in(case.body)]
    if places:
        container, place = draw(st.sampled_from(places))
        if container == "query":
            value = str(value).encode("utf-8", "replace").decode()  # characters that a URL cannot contain are replaced
        setattr(case, container, _replaced(getattr(case, container), place, value))
    return case


def _places_in(body: Any) -> Iterator[tuple[Any, ...]]:
    """The path to every value of a JSON body, in names and indices. The empty path leads to the whole body."""
    yield ()
    named = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for name, value in named:
        yield from ((name, *rest) for rest in _places_in(value))


def _replaced(body: Any, place: Sequence[Any], value: Any) -> Any:
    if not place:
        return value
    copy = body.copy()
    copy[place[0]] = _replaced(body[place[0]], place[1:], value)
    return copy
