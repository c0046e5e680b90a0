"""The planted competition as one of generators, whose entries were drawn and audited."""

from base64 import b64encode, urlsafe_b64encode
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.blobs import Blobs
from scorer.competitions import draw_secrets
from scorer.competitions.competition_state import load_state
from scorer.competitions.spec import DrawSpec
from scorer.db.tables import (
    Account,
    CheckedGenerator,
    Draw,
    DrawSecret,
    GeneratorFile,
    ImageComparison,
    Job,
    SharedImages,
    Submission,
)
from scorer.generators import seeds
from scorer.lifecycle import TRACK_KINDS
from scorer.settings import Settings
from scorer.submissions import draws
from tests.factories import make_zip, noise_images
from tests.people import DRAW_KEY
from tests.privacy.canaries import PEOPLE, SLUG, Canaries, plant_canaries
from tests.privacy.canary_values import Canary

MACHINE = {
    "processor": "Xeon",
    "instruction_set": "AVX512",
    "threads": 2,
    "versions": {"torch": "2"},
    "pixels_sha256": "0" * 64,
}
STAGE = "drawing 2 of 71935"
"""The stage of a running private draw."""


def plant_drawn_entries(session: Session, settings: Settings, now: datetime) -> Canaries:
    """Fill an empty service with canaries. The final board shows the kind ``draw-secret``, and nothing the late
    secret."""
    planted = plant_canaries(session, settings, now)
    competition = load_state(session, SLUG, now).competition
    competition.entries, competition.draws = "generator", DrawSpec(private=1).model_dump()
    organizer = session.scalars(select(Account).where(Account.handle == PEOPLE["organizer"][0])).one()
    draw_secrets.create_secrets(Acting(session, organizer, now), competition, settings.draw_key)
    planted.word("draw-key", "storage", text=DRAW_KEY.get_secret_value())
    for stored in session.scalars(select(DrawSecret)):
        _bytes(planted, f"sealed-{stored.purpose}", "storage", stored.sealed)
    for purpose in ("public", "private", "late"):
        secret = draw_secrets.load_secret(session, competition.id, purpose, key=settings.draw_key)
        _bytes(planted, f"secret-{purpose}", "storage" if purpose == "late" else "draw-secret", secret)
        if purpose == "private":
            for number in range(4):
                _bytes(planted, f"seed-private-{number}", "draw-secret", seeds.private_digest(secret, number))
    for owner in ("own", "other"):
        _plant_entry(session, settings, planted, owner, now)
    for pair in session.scalars(select(SharedImages)):
        pair.same_latents = planted.number("same-latents", "evidence", 0.8317264)
    for audit in session.scalars(select(GeneratorFile)):
        audit.blob_key = None
    running = session.scalars(select(Job).where(Job.state == "running", Job.priority == 1)).one()
    running.queue, running.stage = "draw", planted.word("private-stage", "evidence", text=STAGE)
    session.flush()
    return planted


def _bytes(planted: Canaries, name: str, kind: str, value: bytes) -> None:
    """Plant secret bytes, which must appear neither raw nor as hexadecimal digits nor in Base64."""
    encoded = (encode(value).decode().rstrip("=") for encode in (b64encode, urlsafe_b64encode))
    forms = (value.decode("latin-1"), value.hex(), *encoded)
    planted.secrets.append(Canary(name, kind, tuple(form.lower() for form in forms)))


def _plant_entry(session: Session, settings: Settings, planted: Canaries, owner: str, now: datetime) -> None:
    """Plant an entry's generator, its check and its draws. A private one failed.

    The kind ``recovery`` is shown to the team after publication. The outsider's own things do not count as leaks.
    """
    store = Blobs(settings.blob_url)
    team, viewer = ("insider", None) if owner == "own" else ("outsider", "outsider")
    model = planted.word(f"model-{owner}", "team", team).encode()
    for state in ("waiting", "scored"):
        entry = session.scalars(select(Submission).where(Submission.id == planted.ids[f"{state} {owner}"])).one()
        assert entry.blob_key is not None
        store.write(entry.blob_key, model)
        entry.bytes = len(model)
    checked = CheckedGenerator(
        submission_ref=entry.ref, network_sha256=planted.word(f"network-{owner}", "team", team), dimension=8,
        distribution="normal", values="tanh", seconds=7.0, created_at=now,
        fixed_images_key=planted.word(f"fixed-images-{owner}", "storage"),
    )  # fmt: skip
    session.add(checked)
    session.flush()
    digest = draws.load_digest(session, entry, "public", number=1, key=settings.draw_key)
    _bytes(planted, f"seed-public-{owner}", "draw-secret", digest)
    made = {"submission_ref": entry.ref, "created_at": now}
    fault = planted.word(f"fault-{owner}", "recovery", viewer)
    session.add(Draw(track_kind="private", number=2, bytes=0, fault=fault, provenance=MACHINE, **made))
    for kind in TRACK_KINDS:
        name = f"{kind}-{owner}"
        images = make_zip(noise_images(sum(name.encode())))
        key = planted.word(f"draw-key-{name}", "storage")
        store.write(key, images)
        sha256, pixels_sha256 = f"zip-{name}", f"pixels-{name}"
        if kind == "private":
            sha256, pixels_sha256 = (planted.word(word, "recovery", viewer) for word in (sha256, pixels_sha256))
            planted.word(f"images-{name}", "recovery", viewer, text=images[100:200].decode("latin-1"))
        provenance = MACHINE | {
            "worker": planted.word(f"draw-worker-{name}", "storage"), "pixels_sha256": pixels_sha256
        }  # fmt: skip
        draw = Draw(
            track_kind=kind, number=1, blob_key=key, bytes=len(images), sha256=sha256, provenance=provenance, **made
        )
        session.add(draw)
    session.flush()


def change_private_draws(session: Session, now: datetime) -> None:
    """Add a private draw, change faults, fixed images, comparisons and the progress of the running draw."""
    for draw in session.scalars(select(Draw).where(Draw.track_kind == "private", Draw.number == 1)).all():
        third = Draw(submission_ref=draw.submission_ref, track_kind="private", number=3, bytes=99, created_at=now)
        third.blob_key, third.provenance = f"third-{draw.id}", {}
        session.add(third)
    session.execute(update(Draw).where(Draw.fault.is_not(None)).values(fault="Another fault."))
    session.execute(update(CheckedGenerator).values(fixed_images_key="elsewhere"))
    session.execute(update(SharedImages).values(same_latents=None, share=0.9))
    session.execute(update(ImageComparison).values(compared=0))
    session.execute(update(Job).where(Job.queue == "draw").values(stage="drawing 3 of 3", fraction=0.9))
