"""The secrets that the draws of a generator competition follow from.

Each is 32 random bytes: one for public draws, one for private draws, one for late entries. The competition's page and
the audit log show their SHA-256 from the beginning, so nobody can choose them later. The database stores them encrypted
with the operator's key.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import SecretStr
from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.db import competitions
from scorer.db.tables import Competition, DrawSecret
from scorer.errors import Unavailable

Purpose = Literal["public", "private", "late"]
REVEALED: tuple[Purpose, ...] = ("public", "private")
"""The secrets that the final board reveals. Late entries are drawn after that, so theirs stays secret."""
_NONCE_BYTES = 12


def create_secrets(acting: Acting, competition: Competition, key: SecretStr | None) -> None:
    """Create the secrets of a competition if it has none. ``Unavailable`` (``no-draw-key``) without the operator's
    key."""
    if _load(acting.session, competition.id):
        return
    for purpose in get_args(Purpose):
        secret = secrets.token_bytes(32)
        sealed = _seal(secret, key, _context(competition.id, purpose))
        commitment = hashlib.sha256(secret).hexdigest()
        acting.session.add(DrawSecret(competition_id=competition.id, purpose=purpose, sealed=sealed, sha256=commitment))
    acting.session.flush()
    subject, after = f"competition:{competition.slug}", load_commitments(acting.session, competition.id)
    audit_log.record_action(acting, "competition.draw-secrets", subject, after=after)


def load_commitments(session: Session, competition_id: int) -> dict[str, str]:
    """The SHA-256 (hex) of a competition's secrets, by purpose; none in a competition of images."""
    stored = _load(session, competition_id)
    return {purpose: stored[purpose].sha256 for purpose in get_args(Purpose) if purpose in stored}


def load_secret(session: Session, competition_id: int, purpose: Purpose, *, key: SecretStr | None) -> bytes:
    """A secret, for drawing. ``Unavailable`` (``no-draw-key``) without the key that it was encrypted with."""
    return _open(_load(session, competition_id)[purpose], key)


def _is_revealed(state: CompetitionState) -> bool:
    """Whether everybody may know the secrets of a competition of generators: from its first final board, even if that
    is withdrawn."""
    final = any(act.published and act.final for act in state.publications)
    return final and state.competition.entries == "generator"


def load_revealed(session: Session, state: CompetitionState, key: SecretStr | None) -> Mapping[str, str]:
    """The secrets (hex) that everybody may see, by purpose: none before the final board."""
    if not _is_revealed(state):
        return {}
    return {purpose: load_secret(session, state.competition.id, purpose, key=key).hex() for purpose in REVEALED}


class ShownSecret(NamedTuple):
    """What everybody may see of a secret: its commitment, and with the final board the secret, both in hex."""

    sha256: str
    secret: str | None


def load_shown(
    session: Session, states: Sequence[CompetitionState], key: SecretStr | None
) -> dict[int, dict[Purpose, ShownSecret]]:
    """By competition and purpose; none in competitions of images. Without the operator's key, no secret is shown."""
    revealed = {
        state.competition.id: _is_revealed(state) for state in states if state.competition.entries == "generator"
    }
    stored = competitions.load_draw_secrets(session, revealed.keys())

    def show(secret: DrawSecret) -> ShownSecret:
        shown = revealed[secret.competition_id] and secret.purpose in REVEALED
        try:
            return ShownSecret(secret.sha256, _open(secret, key).hex() if shown else None)
        except Unavailable:
            return ShownSecret(secret.sha256, None)

    return {
        id_: {purpose: show(of_one[purpose]) for purpose in get_args(Purpose) if purpose in of_one}
        for id_, of_one in stored.items()
    }


def _load(session: Session, competition_id: int) -> dict[str, DrawSecret]:
    return competitions.load_draw_secrets(session, [competition_id])[competition_id]


def _seal(secret: bytes, key: SecretStr | None, context: bytes) -> bytes:
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return nonce + _cipher(key).encrypt(nonce, secret, context)


def _open(secret: DrawSecret, key: SecretStr | None) -> bytes:
    nonce, sealed = secret.sealed[:_NONCE_BYTES], secret.sealed[_NONCE_BYTES:]
    try:
        return _cipher(key).decrypt(nonce, sealed, _context(secret.competition_id, secret.purpose))
    except InvalidTag:
        raise Unavailable(
            "no-draw-key", "KENNEL_DRAW_KEY is not the key that encrypted the secrets of this competition's draws."
        ) from None


def _context(competition_id: int, purpose: str) -> bytes:
    return f"{competition_id}/{purpose}".encode()


def _cipher(key: SecretStr | None) -> AESGCM:
    if key is None:
        raise Unavailable(
            "no-draw-key", "This service can't draw images of generators: its operator has not set KENNEL_DRAW_KEY."
        )
    return AESGCM(hashlib.sha256(key.get_secret_value().encode()).digest())
