"""Checks of the surroundings: public address, proxy, mail server, malware scanner, OpenID Connect issuer. The web
process and the worker that sends mails need them; other processes may have no access.
"""

import secrets
import ssl
from contextlib import closing
from email.utils import parseaddr
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from io import BytesIO
from urllib.parse import urlsplit

import httpx

from deploy.doctor.installation import SECONDS, Check, Fault, Installation, Skipped, only_workers_run
from deploy.standalone.commands import CHECKING_QUEUES, SWEEPING_QUEUES
from scorer import clamd
from scorer.accounts.oidc_identities import is_issuer
from scorer.errors import Invalid, Unavailable
from scorer.notifications import smtp
from scorer.settings import Settings

PROBE = "/healthz"
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
TOO_LARGE = 413


def _is_local(settings: Settings) -> bool:
    return urlsplit(settings.public_url).hostname in LOOPBACK


def _public_address(installation: Installation) -> str:
    url = installation.settings.public_url
    try:
        answer = _probe(url)
    except httpx.HTTPError as error:
        if _is_local(installation.settings):
            raise Skipped(f"{url} only works on the machine of the web process") from None
        raise _unreached(installation, f"{url} cannot be reached: {error}", error) from error
    if answer.status_code != httpx.codes.OK or answer.headers.get("content-type") != "application/json":
        raise Fault(f"{url}{PROBE} responds with {answer.status_code}, so it is not this service.")
    return f"{url} responds"


def _unreached(installation: Installation, finding: str, error: BaseException) -> Fault | Skipped:
    """Decide what the ``error`` means: skipped if there was no connection and this machine needs none, else a fault."""
    if _is_without_connection(error) and only_workers_run(installation.commands()):
        return Skipped(
            "this machine has no access to other networks, and its workers need none: check on the web process's "
            f"machine ({finding})"
        )
    return Fault(finding)


def _is_without_connection(error: BaseException) -> bool:
    """Whether no connection was made, as far as the error shows; a wrong certificate means that there was one."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return False
        cause = cause.__cause__
    return isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, OSError))


def _probe(url: str, **headers: str) -> httpx.Response:
    return httpx.get(f"{url}{PROBE}", headers=headers, timeout=SECONDS, trust_env=False)


def _encryption(installation: Installation) -> str:
    settings = installation.settings
    if settings.public_url.startswith("https:"):
        return "cookies are sent only over HTTPS"
    if _is_local(settings):
        return "only this machine can reach the service"
    raise Fault(f"{settings.public_url} is not HTTPS, so passwords, tokens and cookies are sent unencrypted.")


def _proxy(installation: Installation) -> str:
    """The web process accepts a request's ID, like a visitor's address, only from a trusted proxy."""
    url = installation.settings.public_url
    if not url.startswith("https:"):
        raise Skipped("without HTTPS there is no proxy")
    if any(network.prefixlen == 0 for network in installation.settings.trusted_proxies):
        raise Fault(
            "KENNEL_TRUSTED_PROXIES contains all addresses, so any visitor can claim any address and evade rate limits."
        )
    name = f"doctor-{secrets.token_hex(8)}"
    try:
        answer = _probe(url, **{"X-Request-ID": name})
    except httpx.HTTPError:
        raise Skipped(f"{url} could not be reached from here") from None
    if answer.headers.get("x-request-id") != name:
        raise Fault("The web process does not trust the proxy, so all visitors share one address and its rate limits.")
    return "the web process gets visitors' addresses from the proxy"


def _request_size(installation: Installation) -> str:
    """A proxy with a limit refuses a body because of its announced length, before any byte of it."""
    settings = installation.settings
    parts = urlsplit(settings.public_url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    with closing(kind(parts.netloc, timeout=SECONDS)) as connection:
        try:
            connection.putrequest("POST", f"{parts.path}{PROBE}")
            connection.putheader("Content-Length", str(settings.max_upload_bytes))
            connection.endheaders()
            status = connection.getresponse().status
        except (OSError, HTTPException) as error:
            raise Skipped(f"{settings.public_url} did not respond: {error}") from None
    if status == TOO_LARGE:
        raise Fault(f"{settings.public_url} refuses requests of {settings.max_upload_bytes:,} bytes (413).")
    return f"requests of {settings.max_upload_bytes:,} bytes are accepted"


def _mail_server(installation: Installation) -> str:
    url = installation.settings.smtp_url
    if url is None and installation.settings.require_confirmed_address and not installation.settings.oidc_issuer:
        raise Fault(
            "KENNEL_REQUIRE_CONFIRMED_ADDRESS is set, but nobody can confirm an address without KENNEL_SMTP_URL."
        )
    if url is None:
        raise Skipped("KENNEL_SMTP_URL is not set: create links with `kennel admin account reset-link`")
    smtp.check(url.get_secret_value(), installation.settings.mail_from)
    return f"it accepts mails from {installation.settings.mail_from}"


def _mail_sender(installation: Installation) -> str:
    settings = installation.settings
    if settings.smtp_url is None:
        raise Skipped("no mails are sent")
    domain = parseaddr(settings.mail_from)[1].rpartition("@")[2]
    if "." not in domain:
        raise Fault(f"Mails come from {settings.mail_from!r}; other servers accept no mail from that address.")
    return f"mails come from {settings.mail_from}"


def _issuer(installation: Installation) -> str:
    issuer = installation.settings.oidc_issuer
    if issuer is None:
        raise Skipped("KENNEL_OIDC_ISSUER is not set")
    address = f"{issuer}/.well-known/openid-configuration"
    try:
        document = httpx.get(address, timeout=SECONDS).raise_for_status().json()
    except (httpx.HTTPError, ValueError) as error:
        raise _unreached(installation, f"{address} does not respond as an issuer: {error}", error) from error
    named = str(document.get("issuer", "")) if isinstance(document, dict) else ""
    if not is_issuer(named, issuer):
        raise Fault(f"{address} names another issuer: {named or 'none'}.")
    return f"{issuer} responds"


def _malware_scanner(installation: Installation) -> str:
    """A scanner without signatures finds nothing and does not report that."""
    address = installation.settings.clamd
    if address is None:
        raise Skipped("KENNEL_CLAMD is not set: uploads are not scanned")
    try:
        clamd.require_clean(address, BytesIO(clamd.EICAR))
    except Invalid:
        return f"clamd at {address} detects the EICAR test file"
    except Unavailable as error:
        cause = error.__cause__ or error
        if not only_workers_run(installation.commands(), without=(*SWEEPING_QUEUES, *CHECKING_QUEUES)):
            raise Fault(f"clamd at {address} does not scan: {cause}") from error
        raise _unreached(installation, f"clamd at {address} does not scan: {cause}", cause) from error
    raise Fault(f"clamd at {address} does not detect the EICAR test file.")


CHECKS = (
    Check("public address", _public_address, "Check the name, its certificate, the proxy and KENNEL_PUBLIC_URL."),
    Check(
        "encryption",
        _encryption,
        "Put a proxy with TLS in front of the service and set KENNEL_PUBLIC_URL to https://...",
    ),
    Check(
        "proxy",
        _proxy,
        "Set KENNEL_TRUSTED_PROXIES of the web process to the proxy's address. Configure the proxy to "
        "send X-Forwarded-For and pass on X-Request-ID.",
        ["public address"],
    ),
    Check(
        "request size",
        _request_size,
        "Raise the proxy's limit (nginx: client_max_body_size), or lower KENNEL_MAX_UPLOAD_BYTES.",
        ["public address"],
    ),
    Check("mail server", _mail_server, "Check KENNEL_SMTP_URL against your mail server's requirements."),
    Check("mail sender", _mail_sender, "Set KENNEL_MAIL_FROM to an address in your own domain."),
    Check("malware scanner", _malware_scanner, "Start clamd, load its signatures (freshclam), and check KENNEL_CLAMD."),
    Check("OpenID Connect", _issuer, "Set KENNEL_OIDC_ISSUER to the issuer's name exactly as in its document."),
)
