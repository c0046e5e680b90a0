"""Password rules and argon2id hashes. The rules are about length and estimated guesses, not about composition."""

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
"""Guesses that a password must withstand, as estimated by zxcvbn from common passwords, words, names, keyboards and
dates."""
MAX_ESTIMATED_LENGTH = 72
"""Characters used for the estimate; more would only cost time."""
MAX_CONCURRENT_HASHES = 4

_hashing = PasswordHash((Argon2Hasher(),))
# A hash takes 64 MiB; many simultaneous sign-ins must not exhaust the memory.
_hashing_slots = BoundedSemaphore(MAX_CONCURRENT_HASHES)


def require_good(password: str, *, handle: str = "", email: str = "") -> None:
    """``Invalid`` for a password that is too short, too long or easy to guess, also from handle and email address."""
    text = _normalised(password)
    if not MIN_PASSWORD_LENGTH <= len(text) <= MAX_PASSWORD_LENGTH:
        raise Invalid(
            "weak-password",
            f"The password has {len(text)} characters. Use {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters.",
        )
    known = [word for word in (handle, email, *email.split("@")) if word]
    if zxcvbn(text[:MAX_ESTIMATED_LENGTH], user_inputs=known)["guesses"] < MIN_GUESSES:
        raise Invalid("weak-password", "This password is too easy to guess. Use more words, or less common ones.")


def new_password_hash(password: str, *, handle: str = "", email: str = "") -> str:
    """Return the hash of a new password; ``Invalid`` if the password is weak."""
    require_good(password, handle=handle, email=email)
    return hash_password(password)


def hash_password(password: str) -> str:
    """Return the argon2id hash with its salt and costs, in PHC format."""
    with _hashing_slots:
        return _hashing.hash(_normalised(password))


def matches(password: str, stored: str | None) -> bool:
    """Whether ``password`` matches the hash ``stored``. It takes equally long without a hash, to hide which accounts
    exist."""
    text = _normalised(password)
    with _hashing_slots:
        fits = _hashing.verify(text[:MAX_PASSWORD_LENGTH], stored or _dummy_hash())
    return fits and stored is not None and len(text) <= MAX_PASSWORD_LENGTH


def upgraded_hash(password: str, stored: str) -> str | None:
    """Return a hash with current cost parameters for a password that matched ``stored``; None if ``stored`` has
    them."""
    return hash_password(password) if _hashing.current_hasher.check_needs_rehash(stored) else None


def _normalised(password: str) -> str:
    # NFKC: a password must not depend on the keyboard (NIST SP 800-63B).
    return unicodedata.normalize("NFKC", password)


@cache
def _dummy_hash() -> str:
    # Computed on first use: importing this module must not take 64 MiB.
    return _hashing.hash("nobody's")
