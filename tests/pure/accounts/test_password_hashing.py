"""Passwords: the rules for new ones, and their hashes."""

import pytest
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from scorer.accounts import password_hashing
from scorer.errors import Invalid

GOOD = ("ten chars!", "correct horse battery", "\u732b\u72ac\u9ce5\u9b5a and kennels", "another long phrase " * 12)
BAD = (
    "",
    "nine char",
    "password123",
    "PASSWORD123",
    "qwertyuiop",
    "P@ssw0rd2026!",
    "monkey12345",
    "aaaaaaaaaaaa",
    " " * 10,
)


@pytest.mark.parametrize("good", GOOD)
def test_long_passwords_are_accepted(good: str) -> None:
    password_hashing.require_good(good)


@pytest.mark.parametrize("bad", [*BAD, "another long phrase " * 13])
def test_common_and_short_passwords_are_refused(bad: str) -> None:
    with pytest.raises(Invalid) as refused:
        password_hashing.require_good(bad)
    assert refused.value.slug == "weak-password"


@pytest.mark.parametrize("own", ["Ada-Lovelace", "ada@example.org", "ada-lovelace1"])
def test_the_own_name_or_address_is_refused_as_password(own: str) -> None:
    with pytest.raises(Invalid):
        password_hashing.require_good(own, handle="ada-lovelace", email="Ada@example.org")


def test_a_hash_is_argon2id_with_a_salt_of_its_own() -> None:
    first, second = (password_hashing.hash_password("correct horse battery") for _ in range(2))
    assert first.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert first != second
    assert password_hashing.matches("correct horse battery", first)
    assert not password_hashing.matches("correct horse batterz", first)
    assert not password_hashing.matches("correct horse battery", None)


def test_composed_and_decomposed_characters_are_the_same_password() -> None:
    composed, decomposed = "caf\u00e9 caf\u00e9 caf\u00e9", "cafe\u0301 cafe\u0301 cafe\u0301"
    assert password_hashing.matches(decomposed, password_hashing.hash_password(composed))


def test_characters_after_the_maximum_length_are_not_ignored() -> None:
    longest = "ab" * 128
    assert not password_hashing.matches(longest + "c", password_hashing.hash_password(longest))


def test_hashes_with_old_costs_are_renewed_and_current_ones_are_not() -> None:
    cheap = PasswordHash((Argon2Hasher(time_cost=1, memory_cost=8192, parallelism=1),))
    cheap_hash = cheap.hash("correct horse battery")
    renewed = password_hashing.upgraded_hash("correct horse battery", cheap_hash)
    assert renewed is not None
    assert renewed.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert password_hashing.upgraded_hash("correct horse battery", renewed) is None
