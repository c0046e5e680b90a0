"""SMTP delivery of one mail."""

import smtplib
import ssl
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from urllib.parse import SplitResult, unquote, urlsplit

from scorer.db.tables import Mail
from scorer.errors import Unavailable

TIMEOUT_SECONDS = 10
PERMANENT_ERROR_CODE = 500
"""Reply codes from here on are permanent errors: a retry is useless."""
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class MailRefused(Exception):
    """The server has certainly not taken the mail; ``permanent``: a retry would fail as well."""

    def __init__(self, message: str, *, permanent: bool) -> None:
        super().__init__(message)
        self.permanent = permanent


class MailUncertain(Exception):
    """The connection broke during the transfer: the server may have taken the mail."""


def deliver(mail: Mail, url: str, sender: str, site: str) -> None:
    """Send a mail through the SMTP server at ``url``: ``smtps://user:password@host`` (TLS from the start) or
    ``smtp://host:25`` (TLS if the server offers it; a password is sent through TLS or to this machine only). ``site``
    is the address of the service.

    Raises ``Unavailable`` if the server takes no mail at all, ``MailRefused`` or ``MailUncertain`` for this mail.
    """
    server = connect(url)
    try:
        server.send_message(message_of(mail, sender, site))
    except smtplib.SMTPRecipientsRefused as error:
        code, reason = next(iter(error.recipients.values()))
        raise MailRefused(
            f"{code} {reason.decode(errors='replace')}", permanent=code >= PERMANENT_ERROR_CODE
        ) from error
    except smtplib.SMTPResponseException as error:
        raise MailRefused(
            f"{error.smtp_code} {error.smtp_error!r}", permanent=error.smtp_code >= PERMANENT_ERROR_CODE
        ) from error
    except (OSError, smtplib.SMTPException) as error:
        raise MailUncertain(str(error)) from error
    finally:
        server.close()


def connect(url: str) -> smtplib.SMTP:
    """A connection to the SMTP server at ``url``, logged in; ``Unavailable`` if the server takes no mail at all."""
    try:
        return _connected(urlsplit(url))
    except (OSError, smtplib.SMTPException) as error:
        raise Unavailable("no-mail-server", f"The mail server cannot be used: {error}.") from error


def _connected(url: SplitResult) -> smtplib.SMTP:
    host = url.hostname or "localhost"
    context = ssl.create_default_context()
    encrypted = url.scheme == "smtps"
    server: smtplib.SMTP
    if encrypted:
        server = smtplib.SMTP_SSL(host, url.port or 465, timeout=TIMEOUT_SECONDS, context=context)
    else:
        server = smtplib.SMTP(host, url.port or 25, timeout=TIMEOUT_SECONDS)
    try:
        server.ehlo()
        if not encrypted and server.has_extn("starttls"):
            server.starttls(context=context)
            encrypted = True
        if url.username:
            _log_in(server, url, safe=encrypted or host in LOOPBACK)
    except BaseException:
        server.close()
        raise
    return server


def _log_in(server: smtplib.SMTP, url: SplitResult, *, safe: bool) -> None:
    if not safe:
        raise smtplib.SMTPException("it offers no TLS, and the password must not be sent without")
    server.login(unquote(url.username or ""), unquote(url.password or ""))


def message_of(mail: Mail, sender: str, site: str) -> EmailMessage:
    """The mail as a MIME message. Its Message-ID is stable, so that a duplicate can be recognised."""
    message = EmailMessage()
    message["From"] = sender
    message["To"] = mail.recipient
    message["Subject"] = " ".join(mail.subject.split())  # a name of an older entry may have a line break in it
    message["Date"] = format_datetime(mail.created_at)
    domain = parseaddr(sender)[1].rpartition("@")[2] or "localhost"
    message["Message-ID"] = f"<kennel.{mail.id}.{int(mail.created_at.timestamp())}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(f"{mail.body}\n\n{site}{mail.link}\n" if mail.link else mail.body)
    return message
