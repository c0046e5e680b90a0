"""Error messages about zips: one sentence for the zip, one line for each faulty member."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from kennel_client.errors import Invalid

Result = TypeVar("Result")
MAX_FAULTS_LISTED = 10
MAX_NAME_LENGTH = 120  # characters; a member name may be 65,535 bytes long


class MemberError(Exception):
    """A member can't be used. The text continues the sentence that its name begins: "is 32x32, not 64x64"."""


def printable_name(name: str) -> str:
    """A member's name made safe to print: control and direction characters escaped, length bounded."""
    printable = "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)
    return printable if len(printable) <= MAX_NAME_LENGTH else printable[: MAX_NAME_LENGTH - 1] + "…"


def printable_list(names: Sequence[str]) -> str:
    """The first ten names, safe to print, and the number of others: "a.png, b.png and 3 more"."""
    shown, more = [printable_name(name) for name in names[:MAX_FAULTS_LISTED]], len(names) - MAX_FAULTS_LISTED
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def faulty_members_error(slug: str, message: str, faults: Sequence[tuple[str, str]]) -> Invalid:
    """The error for a zip with faulty members.

    ``faults`` holds (the member's label, its fault) in canonical order. The first ten become the error's ``faults``;
    ``extra["fault_count"]`` is the number of all.
    """
    lines = [f"{printable_name(name)} {wrong}" for name, wrong in faults[:MAX_FAULTS_LISTED]]
    return Invalid(slug, message, faults=lines, fault_count=len(faults))


def count_phrase(faults: Sequence[object], total: int) -> str:
    """A phrase such as "3 of 10,000 images"; the noun is singular for a ``total`` of 1."""
    return f"{len(faults):,} of {total:,} image{'' if total == 1 else 's'}"


def sound_images(
    labels: Sequence[str], outcomes: Iterable[tuple[int, Result | MemberError]]
) -> Iterator[tuple[int, Result]]:
    """Yield the usable images by index in ``labels``. Then raise ``Invalid`` (``bad-images``) if others are faulty."""
    wrong: dict[int, MemberError] = {}
    for index, outcome in outcomes:
        if isinstance(outcome, MemberError):
            wrong[index] = outcome
        else:
            yield index, outcome
    if wrong:
        faults = [(labels[index], str(wrong[index])) for index in sorted(wrong)]
        raise faulty_members_error("bad-images", f"{count_phrase(faults, len(labels))} can't be used.", faults)
