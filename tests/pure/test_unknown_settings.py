"""Variables that look like settings and are none are named, with the setting that may be meant."""

import logging

import pytest

from scorer.settings import Settings, variable_of
from scorer.unknown_settings import unknown_settings, warn_of_unknown_settings


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
