"""The second step of signing in: a code or a passkey for a session that waits for it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from sqlalchemy.orm import Session

from api.accounts.sign_in.sign_in import BrowserActions
from api.http import session_cookies
from api.http.session_cookies import SessionCookies
from scorer.accounts import passkeys, second_factors, sessions
from scorer.accounts.passkeys import RelyingParty, relying_party
from scorer.db.tables import WebSession
from scorer.identifiers import hash_secret


@dataclass(frozen=True)
class SecondFactorActions(BrowserActions):
    """The actions of a browser with a session that waits for the second factor."""

    request: Request

    @property
    def party(self) -> RelyingParty:
        return relying_party(self.settings.public_url)

    @property
    def secret(self) -> str:
        return session_cookies.session_secret(self.request) or ""

    def kinds(self) -> set[str]:
        """The account's kinds of second factors; ``Unauthenticated`` if no session waits."""
        with self.begin() as session:
            waiting = sessions.waiting(session, self.secret, self.now)
            return {factor.kind for factor in second_factors.list_factors(session, waiting.account)}

    def passkey_options(self) -> dict[str, Any]:
        with self.begin() as session:
            waiting = sessions.waiting(session, self.secret, self.now)
            return passkeys.authentication_options(session, waiting, self.party)

    def finish_with_code(self, code: str) -> SessionCookies:
        """The cookies of the completed session; ``Unauthenticated`` for a wrong code."""
        return self._finish(
            lambda session, waiting, _: second_factors.use_code(session, waiting.account, code, now=self.now)
        )

    def finish_with_passkey(self, credential: str) -> SessionCookies:
        """The cookies of the completed session; ``Unauthenticated`` for somebody else's passkey."""
        return self._finish(
            lambda session, waiting, challenge: passkeys.authenticate(
                session, waiting.account, credential, challenge=challenge, party=self.party, now=self.now
            )
        )

    def _finish(self, prove: Callable[[Session, WebSession, bytes | None], None]) -> SessionCookies:
        cookies = self.new_cookies()
        with self.begin() as session:  # commits: a failure also uses up the challenge
            waiting = sessions.waiting(session, self.secret, self.now)
            challenge, waiting.challenge = waiting.challenge, None
            account_id = waiting.account_id
            is_known = sessions.is_known_device(session, waiting.account, self.browser.device, now=self.now)
        # Known browsers have their own limit: strangers who know the password can't lock the owner out of them.
        device = hash_secret(self.browser.device or "").hex() if is_known else ""
        self.rates.hit("second-factor", account_id, device)
        with self.begin() as session:
            waiting = sessions.waiting(session, self.secret, self.now)
            prove(session, waiting, challenge)
            sessions.complete(waiting, secret=cookies.session, now=self.now)
            sessions.remember_device(session, waiting.account, cookies.device, now=self.now)
        self.rates.reset("second-factor", account_id, device)
        return cookies


AppSecondFactorActions = Annotated[SecondFactorActions, Depends()]
