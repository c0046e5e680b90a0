"""Receipts: the scores of an entry and what they were measured with, as anybody may be shown them;
signed with the service's own Ed25519 keys (RFC 8032), so that anybody can check them by the public halves.

A signature is a JWS in compact form (RFC 7515, algorithm ``Ed25519`` of RFC 9864); the public halves are a JWK set (RFC
7517, RFC 8037), in which each is named by its thumbprint (RFC 7638).
"""

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import ConfigDict, Field
from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState, state_of
from scorer.db.newest_rows import newest_rows
from scorer.db.submissions import signing_keys
from scorer.db.tables import Account, SigningKey, Submission
from scorer.db.teams.merges import current_team
from scorer.errors import NotFound
from scorer.leaderboard import submission_scores
from scorer.leaderboard.submission_scores import JudgedMeasurement
from scorer.lifecycle import Phase, Status, TrackKind
from scorer.submissions import access

ALGORITHM = "Ed25519"
Jwk = Mapping[str, str]


def sign(session: Session, payload: bytes, *, now: datetime) -> str:
    """The payload, signed by the newest key, as a JWS in compact form; the first signature makes the first key."""
    keys = newest_rows(session, SigningKey)
    key = keys[0] if keys else _new_key(session, now)
    if key.private_key is None:
        raise RuntimeError(f"signing key {key.id} is the newest and has no private half")
    header = {"alg": ALGORITHM, "kid": _public_jwk(key)["kid"]}
    signed = f"{_encoded(json.dumps(header).encode())}.{_encoded(payload)}"
    signature = Ed25519PrivateKey.from_private_bytes(key.private_key).sign(signed.encode())
    return f"{signed}.{_encoded(signature)}"


def public_keys(session: Session) -> Sequence[Jwk]:
    """The public halves of all keys, newest first, as JWKs; none before anything was signed."""
    return [_public_jwk(key) for key in newest_rows(session, SigningKey)]


def rotate(acting: Acting[Account | None]) -> Jwk:
    """Make the key that signs from now on, and return its public half. The private halves of former ones are removed;
    their public ones stay. ``author``: None for the operator."""
    signing_keys.remove_private_keys(acting.session)
    jwk = _public_jwk(_new_key(acting.session, acting.now))
    subject = f"signing-key:{jwk['kid']}"
    audit_log.record_action(acting, "signing-key.made", subject)
    return jwk


def _new_key(session: Session, now: datetime) -> SigningKey:
    private_key = Ed25519PrivateKey.generate()
    public_bytes = private_key.public_key().public_bytes_raw()
    return signing_keys.add_signing_key(session, public_bytes, private_key.private_bytes_raw(), now=now)


def _public_jwk(key: SigningKey) -> Jwk:
    required = {"crv": "Ed25519", "kty": "OKP", "x": _encoded(key.public_key)}
    thumbprint = hashlib.sha256(json.dumps(required, separators=(",", ":"), sort_keys=True).encode()).digest()
    return {**required, "kid": _encoded(thumbprint), "alg": ALGORITHM, "use": "sig"}


def _encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


VERSIONS = ("python", "pillow", "numpy", "scipy", "blas", "torch", "timm", "torch-fidelity")
"""What a provenance tells of software that a receipt tells, too."""


@dataclass(frozen=True)
class ReceiptScore:
    """An entry's score on a track, and what it was measured with; null where the provenance does not say."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    track: TrackKind
    mifid: float | None
    """The score, lower is better; null for a copy, which has none."""
    fid: float
    memorization_distance: float
    tau: float | None
    penalised: bool | None
    copy: bool
    """Whether it is a copy of training images."""
    disqualified: bool
    rank: int | None
    """The team's rank when the receipt was issued, if this is its best entry."""
    extractor: Annotated[str, Field(examples=["inception_v3@1"])]
    weights_sha256: str | None
    """Of the extractor's weights."""
    reference: str | None
    """SHA-256 of what the track's reference statistics were computed from."""
    scorer_version: str
    versions: Annotated[Mapping[str, str], Field(examples=[{"pillow": "13.0.0"}])]
    """Of the libraries that measured."""
    measured_at: datetime


@dataclass(frozen=True)
class Receipt:
    """The scores of an entry as of ``issued_at``. Private ones are in it once they are published."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    issuer: str
    """The address of the service that has signed it."""
    issued_at: datetime
    competition: str
    title: str
    phase: Phase
    submission: str
    team: str
    zip_sha256: str | None
    """Null for an imported entry, which has no zip."""
    accepted_at: datetime
    late: bool
    scores: Sequence[ReceiptScore]


def receipt_of(acting: Acting, submission_id: str, *, issuer: str) -> Receipt:
    """The receipt of an entry that the account may see. Whoever asks, it has private numbers only once they are
    published. ``NotFound`` (``no-score``) for an entry without one."""
    submission = access.find_submission(acting.session, submission_id, acting.actor)
    if submission.status != Status.SCORED:
        raise NotFound("no-score", f"This entry has no score: it is {submission.status}.")
    state = state_of(acting.session, submission.competition.slug, acting.now)
    return Receipt(
        issuer=issuer,
        issued_at=acting.now,
        competition=state.competition.slug,
        title=state.competition.title,
        phase=state.phase,
        submission=submission.id,
        team=current_team(acting.session, submission.team_id).name,
        zip_sha256=submission.sha256,
        accepted_at=submission.accepted_at,
        late=submission.late,
        scores=_public_scores(acting.session, submission, state),
    )


def _public_scores(session: Session, submission: Submission, state: CompetitionState) -> list[ReceiptScore]:
    judged = submission_scores.measurements_of(session, submission, None, ranked=True)
    return [_score_of(each, state.tracks[each.track].extractor) for each in judged]


def _score_of(judged: JudgedMeasurement, extractor: str) -> ReceiptScore:
    measurement = judged.measurement
    provenance = measurement.provenance
    return ReceiptScore(
        track=judged.track,
        mifid=judged.mifid,
        fid=measurement.fid,
        memorization_distance=measurement.memorization_distance,
        tau=judged.tau,
        penalised=judged.penalised,
        copy=judged.copy,
        disqualified=judged.disqualified,
        rank=judged.rank,
        extractor=extractor,
        weights_sha256=provenance.get("weights_sha256"),
        reference=provenance.get("reference"),
        scorer_version=measurement.scorer_version,
        versions={name: str(provenance[name]) for name in VERSIONS if provenance.get(name) is not None},
        measured_at=measurement.created_at,
    )
