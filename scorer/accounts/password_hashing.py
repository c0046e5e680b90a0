"""Password rules and argon2id hashes. Length counts, and how many guesses a password withstands; there are no
composition rules."""

import unicodedata
from functools import cache
from threading import BoundedSemaphore

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from zxcvbn import zxcvbn

from scorer.errors import Invalid

MIN_PASSWORD_LENGTH = 10
MAX_PASSWORD_LENGTH = 256
"""Characters; hashing a longer password would only cost time."""
MIN_GUESSES = 10**8
"""Guesses that somebody must need who knows the common passwords, words, names, keyboards and dates (zxcvbn)."""
MAX_ESTIMATED_LENGTH = 72
"""Characters of which the guesses are estimated; estimating more would only cost time."""
MAX_CONCURRENT_HASHES = 4

_hashing = PasswordHash((Argon2Hasher(),))
# A hash takes 64 MiB; many sign-ins at once must not exhaust the memory.
_hashing_slots = BoundedSemaphore(MAX_CONCURRENT_HASHES)


def require_good(password: str, *, handle: str = "", email: str = "") -> None:
    """``Invalid`` for a password that is too short, too long, or guessed soon: also by whoever knows handle and mail
    address."""
    text = _normalised(password)
    if not MIN_PASSWORD_LENGTH <= len(text) <= MAX_PASSWORD_LENGTH:
        raise Invalid("weak-password", f"A password needs {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters.")
    known = [word for word in (handle, email, *email.split("@")) if word]
    if zxcvbn(text[:MAX_ESTIMATED_LENGTH], user_inputs=known)["guesses"] < MIN_GUESSES:
        raise Invalid("weak-password", "This password would be guessed soon; please take more words, or rarer ones.")


def new_password_hash(password: str, *, handle: str = "", email: str = "") -> str:
    """The hash of a new password; ``Invalid`` if it is not good enough."""
    require_good(password, handle=handle, email=email)
    return hash_of(password)


def hash_of(password: str) -> str:
    """The password's argon2id hash with its salt and costs, in PHC form."""
    with _hashing_slots:
        return _hashing.hash(_normalised(password))


def matches(password: str, stored: str | None) -> bool:
    """Whether ``password`` matches the hash ``stored``. Takes equally long without a hash, so that timing reveals
    nothing."""
    text = _normalised(password)
    with _hashing_slots:
        fits = _hashing.verify(text[:MAX_PASSWORD_LENGTH], stored or _dummy_hash())
    return fits and stored is not None and len(text) <= MAX_PASSWORD_LENGTH


def upgraded_hash(password: str, stored: str) -> str | None:
    """A new hash, at today's cost parameters, of a password that matched ``stored``; None if ``stored`` has them
    already."""
    return hash_of(password) if _hashing.current_hasher.check_needs_rehash(stored) else None


def _normalised(password: str) -> str:
    # NFKC, so that a password typed on two keyboards is one password (NIST SP 800-63B).
    return unicodedata.normalize("NFKC", password)


@cache
def _dummy_hash() -> str:
    # Made on first use: importing this module must not take 64 MiB.
    return _hashing.hash("nobody's")
