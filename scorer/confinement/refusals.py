"""Errors that a confined process sends to its parent, as JSON. The parent validates them like any other output."""

import re
from collections.abc import Mapping
from typing import Any

from scorer.errors import Invalid, KennelError, TooLarge, Unavailable

MAX_MESSAGE_LENGTH = 4000
MAX_FAULTS = 10
_KINDS: dict[str, type[KennelError]] = {kind.__name__: kind for kind in (Invalid, TooLarge, Unavailable)}


def encode_refusal(error: KennelError) -> dict[str, Any]:
    return {
        "kind": type(error).__name__,
        "slug": error.slug,
        "message": error.message,
        "faults": list(error.faults[:MAX_FAULTS]),
        "extra": error.extra,
    }


def error_from(refusal: Mapping[str, Any], *, default_slug: str) -> KennelError:
    """The error of a refusal. Texts are cut and lose control characters, an invalid slug is replaced by
    ``default_slug``, and only numbers are kept of the other fields."""
    slug = str(refusal.get("slug"))
    if not re.fullmatch(r"[a-z0-9-]{1,40}", slug):
        slug = default_slug
    faults, extra = refusal.get("faults"), refusal.get("extra")
    lines = [clean_text(fault) for fault in faults[:MAX_FAULTS]] if isinstance(faults, list) else []
    numbers = {
        name: value
        for name, value in (extra.items() if isinstance(extra, dict) else ())
        if re.fullmatch(r"[a-z_]{1,40}", name) and type(value) is int
    }
    kind = _KINDS.get(str(refusal.get("kind")), Invalid)
    return kind(slug, clean_text(refusal.get("message")), faults=lines, **numbers)


def clean_text(text: object) -> str:
    """A text from a confined process, cut and without control characters."""
    cut = str(text)[:MAX_MESSAGE_LENGTH]
    return "".join(letter if letter.isprintable() else " " for letter in cut)
