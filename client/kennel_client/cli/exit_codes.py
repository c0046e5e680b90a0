"""The exit statuses of ``kennel``, for scripts; errors as text or JSON."""

import json
from enum import IntEnum
from typing import Any

from rich.console import Console

from kennel_client.cli.formatting import terminal_safe_lines, utf8_output
from kennel_client.errors import KennelError, Refused, Unreachable, Unreadable
from kennel_client.submit import FILE_FAULT_STATUSES


class ExitCode(IntEnum):
    DONE = 0
    FAULTY = 1
    USAGE = 2
    REFUSED = 3
    SIGN_IN = 4
    LIMIT = 5
    NO_ANSWER = 6
    INTERRUPTED = 130


EXIT_CODE_TEXTS = {
    ExitCode.DONE: "done; with --watch, the submission is scored",
    ExitCode.FAULTY: (
        "the file has faults; the submission was rejected, cancelled or failed; or another error on this machine"
    ),
    ExitCode.USAGE: "wrong arguments, or an unreadable file",
    ExitCode.REFUSED: (
        "the service refused the request: competition closed or unknown, rules not accepted, or no permission"
    ),
    ExitCode.SIGN_IN: "no token, an unknown token, or a token without the required scope",
    ExitCode.LIMIT: "a limit is reached; try again later",
    ExitCode.NO_ANSWER: "no response from the service, or an error in it",
    ExitCode.INTERRUPTED: "stopped with Ctrl-C; submissions and uploads are not affected",
}


LOCAL_FILE_SLUGS = frozenset({"unreadable", "no-folder"})
"""Problems with unreadable files and folders on this machine."""


def exit_codes_help() -> str:
    return "Exit status\n\n" + "\n\n".join(f"{status.value}: {meaning}" for status, meaning in EXIT_CODE_TEXTS.items())


def choose_exit_code(error: Refused | KennelError, *, uploading: bool = False) -> ExitCode:
    """The status for an error. Set ``uploading`` if the file may be the cause."""
    if isinstance(error, Unreadable) or (isinstance(error, KennelError) and error.slug in LOCAL_FILE_SLUGS):
        return ExitCode.USAGE
    if isinstance(error, Unreachable) or (isinstance(error, Refused) and error.status >= 500):
        return ExitCode.NO_ANSWER
    if isinstance(error, KennelError) or error.status == 0:
        return ExitCode.FAULTY
    if error.status == 401 or error.slug == "wrong-scope":
        return ExitCode.SIGN_IN
    if error.status == 429:
        return ExitCode.LIMIT
    return ExitCode.FAULTY if uploading and error.status in FILE_FAULT_STATUSES else ExitCode.REFUSED


def format_error(error: Refused | KennelError) -> str:
    if isinstance(error, KennelError):
        return "\n  - ".join([error.message, *error.faults[:10]])
    return str(error)


def build_problem(error: Refused | KennelError) -> dict[str, Any]:
    """An error as JSON, in the shape of the API's problems."""
    if isinstance(error, Refused):
        return error.problem
    return {
        "type": f"urn:kennel:problem:{error.slug}",
        "title": error.message,
        "faults": list(error.faults[:10]),
        **error.extra,
    }


def print_error(error: Refused | KennelError, err: Console, *, as_json: bool = False, hint: str = "") -> None:
    """Print an error: on ``err``, or with ``as_json`` as one JSON document on standard output."""
    if as_json:
        print(json.dumps({"problem": build_problem(error)}), file=utf8_output())
    else:
        text = terminal_safe_lines("\n".join(filter(None, (format_error(error), hint))))
        err.print(text, markup=False, soft_wrap=True)
