"""Pseudonyms of a data release: the same for the same thing, and computable by the holder of a key alone."""

import hashlib
import hmac
from dataclasses import dataclass


@dataclass(frozen=True)
class Pseudonyms:
    """Pseudonyms that only the holder of ``key`` can compute: HMAC-SHA256, its first 80 bits as hex."""

    key: bytes

    def of(self, what: str, number: int | str) -> str:
        """The pseudonym of a ``team``, a ``submission``, ``images``, a ``person`` or a ``rater``; deterministic."""
        digest = hmac.new(self.key, f"{what}:{number}".encode(), hashlib.sha256)
        return f"{what[0]}-{digest.hexdigest()[:20]}"

    def of_optional(self, what: str, number: int | str | None) -> str | None:
        """The pseudonym as of :meth:`of`; None for None."""
        return None if number is None else self.of(what, number)
