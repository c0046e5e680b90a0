"""Settings as operators write them: addresses, reports of faults, and variables that only look like settings."""

import logging
import ssl
from typing import Any

import pytest
from pydantic import SecretStr, TypeAdapter, ValidationError

from scorer.errors import Unavailable
from scorer.jobs.broker import create_celery_app
from scorer.settings import (
    BlobUrl,
    DatabaseUrl,
    MailSender,
    RedisUrl,
    Settings,
    SmtpUrl,
    find_variable,
    read_settings,
    unknown_settings,
    warn_about_unknown_settings,
)

DATABASE, REDIS = TypeAdapter[SecretStr](DatabaseUrl), TypeAdapter[SecretStr](RedisUrl)
STORE = TypeAdapter[str](BlobUrl)
SMTP, SENDER = TypeAdapter[SecretStr](SmtpUrl), TypeAdapter[str](MailSender)


def catch_message(setting: TypeAdapter[Any], address: str) -> str:
    """The message of a refused address, without any part of its password."""
    with pytest.raises(ValidationError) as refused:
        setting.validate_python(address)
    message: str = refused.value.errors()[0]["msg"]
    assert "sekret" not in message
    return message


@pytest.mark.parametrize("password", ["p@sekret:1", "p@ss:w/rd%#? &+sekret", "1/sekret@x", "p@sekret/1"])
def test_an_unreadable_address_is_refused_without_any_of_its_password(password: str) -> None:
    assert "DATABASE_PASSWORD" in catch_message(DATABASE, f"postgresql://app:{password}@localhost:5432/kennel")


@pytest.mark.parametrize("password", ["p/sekret", "1/sekret", "1?sekret", "1#sekret", "[sekret"])
def test_an_unreadable_queue_server_address_is_refused_without_password(password: str) -> None:
    assert "REDIS_PASSWORD" in catch_message(REDIS, f"redis://:{password}@localhost:6379/0")


@pytest.mark.parametrize(
    "url",
    [
        "smtp://kennel:p/sekret@mail.example.org",
        "smtps://kennel:p#sekret@mail.example.org",
        "smtp://kennel:p?sekret@mail.example.org",
        "smtp://kennel:sekret@mail.example.org:port",
        "http://kennel:sekret@mail.example.org",
        "smtps://kennel:%C3%B6sek@mail.example.org",
        "mail.example.org",
    ],
)
def test_an_invalid_mail_server_address_is_refused_without_password(url: str) -> None:
    assert "smtps://user:password@host" in catch_message(SMTP, url)


@pytest.mark.parametrize(
    "url", ["smtp://mail.example.org:25", "smtps://kennel:p%40ss%2F@mail.example.org/", "smtp://[::1]:25"]
)
def test_a_valid_mail_server_address_is_not_changed(url: str) -> None:
    assert SMTP.validate_python(url).get_secret_value() == url


@pytest.mark.parametrize("sender", ["Kennel", "Kennel <kennel@größe.example>", "Kennel\n<kennel@example.org>"])
def test_an_invalid_sender_is_refused(sender: str) -> None:
    with pytest.raises(ValidationError, match="ASCII"):
        SENDER.validate_python(sender)
    assert SENDER.validate_python("Kennel Größe <kennel@example.org>") == "Kennel Größe <kennel@example.org>"


@pytest.mark.parametrize("url", ["redis+cluster://host/0", "valkey://host", "amqp://host", "host:6379"])
def test_an_unsupported_queue_server_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="redis://"):
        REDIS.validate_python(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://app:p%40ss@db.example.org:5432/kennel?sslmode=verify-full",
        "postgresql://app@[::1]/kennel",
        "postgresql://app@/kennel?host=/run/postgresql",
    ],
)
def test_a_valid_database_address_changes_only_in_its_driver(url: str) -> None:
    assert DATABASE.validate_python(url).get_secret_value() == url.replace("postgresql:", "postgresql+psycopg2:")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://app:x@db/kennel?sekret=1",
        "postgresql://app:x@db/kennel?port=sekret",
        "postgresql+sekret://app:x@db/kennel",
        "postgresql://app:x@db/kennel?options=sekret%00",
    ],
)
def test_an_unknown_option_or_driver_of_a_database_is_refused(url: str) -> None:
    assert "one of its options" in catch_message(DATABASE, url)


@pytest.mark.parametrize("url", ["s3://key:sekret/@host:1/x", "s3://key:[sekret@host", "s3://b/x?sekret", "sekret", ""])
def test_a_blob_store_address_with_a_key_is_refused_without_the_key(url: str) -> None:
    assert "AWS_SECRET_ACCESS_KEY" in catch_message(STORE, url)
    assert STORE.validate_python("s3://bucket/some/prefix") == "s3://bucket/some/prefix"


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValidationError, match="schema public"):
        DATABASE.validate_python("postgresql://app@db/kennel?options=-csearch_path%3Dkennel")


@pytest.mark.parametrize(
    ("options", "words", "checks"),
    [
        ("", "required", ssl.CERT_REQUIRED),
        ("?ssl_cert_reqs=CERT_REQUIRED", "required", ssl.CERT_REQUIRED),
        ("?ssl_cert_reqs=required", "required", ssl.CERT_REQUIRED),
        ("?ssl_cert_reqs=optional", "optional", ssl.CERT_OPTIONAL),
        ("?ssl_cert_reqs=CERT_NONE", "none", ssl.CERT_NONE),
    ],
)
def test_all_clients_check_certificates_alike(options: str, words: str, checks: ssl.VerifyMode) -> None:
    settings = Settings(
        database_url=SecretStr("postgresql://x/x"),
        redis_url=SecretStr(f"rediss://host:6390/3{options}"),
        blob_url="file:///x",
    )
    assert settings.redis_url.get_secret_value() == f"rediss://host:6390/3?ssl_cert_reqs={words}"
    app = create_celery_app(settings)
    assert app.connection().ssl == {"ssl_cert_reqs": checks}
    app.close()


def test_every_setting_is_known() -> None:
    assert not unknown_settings([find_variable(name) for name in Settings.model_fields])
    assert not unknown_settings(["KENNEL_SMTP_URL_FILE", "KENNEL_TOKEN", "PATH", "DATABASE_URL"])


def test_a_misspelt_setting_is_reported_with_the_likely_name(caplog: pytest.LogCaptureFixture) -> None:
    assert unknown_settings(["KENNEL_SMTP_URI", "KENNEL_ZZZZZZZZZZZZZZZZ"]) == {
        "KENNEL_SMTP_URI": "KENNEL_SMTP_URL",
        "KENNEL_ZZZZZZZZZZZZZZZZ": None,
    }
    with caplog.at_level(logging.WARNING):
        warn_about_unknown_settings(["KENNEL_SMTP_URI", "KENNEL_SMTP_URL"])
    (record,) = caplog.records
    assert record.getMessage() == "KENNEL_SMTP_URI is not a setting. Did you mean KENNEL_SMTP_URL?"


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"KENNEL_WEB_PROCESSES": "x"}, "KENNEL_WEB_PROCESSES: Input should be a valid integer"),
        ({"KENNEL_OIDC_ISSUER": "http://x.example.org"}, "KENNEL_OIDC_ISSUER: the address must begin with https://"),
        ({"KENNEL_PUBLIC_URL": "https://x.example.org/kennel/"}, "KENNEL_PUBLIC_URL: the address must not have a path"),
        ({"KENNEL_SMTP_URL": "smtp://x"}, "wrong: KENNEL_SMTP_URL needs KENNEL_PUBLIC_URL"),
        ({"DATABASE_URL": ""}, "DATABASE_URL: "),
    ],
)
def test_wrong_settings_are_reported_with_their_variables(
    variables: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"DATABASE_URL": "postgresql://x/x", "REDIS_URL": "redis://x", "BLOB_URL": "file:///x"}.items():
        monkeypatch.setenv(name, value)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Unavailable) as error:
        read_settings()
    assert message in error.value.message
    assert "Value error" not in error.value.message
