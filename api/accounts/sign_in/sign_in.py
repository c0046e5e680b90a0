"""Sign-up, sign-in, passwords and email addresses, with their rate limits, for the API and the pages.

Hashing a password is slow on purpose, so it happens outside transactions.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends
from sqlalchemy.orm import Session

from api.http.dependencies import (
    AppRateLimiter,
    AppSettings,
    CurrentBrowser,
    Now,
    Transactions,
    Viewer,
    build_requester_key,
)
from api.http.rate_limits import find_network
from api.http.session_cookies import SessionCookies
from scorer.accounts import (
    accounts,
    oidc_identities,
    one_time_links,
    password_hashing,
    password_resets,
    sessions,
    sign_up,
)
from scorer.accounts.credentials import KeptCredentials
from scorer.accounts.oidc_identities import OidcIdentity
from scorer.accounts.sign_up import Application
from scorer.db.tables import Account, WebSession
from scorer.errors import Forbidden, TooMany, Unauthenticated
from scorer.identifiers import hash_secret, new_secret


@dataclass(frozen=True)
class BrowserActions:
    """What both steps of signing in need."""

    begin: Transactions
    rates: AppRateLimiter
    settings: AppSettings
    browser: CurrentBrowser
    now: Now

    def new_cookies(self) -> SessionCookies:
        """Secrets for a new session. A known browser keeps its device secret, which several accounts may share."""
        return SessionCookies(session=new_secret(), device=self.browser.device or new_secret())


class SignInActions(BrowserActions):
    """The sign-in actions of a browser. Every action first counts towards the rate limits."""

    @property
    def rate_limit_key(self) -> str:
        return find_network(self.browser.address)

    def sign_in(self, login: str, password: str) -> SessionCookies:
        """The cookies of a new session; the same ``Unauthenticated`` for an unknown name and for a wrong password."""
        login = login.strip()
        cookies = self.new_cookies()
        with self.begin() as session:
            attempt = sessions.load_attempt(session, login, self.browser, now=self.now)
        who = attempt.account_id if attempt.account_id is not None else f"login {login.lower()}"
        browser = self._count_attempt(who, known_device=attempt.known_device)
        matched = attempt.password_hash if password_hashing.matches(password, attempt.password_hash) else None
        renewed = password_hashing.upgraded_hash(password, matched) if matched else None
        # A failure is also committed, for the audit log.
        with self.begin() as session:
            opened = sessions.sign_in(
                session, login, matched, renewed=renewed, secret=cookies.session, browser=self.browser, now=self.now
            )
            if opened is not None:
                cookies = self._session_cookies(session, opened, cookies)
        if opened is None:
            if not attempt.known_device:
                with suppress(TooMany):  # this attempt was within the limit
                    self.rates.hit("sign-in-account", who)
            title = "Wrong handle, email address or password. Try again, or reset your password."
            raise Unauthenticated("wrong-login", title)
        self.rates.reset("sign-in", browser, who)
        return cookies

    def _count_attempt(self, who: int | str, *, known_device: bool) -> str:
        """Count an attempt to sign in and return the key of its browser's counter.

        A browser that the account knows has its own counter, so strangers can't lock it out. All other browsers share
        the counter of their address. After many failures, they also share that of their network, with a limit that a
        single person never reaches.
        """
        if known_device:
            browser = hash_secret(self.browser.device or "").hex()
        else:
            browser = self.rate_limit_key
            self.rates.hit("sign-in-address", browser)
            if self.rates.is_used_up("sign-in-account", who):
                self.rates.hit("sign-in-network", find_network(self.browser.address, ipv4_bits=24, ipv6_bits=48), who)
        self.rates.hit("sign-in", browser, who)
        return browser

    def count_visit(self) -> None:
        """Count a request that makes the service call the issuer."""
        self.rates.hit("sign-in-address", self.rate_limit_key)

    def open_session(self, account: Account) -> SessionCookies:
        """The cookies of a new session for an account that is already authenticated."""
        with self.begin() as session:
            return self._begin(session, account)

    def sign_in_with_issuer(self, person: OidcIdentity) -> SessionCookies:
        with self.begin() as session:
            account = oidc_identities.account_for(session, person, mode=self.settings.sign_up, now=self.now)
            return self._begin(session, account)

    def sign_in_by_link(self, link: str) -> SessionCookies:
        self.rates.hit("sign-in-address", self.rate_limit_key)
        with self.begin() as session:
            return self._begin(session, one_time_links.use_sign_in_link(session, link, now=self.now))

    def _begin(self, session: Session, account: Account) -> SessionCookies:
        cookies = self.new_cookies()
        opened = sessions.begin(session, account, secret=cookies.session, browser=self.browser, now=self.now)
        return self._session_cookies(session, opened, cookies)

    def _session_cookies(self, session: Session, opened: WebSession, cookies: SessionCookies) -> SessionCookies:
        """The cookies of a session. Remembers the browser, unless the session waits for the second factor."""
        if not opened.awaits_second_factor:
            sessions.remember_device(session, opened.account, cookies.device, now=self.now)
        return replace(cookies, awaits_second_factor=opened.awaits_second_factor)

    def sign_up(self, wanted: Application, password: str) -> Account:
        """Create a participant. The result does not reveal whether the email address is already known."""
        self.rates.hit("sign-up", self.rate_limit_key)
        self._count_mail(wanted.email)
        password_hash = password_hashing.new_password_hash(password, handle=wanted.handle, email=wanted.email)
        with self.begin() as session:
            return sign_up.sign_up(
                session,
                wanted,
                password_hash,
                mode=self.settings.sign_up,
                secret=new_secret(),
                site=self.settings.public_url,
                now=self.now,
            )

    def request_confirmation(self, viewer: Viewer, email: str, password: str) -> None:
        """Send a link that makes ``email`` the address of the viewer's account. Requires the password if the account
        has one."""
        self._count_mail(email, viewer)
        self.require_password(viewer, password)
        with self.begin() as session:
            sessions.hold(session, viewer.session_id, self.now)
            sign_up.request_confirmation(
                session, viewer.account, email, secret=new_secret(), site=self.settings.public_url, now=self.now
            )

    def request_reset(self, email: str) -> None:
        """Send a link for a new password if an account has the address, without revealing whether one has."""
        self._count_mail(email, limit="mail-reset")
        with self.begin() as session:
            password_resets.request_reset(
                session, email, secret=new_secret(), site=self.settings.public_url, now=self.now
            )

    def reset(self, link: str, password: str) -> Account:
        self.rates.hit("sign-in-address", self.rate_limit_key)
        with self.begin() as session:
            owner = password_resets.find_link_account(session, link, now=self.now)
        password_hash = password_hashing.new_password_hash(password, handle=owner.handle, email=owner.email or "")
        with self.begin() as session:
            account = password_resets.complete(session, link, password_hash, now=self.now)
        self.rates.reset("sign-in-account", account.id)
        return account

    def require_password(self, viewer: Viewer, password: str) -> None:
        """``Forbidden`` for a wrong password, if the account has one: the viewer may be using somebody else's
        browser."""
        if viewer.account.password_hash is not None and self._matching_hash(viewer, password) is None:
            raise Forbidden("wrong-password", "The current password is wrong.")

    def _matching_hash(self, viewer: Viewer, password: str) -> str | None:
        """The hash of the viewer's password if ``password`` matches it."""
        stored_hash = viewer.account.password_hash
        self.rates.hit("sign-in", *build_requester_key(viewer.account, self.browser))
        return stored_hash if password_hashing.matches(password, stored_hash) else None

    def change_password(self, viewer: Viewer, old: str, new: str, *, keep: KeptCredentials) -> None:
        """Set a new password if the old one is right. All credentials end except those to ``keep`` and this session."""
        matched = self._matching_hash(viewer, old)
        new_hash = password_hashing.new_password_hash(
            new, handle=viewer.account.handle, email=viewer.account.email or ""
        )
        with self.begin() as session:
            accounts.change_password(
                session,
                viewer.account,
                matched,
                new_hash=new_hash,
                keep=replace(keep, session=viewer.session_id),
                now=self.now,
            )

    def confirm(self, link: str) -> Account:
        self.rates.hit("sign-in-address", self.rate_limit_key)
        with self.begin() as session:
            return sign_up.confirm_address(session, link, now=self.now)

    def _count_mail(self, email: str, viewer: Viewer | None = None, *, limit: str = "mail") -> None:
        self.rates.hit("mail-address", *build_requester_key(viewer.account if viewer else None, self.browser))
        self.rates.hit(limit, email.strip().lower())


AppSignInActions = Annotated[SignInActions, Depends()]
