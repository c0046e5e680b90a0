"""SMTP delivery of one mail."""

import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from urllib.parse import SplitResult, unquote, urlsplit

from scorer.db.tables import Mail
from scorer.errors import Unavailable

CONTENT_POLICY = SMTP.clone(cte_type="7bit")
"""Every server accepts it, even without 8BITMIME."""
TIMEOUT_SECONDS = 10
TRANSFER_SECONDS = 60
"""The longest time for the server to accept a whole mail: many servers scan it before they answer."""
OK_CODES = {250, 251}
PERMANENT_ERROR_CODE = 500
"""Reply codes from here on are permanent errors: a retry is useless."""
SESSION_CODES = {421, 530}
"""Replies about the session, not about a recipient: the server closes it, or requires a login."""
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class MailRefused(Exception):
    """The server has certainly not accepted the mail. ``permanent``: a retry would also fail."""

    def __init__(self, message: str, *, permanent: bool) -> None:
        super().__init__(message)
        self.permanent = permanent


class MailUncertain(Exception):
    """The connection broke during the transfer: the server may have accepted the mail."""


def deliver(mail: Mail, url: str, sender: str, *, site: str) -> None:
    """Send a mail through the SMTP server at ``url``. ``site`` is the address of the service.

    ``url`` is ``smtps://user:password@host`` (TLS from the start) or ``smtp://host:25`` (TLS if the server offers it).
    A password is only sent over TLS or to this machine. Raises ``Unavailable`` if the server accepts no mail at all,
    ``MailRefused`` or ``MailUncertain`` for this mail.
    """
    content = build_message(mail, sender, site).as_bytes(policy=CONTENT_POLICY)
    with _session(url) as server:
        with _unavailability():
            _begin_mail(server, sender)
            code, reply = server.rcpt(mail.recipient)
        if code in SESSION_CODES:
            raise _unavailable(_text(code, reply))
        if code not in OK_CODES:
            raise _refusal(code, reply)
        if server.sock is not None:
            server.sock.settimeout(TRANSFER_SECONDS)
        try:
            code, reply = server.data(content)
        except smtplib.SMTPDataError as error:
            raise _refusal(error.smtp_code, error.smtp_error) from error
        except (OSError, smtplib.SMTPException) as error:
            raise MailUncertain(str(error)) from error
        if code not in OK_CODES:
            raise _refusal(code, reply)


def check(url: str, sender: str) -> None:
    """``Unavailable`` unless the server at ``url`` would accept mails from ``sender``. Sends no mail."""
    with _session(url) as server, _unavailability():
        _begin_mail(server, sender)


@contextmanager
def _session(url: str) -> Iterator[smtplib.SMTP]:
    """Open a session and end it with QUIT, without waiting for the answer."""
    server = connect(url)
    try:
        yield server
        with suppress(OSError, smtplib.SMTPException):
            server.putcmd("QUIT")
    finally:
        server.close()


def _begin_mail(server: smtplib.SMTP, sender: str) -> None:
    """Announce a mail; ``Unavailable`` if the server accepts no mail from this sender."""
    code, reply = server.mail(parseaddr(sender)[1])
    if code not in OK_CODES:
        raise _unavailable(f"it refuses the sender {sender}: {_text(code, reply)}")


def _text(code: int, reply: bytes | str) -> str:
    return f"{code} {reply.decode(errors='replace') if isinstance(reply, bytes) else reply}"


def _refusal(code: int, reply: bytes | str) -> MailRefused:
    return MailRefused(_text(code, reply), permanent=code >= PERMANENT_ERROR_CODE)


def _unavailable(why: object) -> Unavailable:
    return Unavailable("no-mail-server", f"The mail server cannot be used: {why}.")


@contextmanager
def _unavailability() -> Iterator[None]:
    """Turn every failure of the connection into ``Unavailable``."""
    try:
        yield
    except smtplib.SMTPResponseException as error:
        raise _unavailable(_text(error.smtp_code, error.smtp_error)) from error
    except (OSError, smtplib.SMTPException, UnicodeError) as error:  # an invalid host name is a UnicodeError
        raise _unavailable(error) from error


def connect(url: str) -> smtplib.SMTP:
    """Connect and log in to the SMTP server at ``url``; ``Unavailable`` if the server accepts no mail at all."""
    with _unavailability():
        return _connected(urlsplit(url))


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
        server.ehlo_or_helo_if_needed()
        if not encrypted and server.has_extn("starttls"):
            server.starttls(context=context)
            server.ehlo_or_helo_if_needed()
            encrypted = True
        if url.username:
            _log_in(server, url, safe=encrypted or host in LOOPBACK)
    except BaseException:
        server.close()
        raise
    return server


def _log_in(server: smtplib.SMTP, url: SplitResult, *, safe: bool) -> None:
    if not safe:
        raise smtplib.SMTPException("it offers no TLS, and the password must not be sent without TLS")
    server.login(unquote(url.username or ""), unquote(url.password or ""))


def build_message(mail: Mail, sender: str, site: str) -> EmailMessage:
    """Return the mail as a MIME message. Its Message-ID is stable, so receivers can recognise a duplicate."""
    message = EmailMessage(CONTENT_POLICY)
    message["From"] = sender
    message["To"] = mail.recipient
    message["Subject"] = " ".join(mail.subject.split())  # the name of an old entry may contain a line break
    message["Date"] = format_datetime(mail.created_at)
    domain = parseaddr(sender)[1].rpartition("@")[2] or "localhost"
    message["Message-ID"] = f"<kennel.{mail.id}.{int(mail.created_at.timestamp())}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(f"{mail.body}\n\n{site}{mail.link}\n" if mail.link else mail.body)
    return message
