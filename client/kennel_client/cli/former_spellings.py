"""The flat spellings that ``kennel admin`` had up to 0.1: one version longer they lead to the commands by noun."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from typer.core import TyperGroup

FORMER_SPELLINGS: Mapping[str, str] = {
    "account": "account create",
    "accounts": "account list",
    "accept-role": "role accept",
    "accept-role --decline": "role decline",
    "announce": "competition announce",
    "ask-code": "submission ask-code",
    "backup": "installation backup",
    "campaign": "campaign show --json",
    "campaign --cancel": "campaign cancel --json",
    "campaign --pause": "campaign pause --json",
    "campaign --preview": "campaign preview --json",
    "campaign --resume": "campaign resume --json",
    "campaign --switch": "campaign switch --json",
    "campaign --undo": "campaign undo --json",
    "campaigns": "campaign list --json",
    "checklist": "competition checklist",
    "compare": "extractor compare --json",
    "compare-images": "competition compare-images",
    "create": "competition create",
    "create-admin": "account create-admin",
    "data-file": "file offer",
    "data-file --withdraw --name": "file withdraw",
    "delete-account": "account delete",
    "delete-draft": "competition delete-draft",
    "doctor": "installation doctor",
    "drain": "worker drain",
    "drain --end": "worker resume",
    "end-role": "role end",
    "guests": "guest list",
    "import-results": "competition import --json",
    "invite": "account invite",
    "invite-to": "guest invite",
    "label": "submission label",
    "message": "team message",
    "network": "extractor choose",
    "offer-role": "role offer",
    "pause --competition": "competition pause",
    "pause --queue": "queue pause",
    "publish": "competition publish",
    "publish --withdraw": "competition withdraw",
    "references": "reference attach",
    "release": "release create",
    "remove-second-factor": "account remove-second-factor",
    "requeue": "queue requeue",
    "rescore": "campaign start --json",
    "reset-link": "account reset-link",
    "restore": "installation restore",
    "resume --competition": "competition resume",
    "resume --queue": "queue resume",
    "retune": "threshold retune --json",
    "retune --preview": "threshold preview --json",
    "retune --undo": "threshold undo --json",
    "role": "account set-role",
    "roles": "role list",
    "rotate-secrets": "installation rotate-secrets",
    "rotate-signing-key": "installation rotate-signing-key",
    "rule-team": "team rule",
    "service": "installation service",
    "sign-out": "account sign-out",
    "storage": "competition storage",
    "suspend": "account suspend",
    "suspend --end": "account restore",
    "teams": "team list",
    "teams --csv": "team list --format csv",
    "token": "account token",
    "uninvite": "guest remove",
    "update": "competition update",
    "verify-backup": "installation verify-backup",
    "work": "queue show",
}
"""The present spelling of each former one. Options of the former one are dropped; their values become arguments."""


class AdminGroup(TyperGroup):
    """``kennel admin``: its commands by noun, and, hidden, their former spellings."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As in any group, after a former spelling is replaced."""
        if not ctx.resilient_parsing and args and not self._is_present(args):
            former = _former_spelling(args)
            if former is not None:
                present = FORMER_SPELLINGS[former]
                print(f"`kennel admin {former}` is now `kennel admin {present}`.", file=sys.stderr)
                url, rest = _split_url(args[1:])
                ctx.with_resource(_named_service(url))
                args = [*present.split(), *_without_options(rest, former.split()[1:])]
        return super().parse_args(ctx, args)

    def _is_present(self, args: Sequence[str]) -> bool:
        """Whether a command line begins with a noun that is not followed by what only a former command takes."""
        noun = self.commands.get(args[0])
        verbs = getattr(noun, "commands", {})
        return noun is not None and (len(args) == 1 or args[1] in verbs or args[1] in {"-h", "--help"})


def _former_spelling(args: Sequence[str]) -> str | None:
    """The former spelling with the most options of a command line; None if there is none."""
    given = {word.partition("=")[0] for word in args}
    fitting = [former for former in FORMER_SPELLINGS if former.split()[0] == args[0] and given >= set(former.split())]
    return max(fitting, key=len, default=None)


def _without_options(args: Sequence[str], options: Sequence[str]) -> list[str]:
    """The arguments without these options, with their values."""
    values = [value if equals else name for word in args for name, equals, value in [_parts(word, options)]]
    return [value for value in values if value not in options]


def _parts(word: str, options: Sequence[str]) -> tuple[str, str, str]:
    name, equals, value = word.partition("=")
    return (name, equals, value) if name in options else (word, "", "")


def _split_url(args: Sequence[str]) -> tuple[str, list[str]]:
    """The value of the option ``--url``, which each former command had, and the other arguments."""
    url = ""
    rest: list[str] = []
    words = iter(args)
    for word in words:
        name, equals, value = word.partition("=")
        if name == "--url":
            url = value if equals else next(words, "")
        else:
            rest.append(word)
    return url, rest


@contextmanager
def _named_service(url: str) -> Iterator[None]:
    """``KENNEL_URL`` says the same for as long as the command runs, if there is a ``url``."""
    before = os.environ.get("KENNEL_URL")
    if url:
        os.environ["KENNEL_URL"] = url
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("KENNEL_URL", None)
        else:
            os.environ["KENNEL_URL"] = before
