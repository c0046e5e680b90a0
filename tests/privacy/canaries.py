"""A competition in which every private value is a canary that occurs nowhere by chance."""

import hashlib
import io
import itertools
import zipfile
import zlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from PIL import Image
from sqlalchemy import text
from sqlalchemy.orm import Session

from scorer.accounts import api_tokens, one_time_links, sessions
from scorer.accounts.password_hashing import new_password_hash
from scorer.accounts.sessions import Browser
from scorer.acting import Acting
from scorer.blobs import Blobs
from scorer.competitions import rules
from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.db import notifications
from scorer.db.tables import (
    Account,
    AllowlistEntry,
    CodeAttachment,
    Competition,
    CompetitionReference,
    DataFile,
    GeneratorFile,
    HashedEntry,
    ImageComparison,
    Job,
    Label,
    Measurement,
    PickSet,
    Preparation,
    Publication,
    RatingItem,
    RatingStudy,
    Recovery,
    ReferenceSet,
    Release,
    RescoringAct,
    RescoringCampaign,
    SharedImages,
    ShownMeasurement,
    ShownTrack,
    SigningKey,
    Submission,
    Team,
    TeamInvitation,
    TeamMessage,
    Threshold,
    Upload,
)
from scorer.import_export.data_release import blob_key
from scorer.insights import human_ratings
from scorer.lifecycle import TRACK_KINDS, TrackKind
from scorer.metrics.mifid import mifid
from scorer.notifications import notices, webhooks
from scorer.settings import Settings
from scorer.teams import teams
from tests.factories import (
    add_evidence,
    add_measurement,
    give_role,
    make_account,
    make_competition,
    make_scored,
    make_submission,
    set_tau,
)
from tests.privacy.canary_values import Canary, number_canary, text_canary

SLUG, DRAFT = "kennels", "draft-kennels"
RULES = "Be fair."
DATA_FILE = "train.csv"
FIRST_REF = 810_917
"""The ref of the insider's scored entry."""
FIRST_ITEM = 660_917
"""The ID of the first rating item."""
PASSWORD = "correct horse battery staple"
PEOPLE = {
    # role -> handle, role of the account
    "insider": ("ada", "participant"),
    "outsider": ("eve", "participant"),
    "reviewer": ("rhea", "participant"),
    "neighbour": ("nora", "organizer"),
    "organizer": ("olga", "organizer"),
    "admin": ("root", "admin"),
}
ROLES = ("visitor", "outsider", "neighbour", "reviewer", "insider", "organizer", "admin")
COMPETING = ("visitor", "outsider", "insider")
"""Roles that must see no hidden values."""
SEARCH: dict[str, Any] = {
    "match": None,
    "power": {"random": {"with_80": 0.1, "with_95": 0.2}, "near": None},
    "starts": {},
    "stability": None,
}
"""The search part of a generator audit's report."""
FAR_FUTURE = timedelta(days=9000)
"""Later than any request, so nothing expires."""
TAU = 0.3141812
EPSILON = 3.7182e-13
INSIDE, OUTSIDE = {"fid": 4173.1415926, "distance": 0.2731726}, {"fid": 2813.3718281, "distance": 0.2236067}
HIDDEN_COUNT = 73519
HELD_OUT = 0.6171819


@dataclass
class Canaries:
    """The planted secrets, and the IDs that requests name."""

    secrets: list[Canary] = field(default_factory=list)
    ids: dict[str, Any] = field(default_factory=dict)

    def word(self, name: str, kind: str, owner: str | None = None, *, text: str | None = None) -> str:
        """Plant a secret text."""
        made = text or f"zq-{name}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
        self.secrets.append(text_canary(name, kind, made, owner))
        return made

    def digest(self, name: str, kind: str) -> str:
        """Plant a secret SHA-256."""
        return self.word(name, kind, text=hashlib.sha256(f"planted {name}".encode()).hexdigest())

    def number(self, name: str, kind: str, value: float) -> float:
        """Plant a secret number."""
        self.secrets.append(number_canary(name, kind, value))
        return value


def plant_canaries(session: Session, settings: Settings, now: datetime) -> Canaries:
    """Fill an empty service with canaries.

    These kinds exist:

    - ``score``: shown after publication
    - ``evidence``: never shown to participants
    - ``recovery``: findings of an audit, shown to the generator's team after publication
    - ``team`` and ``code``: of the insider's team
    - ``allowlist``: invited addresses, for organizers
    - ``reference``, ``mail``, ``storage`` and ``draft``
    """
    planted = Canaries()
    for start, table in enumerate(("tokens", "web_sessions", "notices", "webhooks", "team_invitations"), 71):
        # These IDs occur nowhere by chance.
        session.execute(text(f"ALTER TABLE {table} ALTER COLUMN id RESTART WITH {start}0917"))
    for name, first in (
        ("rating_items", FIRST_ITEM),
        ("raters", FIRST_ITEM + 1000),
        ("rating_studies", FIRST_ITEM + 2000),
    ):
        session.execute(text(f"ALTER TABLE {name} ALTER COLUMN id RESTART WITH {first}"))
    session.execute(text(f"ALTER TABLE submissions ALTER COLUMN ref RESTART WITH {FIRST_REF}"))
    store = Blobs(settings.blob_url)
    people = _people(session, planted, now)
    state = _competition(session, planted, people, now)
    _references(session, planted, state, people["organizer"], now)
    own, other = (
        teams.find_or_create_team(Acting(session, people[owner], now), state.competition.id)
        for owner in ("insider", "outsider")
    )
    planted.ids["team own"] = own.id
    message = planted.word("message", "team")
    session.add(TeamMessage(team_id=own.id, text=message, author_id=people["organizer"].id, created_at=now))
    own.name = "Alpha Kennel"
    other.name = "Beta Kennel"
    _entries(session, planted, state, own, people["insider"], now, INSIDE, "own", "team")
    _entries(session, planted, state, other, people["outsider"], now, OUTSIDE, "other", None)
    for number_, distance in enumerate((0.61, 0.62)):
        crowd = teams.find_or_create_team(Acting(session, make_account(session, now), now), state.competition.id)
        add = make_scored(session, state, crowd, fid=50.0 + number_, distance=distance, now=now)
        add_measurement(session, state, add, fid=3000.0 + number_, distance=0.4, now=now, kind="private")
    _attachments(session, planted, store, people["insider"], now)
    _compare(session, planted, state, now)
    _shown_numbers(session, planted, now)
    _recovered(session, planted, store, people["insider"], now)
    _private_jobs(session, planted, state, own, now)
    _correspondence(session, planted, state, own, people, now)
    _closing(session, planted, store, state, people["organizer"], now)
    private_key = planted.word("signing-key", "storage", text=f"{'zqsigningkey':x<32}").encode()
    public_key = Ed25519PrivateKey.from_private_bytes(private_key).public_key().public_bytes_raw()
    session.add(SigningKey(public_key=public_key, private_key=private_key, created_at=now))
    return planted


def _people(session: Session, planted: Canaries, now: datetime) -> dict[str, Account]:
    people = {}
    for role, (handle, kind) in PEOPLE.items():
        account = make_account(session, now, kind, handle)
        account.email = planted.word(f"mail-{role}", "mail", role, text=f"zq-{role}-mail@example.org")
        agent = planted.word(f"agent-{role}", "mail", role)
        opened = sessions.begin(session, account, secret=f"session-of-{role}", browser=Browser("x", agent), now=now)
        token = api_tokens.issue(
            session, account, f"token-of-{role}", name=planted.word(f"token-{role}", "mail", role), now=now
        )
        token.last_used_at = now  # a request with the token then changes nothing
        planted.ids |= {f"token of {role}": token.id, f"session of {role}": opened.id}
        people[role] = account
    people["insider"].password_hash = new_password_hash(PASSWORD, handle="ada", email="ada@example.org")
    make_account(session, now, handle="newbie")
    one_time_links.issue(session, "reset", "reset-link", now=now, account=people["insider"])
    one_time_links.issue(session, "sign-in", "sign-in-link", now=now, account=people["insider"])
    one_time_links.issue(
        session, "confirmation", "confirm-link", now=now, account=people["insider"], email="new@example.org"
    )
    return people


def _competition(session: Session, planted: Canaries, people: dict[str, Account], now: datetime) -> CompetitionState:
    draft = make_competition(session, now, slug=DRAFT, title=planted.word("draft-title", "draft"), opens_at=None)
    state = make_competition(session, now, slug=SLUG, title="Kennels", rules=RULES, closes_at=now + FAR_FUTURE)
    for made, role in itertools.product((state, draft), ("organizer", "reviewer")):
        give_role(session, made.competition.id, people[role], role, now)
    state.tracks["private"].extractor = planted.word("private-extractor", "score")
    state.tracks["private"].epsilon = EPSILON
    planted.secrets.append(text_canary("private-epsilon", "score", repr(EPSILON)))
    for role in ("insider", "outsider", "reviewer"):
        version = rules.compute_rules_version(state.competition) or ""
        rules.accept_rules(Acting(session, people[role], now), state, version)
    invited = planted.word("allowlist", "invited", text="zq-invited@example.org")
    session.add(
        AllowlistEntry(
            competition_id=state.competition.id, email=invited, invited=True, author_id=people["organizer"].id,
            created_at=now,
        )
    )  # fmt: skip
    set_tau(session, state, "public", 0.5, now)
    planted.number("private-tau", "score", TAU)
    why = planted.word("why-private-tau", "evidence")
    chosen = {"interval": [planted.number("tau-low", "evidence", 0.30415926), TAU]}
    session.add(
        Threshold(
            track_id=state.tracks["private"].id, tau=TAU, method="manual", choice=chosen, reason=why, created_at=now
        )
    )
    return state


def _references(session: Session, planted: Canaries, state: CompetitionState, author: Account, now: datetime) -> None:
    sets = {}
    for role in ("train", "held_out", "private_extra"):
        reference_set = ReferenceSet(
            sha256=planted.digest(f"reference-{role}", "reference"),
            bytes=11,
            blob_key=planted.word(f"reference-key-{role}", "storage"),
            created_by=author.id,
            created_at=now,
        )
        session.add(reference_set)
        session.flush()
        session.add(
            CompetitionReference(
                competition_id=state.competition.id,
                role=role,
                reference_set_id=reference_set.id,
                attached_by=author.id,
                attached_at=now,
            )
        )
        sets[role] = reference_set
    planted.number("private-reference-count", "reference", HIDDEN_COUNT)
    planted.number("held-out-distance", "reference", HELD_OUT)
    for kind, count in zip(TRACK_KINDS, (40, HIDDEN_COUNT), strict=True):
        preparation = Preparation(
            key=planted.word(f"preparation-{kind}", "storage"),
            extractor=state.tracks[kind].extractor,
            image_size=16,
            signed=True,
            reference_set_ids=[reference_set.id for reference_set in sets.values()],
            held_out_set_id=sets["held_out"].id,
            count=count,
            dimension=32,
            held_out_distance=HELD_OUT,
            provenance={"reference": planted.word(f"preparation-provenance-{kind}", "reference")},
            created_at=now,
            finished_at=now,
        )
        session.add(preparation)
        session.flush()
        state.tracks[kind].preparation_id = preparation.id
    campaign = RescoringCampaign(
        track_id=state.tracks["private"].id,
        preparation_id=preparation.id,
        former_preparation_id=preparation.id,
        reason=planted.word("campaign-reason", "evidence"),
        author_id=author.id,
        created_at=now,
    )
    session.add(campaign)
    session.flush()
    session.add(RescoringAct(campaign_id=campaign.id, kind="pause", reason="", author_id=author.id, created_at=now))
    planted.ids["campaign"] = campaign.id
    planted.ids["shown track"] = planted.word("shown-track", "score", text="zqshowntrack")
    shown = ShownTrack(
        competition_id=state.competition.id,
        name=planted.ids["shown track"],
        metric="fid",
        constants={},
        extractor="tiny@1",
        reference="private",
        visibility="organizers",
        preparation_id=preparation.id,
        author_id=author.id,
        created_at=now,
    )
    session.add(shown)
    session.flush()


def _entries(
    session: Session,
    planted: Canaries,
    state: CompetitionState,
    team: Team,
    account: Account,
    now: datetime,
    private: dict[str, float],
    owner: str,
    kind: str | None,
) -> None:
    """Plant a scored entry with its private measurement, and an entry in the queue."""
    scored = make_scored(
        session, state, team, fid=41.5 if owner == "own" else 45.5, distance=0.61, now=now - timedelta(hours=1)
    )
    fid = planted.number(f"private-fid-{owner}", "score", private["fid"])
    distance = planted.number(f"private-distance-{owner}", "score", private["distance"])
    planted.number(f"private-score-{owner}", "score", float(mifid(fid, distance, TAU, EPSILON)))
    measured = add_measurement(session, state, scored, fid=fid, distance=distance, now=now, kind="private")
    _dress(planted, measured, owner)
    for track in ("public", "private"):
        _find(session, planted, state, scored, track, owner, kind, now)
    waiting = make_submission(session, state, team, now=now, status="queued")
    session.add(
        Job(
            queue="score", submission_ref=waiting.ref, track_id=state.tracks["public"].id, team_id=team.id,
            state="waiting", priority=0, turn=int(owner == "other"), due_at=now, attempts=0, created_at=now,
        )
    )  # fmt: skip
    for name, entry in (("scored", scored), ("waiting", waiting)):
        entry.account_id = account.id
        entry.finished_at = now - timedelta(hours=1) if name == "scored" else None
        entry.blob_key = planted.word(f"zip-key-{name}-{owner}", "storage")
        planted.ids[f"{name} {owner}"] = entry.id = f"zq{name}{owner}xyz"
        if kind is not None:
            planted.word(f"id-{name}", kind, text=entry.id)
            entry.note, entry.file_name = planted.word(f"note-{name}", kind), planted.word(f"file-{name}", kind)
            entry.sha256, entry.pixels_sha256 = (planted.digest(f"{part}-{name}", kind) for part in ("zip", "pixels"))
    session.flush()


def _dress(planted: Canaries, measured: Measurement, owner: str) -> None:
    """Plant canaries in every column of a private measurement."""
    measured.distance_se = planted.number(f"private-se-{owner}", "score", 0.0123457 if owner == "own" else 0.0178213)
    measured.fid_spread = planted.number(f"private-spread-{owner}", "score", 1.375291 if owner == "own" else 1.618723)
    drawn = planted.number(f"private-draw-{owner}", "score", 47.193826 if owner == "own" else 48.275913)
    measured.draws = [{"fid": drawn, "memorization_distance": measured.memorization_distance}]
    bins = (31337, 27182, 16180) if owner == "own" else (29979, 24579, 66260)
    counts = [int(planted.number(f"private-bin-{count}", "score", count)) for count in bins]
    measured.histogram = {"low": 0.0, "high": 2.0, "counts": counts}
    measured.artifact_key = planted.word(f"artifact-{owner}", "storage")
    measured.scorer_version = planted.word(f"version-{owner}", "score")
    measured.closest_pairs = [
        {
            "image": int(planted.number(f"pair-image-{owner}", "evidence", 41957 if owner == "own" else 38651)),
            "reference": int(planted.number(f"pair-place-{owner}", "reference", 52361 if owner == "own" else 57413)),
            "reference_name": planted.word(f"pair-reference-{owner}", "reference"),
            "distance": planted.number(f"pair-distance-{owner}", "evidence", 0.0917263 + 0.01 * (owner == "own")),
        }
    ]
    measured.provenance = {"extractor": planted.word(f"provenance-{owner}", "evidence")}


def _find(
    session: Session,
    planted: Canaries,
    state: CompetitionState,
    scored: Submission,
    track: TrackKind,
    owner: str,
    kind: str | None,
    now: datetime,
) -> None:
    """Plant evidence, which no participant sees before publication. Its images belong to the team."""
    where = f"{track}-{owner}"
    place = ("public", "private").index(track) + 2 * (owner == "own")
    value = planted.number(f"found-{where}", "score", -7.6180339 - place)
    sentence = planted.word(f"sentence-{where}", "score")
    extra = session.query(ReferenceSet).order_by(ReferenceSet.id.desc()).first()
    assert extra is not None
    name = planted.word(f"example-{where}", kind) if kind is not None else f"other-{track}.png"
    example = {"generated": name, "distance": 0.25, "mirrored": False}
    hidden = f"{extra.sha256[:8]}/{planted.word(f'hidden-example-{where}', 'reference')}"
    finding = {
        "test": "near-copies", "name": "near_copies", "value": value, "unit": "share", "direction": "lower is better",
        "sentence": sentence, "standard_error": None, "error_kind": None, "interval_coverage": None, "p_value": None,
    }  # fmt: skip
    near = [{**example, "reference": "00000000/training.png"}, {**example, "reference": hidden}]
    add_evidence(
        session, state, scored, now=now, kind=track, findings=[finding], details={"near_copies": near},
        near_copies_share=0.5, near_copies_p=0.001, near_copies_mirrored=0,
    )  # fmt: skip


def _compare(session: Session, planted: Canaries, state: CompetitionState, now: datetime) -> None:
    """Let both scored entries share images, which only reviewers and organizers see."""
    refs = [
        session.query(Submission).filter_by(id=planted.ids[f"scored {owner}"]).one().ref for owner in ("own", "other")
    ]
    for ref in refs:
        key = planted.word(f"hashes-key-{ref}", "storage")
        session.add(HashedEntry(submission_ref=ref, blob_key=key, created_at=now))
        compared = planted.number(f"compared-{ref}", "evidence", 4_711_000 + ref % 1000)
        session.add(ImageComparison(submission_ref=ref, compared=int(compared), common=0, created_at=now))
    share = planted.number("shared-images", "evidence", 0.3717171)
    pair = {"submission_ref": max(refs), "other_ref": min(refs), "images": 3, "equal": 1, "share": share}
    row = SharedImages(competition_id=state.competition.id, examples=[[0, 1]], created_at=now, **pair)
    session.add(row)
    session.flush()


def _shown_numbers(session: Session, planted: Canaries, now: datetime) -> None:
    """Measure both scored entries on a shown track that only organizers and reviewers see."""
    shown = session.query(ShownTrack).filter_by(name=planted.ids["shown track"]).one()
    for owner, value, error in (("own", 7718.2817, 0.0631917), ("other", 5514.1592, 0.0271927)):
        scored = session.query(Submission).filter_by(id=planted.ids[f"scored {owner}"]).one()
        job = Job(
            queue="rescore", submission_ref=scored.ref, shown_track_id=shown.id, team_id=scored.team_id, state="done",
            priority=2, turn=0, due_at=now, attempts=1, created_at=now, finished_at=now,
        )  # fmt: skip
        session.add(job)
        session.flush()
        session.add(
            ShownMeasurement(
                job_id=job.id, shown_track_id=shown.id, submission_ref=scored.ref, created_at=now,
                value=planted.number(f"shown-value-{owner}", "score", value),
                standard_error=planted.number(f"shown-error-{owner}", "score", error),
                scorer_version=planted.word(f"shown-version-{owner}", "evidence"),
                provenance={"worker": planted.word(f"shown-worker-{owner}", "storage")},
            )
        )  # fmt: skip
    session.flush()


def _attachments(session: Session, planted: Canaries, store: Blobs, account: Account, now: datetime) -> None:
    """Plant the insider's sprite sheet, code and unfinished upload."""
    scored = session.query(Submission).filter_by(id=planted.ids["scored own"]).one()
    scored.sprite_key = planted.word("sprite-key", "storage")
    sprite = io.BytesIO()
    Image.new("RGB", (128, 16)).save(sprite, "PNG")
    store.write(scored.sprite_key, sprite.getvalue() + planted.word("sprite-bytes", "team").encode())
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("train.py", planted.word("code-bytes", "code"))
    key = planted.word("code-key", "storage")
    store.write(key, code.getvalue())
    session.add(
        CodeAttachment(
            submission_ref=scored.ref,
            kind="zip",
            bytes=len(code.getvalue()),
            sha256=planted.digest("code", "team"),
            blob_key=key,
            author_id=account.id,
            created_at=now,
        )
    )
    _offer(session, planted, store, scored, account, now)
    note = planted.word("label-note", "evidence")
    session.add(Label(submission_ref=scored.ref, label="aug", note=note, author_id=account.id, created_at=now))
    session.add(PickSet(team_id=scored.team_id, submission_refs=[scored.ref], author_id=account.id, created_at=now))
    planted.ids["upload"] = planted.word("upload", "team", text="zquploadidxyz")
    session.add(
        Upload(
            id=planted.ids["upload"], competition_id=scored.competition_id, account_id=account.id, method="tus",
            file_name=planted.word("upload-file", "team"), note=planted.word("upload-note", "team"), described="",
            length=1000, state="receiving", received=0, parts=[planted.word("part-key", "storage")], begun_at=now,
            expires_at=now + FAR_FUTURE,
        )
    )  # fmt: skip


def _offer(
    session: Session, planted: Canaries, store: Blobs, scored: Submission, account: Account, now: datetime
) -> None:
    """Plant a data file for everybody who has accepted the rules."""
    key = planted.word("data-key", "storage")
    content = b"1,2"
    store.write(key, content)
    session.add(
        DataFile(
            competition_id=scored.competition_id, name=DATA_FILE, offered=True, bytes=len(content), sha256="0" * 64,
            crc32=zlib.crc32(content), blob_key=key, author_id=account.id, created_at=now,
        )
    )  # fmt: skip


def _recovered(session: Session, planted: Canaries, store: Blobs, account: Account, now: datetime) -> None:
    """Plant the insider's generator and its audit."""
    scored = session.query(Submission).filter_by(id=planted.ids["scored own"]).one()
    generator = GeneratorFile(
        submission_ref=scored.ref, bytes=1000, sha256=planted.digest("generator", "team"),
        blob_key=planted.word("generator-key", "storage"), dimension=8, distribution="normal",
        seed=int(planted.number("generator-seed", "recovery", 917263)), author_id=account.id, created_at=now,
    )  # fmt: skip
    job = Job(
        queue="recover", submission_ref=scored.ref, team_id=scored.team_id, state="done", priority=1, turn=0,
        due_at=now, attempts=1, created_at=now, finished_at=now,
    )  # fmt: skip
    session.add_all([generator, job])
    session.flush()
    job.generator_id = generator.id
    groups = ("train", "held_out", "near_train", "near_held_out", "generated", "entry")
    arrays: dict[str, Any] = {
        f"pairs.{group}.{side}": np.zeros((1, 16, 16, 3), np.uint8)
        for group in groups
        for side in ("target", "recovered")
    }
    key = planted.word("recovery-key", "storage")
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    store.write(key, buffer.getvalue())
    errors = {
        group: [planted.number(f"recovery-{group}", "recovery", 0.4517263 + 0.01 * place)]
        for place, group in enumerate(groups)
    }
    names = {"train": "n01.png", "held_out": planted.word("recovered-name", "reference"), "generated": None}
    names |= {"near_train": "n02.png", "near_held_out": planted.word("near-name", "reference"), "entry": "0.png"}
    report = {
        "sentence": planted.word("recovery-sentence", "recovery"), "findings": [], "errors": errors,
        "pairs": {group: [{"error": errors[group][0], "name": names[group]}] for group in groups},
        "plan": {"seed": generator.seed}, **SEARCH,
    }  # fmt: skip
    session.add(
        Recovery(
            job_id=job.id, generator_id=generator.id, report=report, arrays_key=key, created_at=now,
            p_value=planted.number("recovery-p", "recovery", 0.0037183),
            gap=planted.number("recovery-gap", "recovery", 0.3917264),
            recovered_share=planted.number("recovery-share", "recovery", 0.9517265),
            provenance={"worker": planted.word("recovery-worker", "storage")},
        )
    )  # fmt: skip


def _private_jobs(session: Session, planted: Canaries, state: CompetitionState, team: Team, now: datetime) -> None:
    """Plant a running and a failed job on the private track."""
    scored = session.query(Submission).filter_by(id=planted.ids["scored own"]).one()
    shared: dict[str, Any] = {
        "queue": "score", "submission_ref": scored.ref, "track_id": state.tracks["private"].id, "team_id": team.id,
        "priority": 1, "turn": 0, "due_at": now, "created_at": now,
    }  # fmt: skip
    fraction = planted.number("private-fraction", "evidence", 0.7310585)
    worker = planted.word("private-worker", "evidence")
    session.add(
        Job(
            state="running", attempts=1, holder="h", lease_until=now + FAR_FUTURE, worker=worker,
            stage="frechet", fraction=fraction, started_at=now, **shared,
        )
    )  # fmt: skip
    error = planted.word("private-error", "evidence")
    session.add(Job(state="failed", attempts=3, error=error, finished_at=now, **shared))


def _correspondence(
    session: Session, planted: Canaries, state: CompetitionState, team: Team, people: dict[str, Account], now: datetime
) -> None:
    """Plant the insider's notices, webhooks and invitations."""
    ada = people["insider"]
    url = f"https://hooks.example.org/{planted.word('webhook', 'team')}"
    hook = webhooks.register(Acting(session, ada, now), url, secret="whsec", local=False)
    subject = planted.word("notice", "team")
    notice = notices.NoticeText(notices.Kind.ENTRY_SCORED, subject, "Body.", "/notices")
    notices.notify(session, notice, now, accounts=[ada.id])
    session.flush()
    planted.ids["webhook"] = hook.id
    planted.ids["notice"] = notifications.notices_page(session, ada.id, limit=1)[0].id
    friend = make_account(session, now, handle=planted.word("asked-friend", "team")[:30])
    stranger = Acting(session, make_account(session, now), now)
    asked = []
    for person in (friend, ada):
        asking = team if person is friend else teams.find_or_create_team(stranger, state.competition.id)
        invitation = TeamInvitation(
            competition_id=state.competition.id, team_id=asking.id, account_id=person.id,
            invited_by=ada.id if person is friend else friend.id, state="open", created_at=now,
        )  # fmt: skip
        session.add(invitation)
        session.flush()
        asked.append(invitation.id)
    planted.ids["invitation made"], planted.ids["invitation received"] = asked


def _closing(
    session: Session, planted: Canaries, store: Blobs, state: CompetitionState, organizer: Account, now: datetime
) -> None:
    """Plant an unpublished data release, and a rating study with a rater."""
    content = planted.word("release-content", "evidence").encode()
    planted.ids["release"] = planted.word("release", "evidence", text="zqreleaseidxyz")
    names = ("tables.zip", "images/s-1.zip", "generators/s-1.onnx")
    release = Release(
        id=planted.ids["release"], competition_id=state.competition.id, images="ranked",
        key=planted.word("release-key", "storage").encode(), sha256=planted.digest("release", "evidence"),
        files=[{"name": name, "bytes": len(content), "sha256": planted.digest(name, "evidence")} for name in names],
        author_id=organizer.id, created_at=now, finished_at=now,
    )  # fmt: skip
    for name in names:
        store.write(blob_key(release.id, name), content)
    scored = session.query(Submission).filter_by(id=planted.ids["scored own"]).one()
    study = RatingStudy(
        competition_id=state.competition.id, submission_refs=[scored.ref], images=1, grids=1, side=2, wanted=9, seed=1,
        author_id=organizer.id, created_at=now, packed_at=now,
    )  # fmt: skip
    session.add_all([release, study])
    session.flush()
    key = planted.word("pack-key", "storage")
    store.write(key, b"\x89PNG")
    for kind in ("realism", "diversity"):
        session.add(
            RatingItem(
                study_id=study.id, kind=kind, submission_ref=scored.ref, images=[1], blob_key=key, start=0, length=4
            )
        )
        session.flush()
    rater = human_ratings.invite_rater(
        Acting(session, organizer, now), study, planted.word("rater", "evidence"), secret="rate-link"
    )
    planted.ids |= {"study": study.id, "rater": rater.id}


def publish(session: Session, now: datetime, *, final: bool = True) -> None:
    """Publish the competition's private board."""
    competition = session.query(Competition).filter_by(slug=SLUG).one()
    competition.closes_at = now - timedelta(minutes=1)
    session.add(
        Publication(
            competition_id=competition.id, published=True, final=final, reason="It is over.",
            author_id=competition.created_by, created_at=now,
        )
    )  # fmt: skip
    session.flush()
    assert load_state(session, SLUG, now).published
