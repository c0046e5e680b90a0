"""Passwords: which are accepted, and how they are hashed."""

import pytest
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from scorer.accounts import password_hashing
from scorer.errors import Invalid


@pytest.mark.parametrize("good", ["ten chars!", "correct horse battery", "\u732b" * 4 + "kennel", "x" * 255 + "y"])
def test_length_is_what_counts(good: str) -> None:
    password_hashing.require_good(good)


@pytest.mark.parametrize(
    "bad", ["", "nine char", "password123", "PASSWORD123", "qwertyuiop", "          ", "aaaaaaaaaaaa", "y" * 256 + "x"]
)
def test_the_first_guesses_are_refused(bad: str) -> None:
    with pytest.raises(Invalid) as refused:
        password_hashing.require_good(bad)
    assert refused.value.slug == "weak-password"


@pytest.mark.parametrize("own", ["Ada-Lovelace", "ada@example.org"])
def test_nor_is_ones_own_name_a_password(own: str) -> None:
    with pytest.raises(Invalid):
        password_hashing.require_good(own, handle="ada-lovelace", email="Ada@example.org")


def test_the_list_has_only_what_is_long_enough_and_plain() -> None:
    assert {each for each in password_hashing.COMMON_PASSWORDS if each != each.lower()} == set()
    assert len(password_hashing.COMMON_PASSWORDS) > 100


def test_a_hash_is_argon2id_with_a_salt_of_its_own() -> None:
    first, second = (password_hashing.hash_of("correct horse battery") for _ in range(2))
    assert first.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert first != second
    assert password_hashing.matches("correct horse battery", first)
    assert not password_hashing.matches("correct horse batterz", first)
    assert not password_hashing.matches("correct horse battery", None)


def test_one_password_from_two_keyboards_is_one_password() -> None:
    composed, decomposed = "caf\u00e9 caf\u00e9 caf\u00e9", "cafe\u0301 cafe\u0301 cafe\u0301"
    assert password_hashing.matches(decomposed, password_hashing.hash_of(composed))


def test_what_follows_the_longest_password_is_not_ignored() -> None:
    longest = "ab" * 128
    assert not password_hashing.matches(longest + "c", password_hashing.hash_of(longest))


def test_old_costs_are_renewed_and_present_ones_are_not() -> None:
    cheap = PasswordHash((Argon2Hasher(time_cost=1, memory_cost=8192, parallelism=1),))
    cheap_hash = cheap.hash("correct horse battery")
    renewed = password_hashing.upgraded_hash("correct horse battery", cheap_hash)
    assert renewed is not None
    assert renewed.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert password_hashing.upgraded_hash("correct horse battery", renewed) is None
