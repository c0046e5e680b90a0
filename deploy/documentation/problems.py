"""``docs/reference/problems.md``: the slugs of all problems, collected from the code that raises them."""

import ast
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from api.http.problem_details import STATUS_BY_ERROR
from deploy.documentation.markdown import code, page, table, text
from scorer.teams.quotas import Refusal

ROOT = Path(__file__).parents[2]
PACKAGES = ("api", "client/kennel_client", "deploy", "scorer", "worker")
KINDS: Mapping[str, int] = {kind.__name__: status for kind, status in STATUS_BY_ERROR.items()}
STATUS_FIRST = frozenset({"TusError", "problem"})
"""Functions of ``api`` that take (status, slug, sentence)."""
VARIABLES: Mapping[str, tuple[str, ...]] = {"refusal": tuple(Refusal), "slug": ()}
"""The possible values of a variable used as a slug; those of a parameter ``slug`` are found at its calls."""
FILLED_IN = "…"


class Problem(NamedTuple):
    """One place in the code that raises a problem; "…" in ``sentence`` stands for an inserted value."""

    slug: str
    status: int
    sentence: str
    place: str


class Construction(NamedTuple):
    """A call that creates an error: its status, and the expressions for slug and sentence."""

    status: int
    slug: ast.expr
    sentence: ast.expr | None


def problems_page() -> str:
    """The page: every slug with its status, its sentences and the modules that raise it."""
    of_slug: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems():
        of_slug[problem.slug].append(problem)
    return page(
        "Problems",
        "An API error is a JSON object as defined in [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457): `type` "
        "is `urn:kennel:problem:` and a slug, `title` a sentence for people, `faults` an optional list of "
        "details. Slugs are stable, sentences are not. Commands and jobs end with the same errors, but show only "
        "the sentence. In sentences, … stands for an inserted value.",
        table(("slug", "status", "sentences", "raised in"), (_row(slug, of_slug[slug]) for slug in sorted(of_slug))),
    )


def problem_slugs() -> str:
    """The slugs of the API by status, as JSON, for the OpenAPI document."""
    of_status: dict[int, set[str]] = defaultdict(set)
    for problem in problems():
        if problem.place.startswith(("api/", "client/kennel_client/archive/", "scorer/")):
            of_status[problem.status].add(problem.slug)
    slugs = {str(status): sorted(of_status[status]) for status in sorted(of_status)}
    return f"{json.dumps(slugs, indent=2)}\n"


def _row(slug: str, places: Sequence[Problem]) -> tuple[str, ...]:
    statuses = sorted({str(place.status) for place in places})
    sentences = dict.fromkeys(text(place.sentence) for place in places if place.sentence != FILLED_IN)
    modules = dict.fromkeys(code(place.place) for place in places)
    return code(slug), ", ".join(statuses), "<br>".join(sentences), "<br>".join(modules)


def problems() -> list[Problem]:
    """Every problem in the code, in file order; raises ``LookupError`` for a slug that cannot be determined."""
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    trees = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in files}
    wrappers = dict(pair for tree in trees.values() for pair in _wrappers(tree))
    return [problem for place, tree in trees.items() for problem in _problems_in(tree, place, wrappers)]


def _calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Every call with arguments, with the last part of the called name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            function = node.func
            yield str(getattr(function, "id", "") or getattr(function, "attr", "")), node


def _wrappers(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Functions that create an error from their parameter ``slug``: (name, kind of error)."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for name, call in _calls(function):
                if name in KINDS and isinstance(call.args[0], ast.Name) and call.args[0].id == "slug":
                    yield function.name, name


def _problems_in(tree: ast.AST, place: str, wrappers: Mapping[str, str]) -> Iterator[Problem]:
    for name, call in _calls(tree):
        construction = _construction(name, call.args, wrappers)
        if construction is not None:
            for slug in _slugs(construction.slug, place):
                yield Problem(slug, construction.status, _sentence(construction.sentence), place)


def _construction(name: str, arguments: Sequence[ast.expr], wrappers: Mapping[str, str]) -> Construction | None:
    sentence = arguments[1] if len(arguments) > 1 else None
    if name in KINDS:
        return Construction(KINDS[name], arguments[0], sentence)
    if name in wrappers and isinstance(arguments[0], ast.Constant) and isinstance(arguments[0].value, str):
        return Construction(KINDS[wrappers[name]], arguments[0], sentence)
    if name in STATUS_FIRST and len(arguments) == 3 and isinstance(arguments[0], ast.Constant):
        return Construction(int(str(arguments[0].value)), arguments[1], arguments[2])
    return None


def _slugs(expression: ast.expr, place: str) -> tuple[str, ...]:
    """The possible slugs of an expression; none if it passes on another problem's slug."""
    if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
        return (expression.value,)
    if isinstance(expression, ast.Attribute) and expression.attr == "slug":
        return ()
    if isinstance(expression, ast.Name) and expression.id in VARIABLES:
        return VARIABLES[expression.id]
    raise LookupError(f"{place}:{expression.lineno}: cannot determine the slug of `{ast.unparse(expression)}`")


def _sentence(expression: ast.expr | None) -> str:
    if isinstance(expression, ast.Constant):
        return str(expression.value)
    if isinstance(expression, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else FILLED_IN for part in expression.values)
    return FILLED_IN
