"""Redacts secrets in logged addresses: one-time links, rating links, upload URLs and query parameters."""

import logging
import re

SECRET_URL = re.compile(
    r"(?P<before>"
    r"/(?:reset|confirm|password-resets|email-confirmations|rate)/"  # links that authorise by themselves
    r"|/kaggle/uploads/[^/?\s]+/"  # secret URLs of wire uploads
    r"|[?&](?:invitation|code|state|token|secret|signature)="
    r")[^/?&\s]+",
    re.IGNORECASE,
)
REDACTED = "***"
ACCESS_LOGGER = "uvicorn.access"


def redact(address: str) -> str:
    """A path with its query, each secret in it replaced by ``***``."""
    return SECRET_URL.sub(rf"\g<before>{REDACTED}", address)


class RedactSecrets(logging.Filter):
    """A logging filter that redacts the arguments of every record and drops none."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(redact(each) if isinstance(each, str) else each for each in record.args)
        return True


_REDACT_SECRETS = RedactSecrets()


def redact_access_log() -> None:
    """Redact uvicorn's access log from now on. Servers with another access log must do it themselves."""
    logging.getLogger(ACCESS_LOGGER).addFilter(_REDACT_SECRETS)
