"""One definition of a method for both clients: an operation, which one runs to its end and the other awaits."""

import inspect
from collections.abc import Callable, Coroutine
from functools import wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, get_args, overload

from kennel_client.steps import Operation, Result

if TYPE_CHECKING:
    from kennel_client.api import ApiClient
    from kennel_client.async_api import AsyncApiClient

Parameters = ParamSpec("Parameters")
Api = TypeVar("Api", bound="ApiClient | AsyncApiClient")


class Methods(Generic[Api]):
    """Methods that take the steps of operations with ``api``."""

    def __init__(self, api: Api) -> None:
        self.api = api


class Method(Generic[Parameters, Result]):
    """A method of :class:`Methods`: with an ``ApiClient`` it returns the operation's result, with an ``AsyncApiClient``
    an awaitable of it. ``steps`` makes the operation."""

    def __init__(self, steps: Callable[Concatenate[Any, Parameters], Operation[Result]]) -> None:
        self.steps = steps

        @wraps(steps)
        def run(methods: Methods[Any], *args: Parameters.args, **kwargs: Parameters.kwargs) -> Any:
            return methods.api.run(steps(methods, *args, **kwargs))

        self._run = run
        signature = inspect.signature(steps)
        *_, result = get_args(signature.return_annotation)
        run.__signature__ = signature.replace(return_annotation=result)  # type: ignore[attr-defined]

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
