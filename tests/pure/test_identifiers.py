"""Identifiers that people can write anywhere."""

import secrets

import pytest

from scorer.identifiers import new_public_id


def test_an_id_is_no_option_of_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(("-Kx0_aaaaaaa", "--00_aaaaaaa", "Kx0_-aaaaaa-"))
    monkeypatch.setattr(secrets, "token_urlsafe", lambda size: next(drawn) if size == 9 else "")
    assert new_public_id() == "Kx0_-aaaaaa-"


def test_ids_differ_and_fit_into_an_address() -> None:
    drawn = [new_public_id() for _ in range(2000)]
    assert len(set(drawn)) == 2000
    assert all(len(each) == 12 and each.replace("-", "a").replace("_", "a").isalnum() for each in drawn)
    assert not [each for each in drawn if each.startswith("-")]
