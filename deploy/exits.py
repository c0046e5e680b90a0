"""The exit statuses of ``kennel``, for scripts; and how what went wrong is told."""

import json
from enum import IntEnum
from typing import Any

from rich.console import Console

from deploy.client import Refused, Unreachable, Unreadable
from scorer.errors import KennelError


class Exit(IntEnum):
    """What became of a command."""

    DONE = 0
    FAULTY = 1
    USAGE = 2
    REFUSED = 3
    SIGN_IN = 4
    LIMIT = 5
    NO_ANSWER = 6
    INTERRUPTED = 130


IN_WORDS = {
    Exit.DONE: "done; an entry that was watched is scored",
    Exit.FAULTY: "the zip has faults, the entry was rejected, cancelled or failed, or something else went wrong here",
    Exit.USAGE: "wrong arguments, or a file that cannot be read",
    Exit.REFUSED: "the service refused it: closed, rules not accepted, no such competition, not yours",
    Exit.SIGN_IN: "no token, an unknown one, or one without the scope that this needs",
    Exit.LIMIT: "a limit is used up: the same again later",
    Exit.NO_ANSWER: "no answer from the service, or a failure of its own",
    Exit.INTERRUPTED: "Ctrl-C; entries and uploads stay as they are",
}
OF_ZIPS = frozenset({413, 422})
"""Statuses that, as the answer to an upload, speak of the zip."""


def in_words() -> str:
    """All statuses, a paragraph each, as ``--help`` shows them."""
    return "Exit status\n\n" + "\n\n".join(f"{status.value}: {words}" for status, words in IN_WORDS.items())


def exit_of(error: Refused | KennelError, *, uploading: bool = False) -> Exit:
    """The status that tells the kind of an error. ``uploading``: what is wrong may be wrong with the zip."""
    if isinstance(error, Unreadable):
        return Exit.USAGE
    if isinstance(error, Unreachable) or (isinstance(error, Refused) and error.status >= 500):
        return Exit.NO_ANSWER
    if isinstance(error, KennelError) or error.status == 0:
        return Exit.FAULTY
    if error.status == 401 or error.slug == "wrong-scope":
        return Exit.SIGN_IN
    if error.status == 429:
        return Exit.LIMIT
    return Exit.FAULTY if uploading and error.status in OF_ZIPS else Exit.REFUSED


def message_of(error: Refused | KennelError) -> str:
    """An error as a person at a terminal reads it, with the first faults."""
    if isinstance(error, KennelError):
        return "\n  - ".join([error.message, *error.faults[:10]])
    return str(error)


def problem_of(error: Refused | KennelError) -> dict[str, Any]:
    """An error as a program reads it, in the shape of the API's problems."""
    if isinstance(error, Refused):
        return error.problem
    return {
        "type": f"urn:kennel:problem:{error.slug}",
        "title": error.message,
        "faults": list(error.faults[:10]),
        **error.extra,
    }


def tell(error: Refused | KennelError, err: Console, *, as_json: bool = False, hint: str = "") -> None:
    """Say what went wrong: on ``err``, or with ``as_json`` as one document on standard output."""
    if as_json:
        print(json.dumps({"problem": problem_of(error)}))
    else:
        err.print("\n".join(filter(None, (message_of(error), hint))), markup=False, soft_wrap=True)
