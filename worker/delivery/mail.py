"""Sends the mails in the outbox over SMTP.

One transaction claims a mail and another records the outcome, so the row shows a crash in between.
"""

import logging
import time

from scorer.db.tables import Mail
from scorer.errors import Unavailable
from scorer.monitoring.instruments import MAILS
from scorer.notifications import outbox
from scorer.notifications.smtp import MailRefused, MailUncertain, deliver
from worker.runtime.context import WorkerContext

log = logging.getLogger(__name__)
ROUND_SECONDS = 10.0
"""No mail is started after this time, so that other jobs get their turn."""


def send_due_mails(context: WorkerContext) -> int:
    """Returns how many mails the server has accepted. Without a mail server, mails wait until they expire."""
    with context.transaction() as session:
        closed = outbox.sweep_mails(session, context.now())
    if closed["unknown"]:
        log.warning("%d mails may or may not have been sent: their sender vanished", closed["unknown"])
    sent = 0
    end = time.monotonic() + ROUND_SECONDS
    while context.settings.smtp_url is not None and time.monotonic() < end:
        with context.transaction() as session:
            mail = outbox.claim_mail(session, context.now())
        if mail is None:
            break
        try:
            sent += _send(context, mail)
        except Unavailable as error:
            log.warning("%s", error.message)
            break
    return sent


def _send(context: WorkerContext, mail: Mail) -> bool:
    """Returns whether the server has accepted it. Raises ``Unavailable`` if other mails would fail as well."""
    url = context.settings.smtp_url
    sender = context.settings.mail_from
    site = context.settings.public_url
    now = context.now
    try:
        deliver(mail, url.get_secret_value() if url else "", sender, site=site)
    except Unavailable as error:
        with context.transaction() as session:
            outbox.defer(session, mail, error=error.message, now=now())
        MAILS.labels("refused").inc()
        raise
    except MailRefused as error:
        log.warning("the mail server refused mail %d: %s", mail.id, error)
        with context.transaction() as session:
            outbox.record_refusal(session, mail, error=str(error), now=now(), permanent=error.permanent)
        MAILS.labels("refused").inc()
        return False
    except MailUncertain as error:
        log.warning("mail %d may or may not have been sent: %s", mail.id, error)
        with context.transaction() as session:
            outbox.mark_lost(session, mail, error=str(error))
        MAILS.labels("unknown").inc()
        return False
    with context.transaction() as session:
        outbox.mark_sent(session, mail, now=now())
    MAILS.labels("sent").inc()
    return True
