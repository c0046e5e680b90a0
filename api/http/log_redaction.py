"""What logs must not have in them: whoever reads an address with a secret in it could use it."""

import logging
import re

SECRET_URL = re.compile(
    r"(?P<before>"
    r"/(?:reset|confirm|password-resets|email-confirmations|rate)/"  # links that work for whoever has them
    r"|/kaggle/uploads/[^/?\s]+/"  # where an upload's bytes go without a name
    r"|[?&](?:invitation|code|state|token|secret|signature)="
    r")[^/?&\s]+",
    re.IGNORECASE,
)
REDACTED = "***"
ACCESS_LOGGER = "uvicorn.access"


def redact(address: str) -> str:
    """A path with its query, and nothing secret in it."""
    return SECRET_URL.sub(rf"\g<before>{REDACTED}", address)


class RedactSecrets(logging.Filter):
    """Lets every line pass, its words made discreet."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(redact(each) if isinstance(each, str) else each for each in record.args)
        return True


_REDACT_SECRETS = RedactSecrets()


def redact_access_log() -> None:
    """Let the log of requests be discreet from now on. A server that logs in another way sees to it itself."""
    logging.getLogger(ACCESS_LOGGER).addFilter(_REDACT_SECRETS)
