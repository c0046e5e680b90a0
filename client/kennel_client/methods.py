"""One definition of a method for both clients: one runs its operation or request, the other awaits it."""

import inspect
import re
from collections.abc import Callable, Coroutine
from functools import wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, get_args, overload

from kennel_client.api import segment
from kennel_client.steps import Operation, Result, all_pages, call, get, send

if TYPE_CHECKING:
    from kennel_client.api import ApiClient
    from kennel_client.async_api import AsyncApiClient

Parameters = ParamSpec("Parameters")
Api = TypeVar("Api", bound="ApiClient | AsyncApiClient")


class Methods(Generic[Api]):
    def __init__(self, api: Api) -> None:
        self.api = api


class Method(Generic[Parameters, Result]):
    """A method of :class:`Methods`: returns the operation's result with an ``ApiClient``, an awaitable of it with an
    ``AsyncApiClient``. ``steps`` makes the operation; ``signature``, if given, replaces that of ``steps``.
    """

    def __init__(
        self,
        steps: Callable[Concatenate[Any, Parameters], Operation[Result]],
        signature: inspect.Signature | None = None,
    ) -> None:
        self.steps = steps
        self.signature = signature or _without_operation(inspect.signature(steps))

        @wraps(steps)
        def run(methods: Methods[Any], *args: Parameters.args, **kwargs: Parameters.kwargs) -> Any:
            return methods.api.run(steps(methods, *args, **kwargs))

        run.__signature__ = self.signature  # type: ignore[attr-defined]
        self._run = run

    @overload
    def __get__(self, methods: None, kind: type) -> Callable[Concatenate[Any, Parameters], Any]: ...
    @overload
    def __get__(self, methods: "Methods[ApiClient]", kind: type) -> Callable[Parameters, Result]: ...
    @overload
    def __get__(
        self, methods: "Methods[AsyncApiClient]", kind: type
    ) -> Callable[Parameters, Coroutine[Any, Any, Result]]: ...
    def __get__(self, methods: Methods[Any] | None, kind: type) -> Any:
        return self._run if methods is None else MethodType(self._run, methods)


def _without_operation(signature: inspect.Signature) -> inspect.Signature:
    *_, result = get_args(signature.return_annotation)
    return signature.replace(return_annotation=result)


class Declaration:
    """Turns a function without a body into a method with the function's signature and docstring. ``operation`` gets the
    type of the result and the arguments by name.
    """

    def __init__(self, operation: Callable[[Any, dict[str, Any]], Operation[Any]]) -> None:
        self._operation = operation

    def __call__(self, function: Callable[Concatenate[Any, Parameters], Result]) -> Method[Parameters, Result]:
        signature = inspect.signature(function)

        @wraps(function)
        def steps(methods: Any, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Operation[Result]:
            given = signature.bind(methods, *args, **kwargs)
            given.apply_defaults()
            _, *arguments = given.arguments.items()
            return self._operation(signature.return_annotation, dict(arguments))

        return Method(steps, signature)


def calls(route: str, **fixed: Any) -> Declaration:
    """Declare a method that sends one request and returns the response; ``route`` is for example ``PUT
    /accounts/{handle}/role``. Other arguments, and ``fixed`` ones, are fields of the JSON body; in a GET they are query
    parameters, without those that are None.
    """
    verb, _, path = route.partition(" ")

    def operation(result: Any, arguments: dict[str, Any]) -> Operation[Any]:
        address = _filled(path, arguments)
        fields = arguments | fixed
        if verb == "GET":
            return get(address, **fields)
        return (send if result is None else call)(verb, address, json=fields or None)

    return Declaration(operation)


def lists(path: str, items: str) -> Declaration:
    """Declare a method that returns a whole list, or its first ``limit`` items; ``items`` is their field in each page.
    Arguments not in the path are query parameters.
    """

    def operation(_result: Any, arguments: dict[str, Any]) -> Operation[Any]:
        return all_pages(_filled(path, arguments), items, **arguments)

    return Declaration(operation)


def _filled(path: str, arguments: dict[str, Any]) -> str:
    """The path with its arguments filled in; removes them from ``arguments``."""
    return re.sub(r"\{(\w+)\}", lambda name: segment(str(arguments.pop(name[1]))), path)
