"""Receipts: an entry's scores and the software of the measurement, signed with the service's Ed25519 keys (RFC 8032).

A signature is a JWS in compact form (RFC 7515, algorithm ``Ed25519`` of RFC 9864). The public keys are a JWK set (RFC
7517, RFC 8037), named by their thumbprints (RFC 7638).
"""

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import ConfigDict, Field, SecretStr
from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.acting import Acting
from scorer.competitions import draw_secrets
from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.competitions.draw_secrets import Purpose
from scorer.db.newest_rows import newest_rows
from scorer.db.submissions import draws, signing_keys
from scorer.db.tables import Account, Draw, SigningKey, Submission
from scorer.db.teams.merges import current_team
from scorer.errors import NotFound
from scorer.generators.onnx_files import Distribution, ValueRange
from scorer.leaderboard import submission_scores
from scorer.leaderboard.submission_scores import JudgedMeasurement
from scorer.lifecycle import Phase, Status, TrackKind
from scorer.submissions import access

ALGORITHM = "Ed25519"
Jwk = Mapping[str, str]


def sign(session: Session, payload: bytes, *, now: datetime) -> str:
    """Return the payload as a JWS in compact form, signed with the newest key; create the first key if needed."""
    keys = newest_rows(session, SigningKey)
    key = keys[0] if keys else _new_key(session, now)
    if key.private_key is None:
        raise RuntimeError(f"signing key {key.id} is the newest key but has no private key")
    header = {"alg": ALGORITHM, "kid": _public_jwk(key)["kid"]}
    signed = f"{_encoded(json.dumps(header).encode())}.{_encoded(payload)}"
    signature = Ed25519PrivateKey.from_private_bytes(key.private_key).sign(signed.encode())
    return f"{signed}.{_encoded(signature)}"


def public_keys(session: Session) -> Sequence[Jwk]:
    """Return all public keys as JWKs, newest first; none before the first signature."""
    return [_public_jwk(key) for key in newest_rows(session, SigningKey)]


def rotate(acting: Acting[Account | None]) -> Jwk:
    """Create a new signing key and return its public key. No actor means the operator.

    The private keys of earlier signing keys are removed; their public keys stay.
    """
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
"""The software versions of a provenance that a receipt includes."""


@dataclass(frozen=True)
class ReceiptDraw:
    """A draw of a generator's images, and the machine that drew them."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    number: int
    pixels_sha256: str
    """The SHA-256 of the pixels: red, green and blue bytes, row by row, image by image."""
    processor: str
    instruction_set: str
    threads: int
    torch: str


@dataclass(frozen=True)
class ReceiptSecret:
    """A secret of the competition's draws."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    sha256: str
    """The commitment: the SHA-256 of the 32 bytes of the secret."""
    secret: str | None
    """In hex; null before the final board, and always for late entries."""


@dataclass(frozen=True)
class ReceiptGenerator:
    """What the images of a generator follow from, together with its file."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    network_sha256: str
    """Equal for files that differ only in names, metadata and padding."""
    dimension: int
    distribution: Distribution
    classes: int | None
    values: ValueRange
    """The range of the image values: [-1, 1] for tanh, [0, 1] for sigmoid."""
    team_id: int
    """The team as part of the seeds of public draws."""
    image_count: int
    image_size: int
    secrets: Mapping[Purpose, ReceiptSecret]


@dataclass(frozen=True)
class ReceiptScore:
    """An entry's score on a track, with the extractor and software; null if the provenance lacks a value."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    track: TrackKind
    mifid: float | None
    """The score; lower is better. Null for a copy, which has no score."""
    fid: float
    fid_spread: float | None
    """The standard deviation of the FID over draws. Null for a single draw, and for a zip."""
    memorization_distance: float
    tau: float | None
    penalised: bool | None
    copy: bool
    """Whether the entry is a copy of training images."""
    disqualified: bool
    rank: int | None
    """The team's rank when the receipt was issued, if this is its best entry."""
    extractor: Annotated[str, Field(examples=["inception_v3@1"])]
    weights_sha256: str | None
    """The SHA-256 of the extractor's weights."""
    reference: str | None
    """The SHA-256 of the inputs of the track's reference statistics."""
    scorer_version: str
    versions: Annotated[Mapping[str, str], Field(examples=[{"pillow": "13.0.0"}])]
    """The versions of the libraries used for the measurement."""
    measured_at: datetime
    draws: Sequence[ReceiptDraw]
    """Empty for a zip of images."""


@dataclass(frozen=True)
class Receipt:
    """The scores of an entry as of ``issued_at``. It has private scores once they are published."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    issuer: str
    """The address of the service that signed the receipt."""
    issued_at: datetime
    competition: str
    title: str
    phase: Phase
    submission: str
    team: str
    zip_sha256: str | None
    """The SHA-256 of the file; null for an imported entry, which has none."""
    generator: ReceiptGenerator | None
    """Null for a zip of images."""
    accepted_at: datetime
    late: bool
    scores: Sequence[ReceiptScore]


def build_receipt(acting: Acting, submission_id: str, *, issuer: str, draw_key: SecretStr | None) -> Receipt:
    """``NotFound`` (``no-score``) without a score. Private scores only after their publication, and the secrets of
    draws only from the final board on, also for organizers."""
    submission = access.find_submission(acting.session, submission_id, acting.actor)
    if submission.status != Status.SCORED:
        raise NotFound("no-score", f"This entry has no score. Its status is {submission.status}.")
    state = load_state(acting.session, submission.competition.slug, acting.now)
    judged = submission_scores.load_measurements(acting.session, submission, None, ranked=True)
    return Receipt(
        issuer=issuer,
        issued_at=acting.now,
        competition=state.competition.slug,
        title=state.competition.title,
        phase=state.phase,
        submission=submission.id,
        team=current_team(acting.session, submission.team_id).name,
        zip_sha256=submission.sha256,
        generator=_build_generator(acting.session, state, submission, draw_key=draw_key),
        accepted_at=submission.accepted_at,
        late=submission.late,
        scores=[
            _build_score(
                measurement,
                state.tracks[measurement.track].extractor,
                drawn=draws.load_draws(acting.session, submission.ref, measurement.track),
            )
            for measurement in judged
        ],
    )


def _build_generator(
    session: Session, state: CompetitionState, submission: Submission, *, draw_key: SecretStr | None
) -> ReceiptGenerator | None:
    if submission.competition.entries == "images" or submission.sha256 is None:
        return None
    checked = draws.load_checked(session, submission.ref)
    secrets = draw_secrets.load_shown(session, [state], draw_key)[state.competition.id]
    return ReceiptGenerator(
        network_sha256=checked.network_sha256,
        dimension=checked.dimension,
        distribution=cast("Distribution", checked.distribution),
        classes=checked.classes,
        values=cast("ValueRange", checked.values),
        team_id=submission.team_id,
        image_count=state.image_spec.count,
        image_size=state.image_spec.size,
        secrets={purpose: ReceiptSecret(**shown._asdict()) for purpose, shown in secrets.items()},
    )


def _build_score(judged: JudgedMeasurement, extractor: str, *, drawn: Sequence[Draw]) -> ReceiptScore:
    measurement = judged.measurement
    provenance = measurement.provenance
    return ReceiptScore(
        track=judged.track,
        mifid=judged.mifid,
        fid=measurement.fid,
        fid_spread=measurement.fid_spread,
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
        draws=[_build_draw(draw) for draw in drawn],
    )


def _build_draw(draw: Draw) -> ReceiptDraw:
    provenance = draw.provenance
    return ReceiptDraw(
        number=draw.number,
        pixels_sha256=provenance["pixels_sha256"],
        processor=provenance["processor"],
        instruction_set=provenance["instruction_set"],
        threads=provenance["threads"],
        torch=provenance["versions"]["torch"],
    )
