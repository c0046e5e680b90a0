"""Identifiers that are safe in commands and addresses."""

import secrets

import pytest

from scorer.identifiers import new_public_id


def test_an_id_does_not_look_like_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(("-Kx0_aaaaaaa", "--00_aaaaaaa", "Kx0_-aaaaaa-"))
    monkeypatch.setattr(secrets, "token_urlsafe", lambda size: next(drawn) if size == 9 else "")
    assert new_public_id() == "Kx0_-aaaaaa-"


def test_ids_are_unique_and_safe_in_an_address() -> None:
    drawn = [new_public_id() for _ in range(2000)]
    assert len(set(drawn)) == 2000
    assert all(
        len(identifier) == 12 and identifier.replace("-", "a").replace("_", "a").isalnum() for identifier in drawn
    )
    assert not [identifier for identifier in drawn if identifier.startswith("-")]
