"""Settings that are wrong, and variables that look like settings and are none, are named as an operator writes them."""

import logging

import pytest

from scorer.errors import Unavailable
from scorer.settings import Settings, read_settings, unknown_settings, variable_of, warn_of_unknown_settings


def test_every_setting_is_known() -> None:
    assert not unknown_settings([variable_of(name) for name in Settings.model_fields])
    assert not unknown_settings(["KENNEL_SMTP_URL_FILE", "KENNEL_TOKEN", "PATH", "DATABASE_URL"])


def test_misspelt_settings_are_told_with_what_is_meant(caplog: pytest.LogCaptureFixture) -> None:
    assert unknown_settings(["KENNEL_SMTP_URI", "KENNEL_ZZZZZZZZZZZZZZZZ"]) == {
        "KENNEL_SMTP_URI": "KENNEL_SMTP_URL",
        "KENNEL_ZZZZZZZZZZZZZZZZ": None,
    }
    with caplog.at_level(logging.WARNING):
        warn_of_unknown_settings(["KENNEL_SMTP_URI", "KENNEL_SMTP_URL"])
    (record,) = caplog.records
    assert record.getMessage() == "KENNEL_SMTP_URI is no setting: is KENNEL_SMTP_URL meant?"


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"KENNEL_WEB_PROCESSES": "x"}, "KENNEL_WEB_PROCESSES: Input should be a valid integer"),
        ({"KENNEL_OIDC_ISSUER": "http://x.example.org"}, "KENNEL_OIDC_ISSUER: it needs https://"),
        ({"KENNEL_PUBLIC_URL": "https://x.example.org/kennel/"}, "KENNEL_PUBLIC_URL: it has a path"),
        ({"KENNEL_SMTP_URL": "smtp://x"}, "wrong: KENNEL_SMTP_URL needs KENNEL_PUBLIC_URL"),
        ({"DATABASE_URL": ""}, "DATABASE_URL: "),
    ],
)
def test_wrong_settings_are_told_by_their_variables(
    variables: dict[str, str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"DATABASE_URL": "postgresql://x/x", "REDIS_URL": "redis://x", "BLOB_URL": "file:///x"}.items():
        monkeypatch.setenv(name, value)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Unavailable) as error:
        read_settings()
    assert told in error.value.message
    assert "Value error" not in error.value.message
