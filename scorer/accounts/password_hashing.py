"""Password rules and argon2id hashes. Length and a list of common passwords count; there are no composition rules."""

import unicodedata
from functools import cache
from threading import BoundedSemaphore

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from scorer.errors import Invalid

MIN_PASSWORD_LENGTH = 10
MAX_PASSWORD_LENGTH = 256
"""Characters; hashing a longer password would only cost time."""
COMMON_PASSWORDS = frozenset(
    """
    0123456789 0987654321 1029384756 1111111111 1122334455 1223334444 1231231231 1234512345 12345678900 1234567890
    1234567891 12345678910 123456789a 1234567890q 123456789q 123qweasdzxc 147258369 1472583690 159753456852 1a2b3c4d5e
    1q2w3e4r5t 1q2w3e4r5t6y 1qaz2wsx3edc 1qazxsw23edc 3141592653 7777777777 9876543210 987654321a a123456789
    a1b2c3d4e5 aa123456789 aaaaaaaaaa abc1234567 abcd123456 abcd1234567 abcdefghij administrator admin12345 admin123456
    asdf123456 asdfasdfasdf asdfghjkl1 asdfghjkl; asdfghjkl123 babygirl123 basketball basketball1 butterfly1 changeme123
    chocolate1 christopher computer123 football123 freedom123 helloworld iloveyou12 iloveyou123 iloveyou1234 internet123
    letmein123 letmein1234 liverpool1 manchester manchester1 michael123 monkey12345 mypassword mypassword1 p@ssw0rd123
    p@ssword123 passw0rd123 password00 password01 password10 password11 password12 password123 password1234
    password12345 password123456 password2020 password2021 password2022 password2023 password2024 password2025
    password2026 passwordpassword pokemon123 princess12 princess123 q1w2e3r4t5 q1w2e3r4t5y6 qazwsxedc1 qazwsxedc123
    qazwsxedcrfv qqqqqqqqqq qwe123qwe123 qweasdzxc1 qweasdzxc123 qwer123456 qwerqwerqwer qwertasdfg qwerty1234
    qwerty12345 qwerty123456 qwertyqwerty qwertyuiop qwertyuiop1 qwertyuiop123 qwertyuiop[] sunshine12 sunshine123
    superman123 test123456 trustno1234 welcome123 welcome1234 whatever123 zaq12wsxcde3 zxcvbnm123
    zxcvbnm1234 zxcvbnm,./
    """.split()  # noqa: SIM905 - words read better without quotes
)
"""The commonest passwords of ten characters and more, in lower case; shorter ones are refused for their length."""
MAX_CONCURRENT_HASHES = 4

_hashing = PasswordHash((Argon2Hasher(),))
# A hash takes 64 MiB; many sign-ins at once must not exhaust the memory.
_hashing_slots = BoundedSemaphore(MAX_CONCURRENT_HASHES)


def require_good(password: str, *, handle: str = "", email: str = "") -> None:
    """``Invalid`` for a password that is too short, too long, common, or equal to the handle or mail address."""
    text = _normalised(password)
    if not MIN_PASSWORD_LENGTH <= len(text) <= MAX_PASSWORD_LENGTH:
        raise Invalid("weak-password", f"A password needs {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters.")
    plain = text.lower()
    if plain in COMMON_PASSWORDS or len(set(plain)) == 1 or plain in {handle.lower(), email.lower()}:
        raise Invalid("weak-password", "This password is among the first that anybody would try; please take another.")


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
