"""Signing up and in, passwords and mail addresses, with their rate limits; for the API and the pages.

Hashing a password takes time and memory on purpose, so no transaction is open meanwhile.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import Depends

from api.http.dependencies import AppRateLimiter, AppSettings, Caller, CurrentBrowser, Now, Transaction, Transactions
from scorer.accounts import accounts, oidc_identities, password_hashing, password_resets, sessions, sign_up
from scorer.accounts.oidc_identities import OidcIdentity
from scorer.accounts.rate_limits import RateLimiter, network_of
from scorer.accounts.sessions import Browser
from scorer.accounts.sign_up import Application
from scorer.db.tables import Account
from scorer.errors import Unauthenticated
from scorer.settings import Settings


def new_secret() -> str:
    """256 random bits in base64url, for a cookie, an API token or a one-time link."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class SignInActions:
    """What one browser may do about signing in at one moment. Every action counts against the rate limits first."""

    begin: Transaction
    rates: RateLimiter
    settings: Settings
    browser: Browser
    now: datetime

    @property
    def rate_limit_key(self) -> str:
        """The browser's network, under which rate limits count it."""
        return network_of(self.browser.address)

    def sign_in(self, login: str, password: str) -> str:
        """The secret of a new session; ``Unauthenticated`` for an unknown name and for a wrong password alike."""
        login = login.strip()
        key = login.lower()
        self.rates.hit("sign-in-address", self.rate_limit_key)
        self.rates.hit("sign-in", self.rate_limit_key, key)
        self.rates.hit("sign-in-account", key)
        secret = new_secret()
        with self.begin() as session:
            stored_hash = sessions.password_hash_of(session, login)
        matched = stored_hash if password_hashing.matches(password, stored_hash) else None
        renewed = password_hashing.upgraded_hash(password, matched) if matched else None
        # A failure is committed too, for the audit log.
        with self.begin() as session:
            opened = sessions.sign_in(
                session, login, matched, renewed=renewed, secret=secret, browser=self.browser, now=self.now
            )
        if opened is None:
            raise Unauthenticated("wrong-login", "There is no account with this name and this password.")
        self.rates.reset("sign-in", self.rate_limit_key, key)
        return secret

    def open_session(self, account: Account) -> str:
        """The secret of a new session for an account that was authenticated in another way."""
        secret = new_secret()
        with self.begin() as session:
            sessions.begin(session, account, secret=secret, browser=self.browser, now=self.now)
        return secret

    def sign_in_with_issuer(self, person: OidcIdentity) -> str:
        """The secret of a new session for an identity from an OpenID Connect issuer."""
        secret = new_secret()
        with self.begin() as session:
            account = oidc_identities.account_for(session, person, mode=self.settings.sign_up, now=self.now)
            sessions.begin(session, account, secret=secret, browser=self.browser, now=self.now)
        return secret

    def sign_up(self, wanted: Application, password: str) -> Account:
        """A new participant. The result does not reveal whether the mail address is known already."""
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

    def ask_confirmation(self, account: Account, email: str) -> None:
        """Send a link that makes ``email`` the account's address."""
        self._count_mail(email)
        with self.begin() as session:
            sign_up.ask_confirmation(
                session, account, email, secret=new_secret(), site=self.settings.public_url, now=self.now
            )

    def ask_reset(self, email: str) -> None:
        """Send a link for a new password if an account has the address; the caller does not learn whether one does."""
        self._count_mail(email)
        with self.begin() as session:
            password_resets.request_reset(
                session, email, secret=new_secret(), site=self.settings.public_url, now=self.now
            )

    def reset(self, link: str, password: str) -> Account:
        """Set a new password with a one-time link."""
        self.rates.hit("sign-in-address", self.rate_limit_key)
        password_hash = password_hashing.new_password_hash(password)
        with self.begin() as session:
            account = password_resets.complete(session, link, password_hash, now=self.now)
        for login in filter(None, (account.handle, account.email)):
            self.rates.reset("sign-in-account", login.lower())
        return account

    def change_password(self, caller: Caller, old: str, new: str) -> None:
        """Set a new password for a caller who knows the old one; their other sessions end."""
        stored_hash = caller.account.password_hash
        self.rates.hit("sign-in", self.rate_limit_key, caller.account.handle.lower())
        matched = stored_hash if password_hashing.matches(old, stored_hash) else None
        new_hash = password_hashing.new_password_hash(
            new, handle=caller.account.handle, email=caller.account.email or ""
        )
        with self.begin() as session:
            accounts.change_password(
                session, caller.account, matched, new_hash, keep_session=caller.session_id, now=self.now
            )

    def confirm(self, link: str) -> Account:
        """Confirm a mail address with a one-time link."""
        self.rates.hit("sign-in-address", self.rate_limit_key)
        with self.begin() as session:
            return sign_up.confirm_address(session, link, now=self.now)

    def _count_mail(self, email: str) -> None:
        self.rates.hit("mail-address", self.rate_limit_key)
        self.rates.hit("mail", email.strip().lower())


def sign_in_actions(
    begin: Transactions, rates: AppRateLimiter, settings: AppSettings, browser: CurrentBrowser, now: Now
) -> SignInActions:
    """The sign-in actions of this request's browser."""
    return SignInActions(begin, rates, settings, browser, now)


AppSignInActions = Annotated[SignInActions, Depends(sign_in_actions)]
