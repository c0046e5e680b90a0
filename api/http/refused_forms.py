"""What a page answers where the action of its form is refused: the form again, with the error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fastapi.responses import Response

from api.http.problem_details import headers_of, status_of
from scorer.errors import KennelError


class RefusedForm(Exception):
    """The page that answers a refused form. The transaction of the request is committed: an action that is refused may
    have counted an attempt."""

    def __init__(self, page: Response) -> None:
        super().__init__()
        self.page = page


@contextmanager
def refusal_on(page: Callable[..., Response], *args: Any, **values: Any) -> Iterator[None]:
    """Answer the request with ``page(*args, status=, error=, faults=, **values)`` if the block raises a
    ``KennelError``."""
    try:
        yield
    except KennelError as error:
        answer = page(*args, status=status_of(error), error=error.message, faults=error.faults, **values)
        answer.headers.update(headers_of(error))
        raise RefusedForm(answer) from error
