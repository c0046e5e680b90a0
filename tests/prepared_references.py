"""Prepared references of small competitions, computed once per process.

Each service stores them with its own functions.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import select

from scorer.acting import Acting
from scorer.blobs import Blobs, ReceivedBlob
from scorer.competitions import competition_state, preparations, reference_sets
from scorer.competitions.preparations import PreparationResult
from scorer.competitions.reference_sets import ReferenceRole
from scorer.db.tables import Account, Preparation, ReferenceSet
from tests.factories import make_zip, noise_images
from worker.runtime.context import WorkerContext
from worker.scoring.reference_features import SetAddress, prepare_reference

SEEDS: dict[ReferenceRole, tuple[int, int]] = {"train": (1, 40), "held_out": (2, 12), "private_extra": (3, 10)}
"""By role: the seed of the noise, and the number of images."""


@dataclass(frozen=True)
class StoredPreparation:
    """A worker's result of a preparation, and the blobs that it stored."""

    found: PreparationResult
    blobs: dict[str, bytes]


_preparations: dict[str, StoredPreparation] = {}
"""By key, which depends on all inputs."""


def give(context: WorkerContext, slug: str, size: int) -> None:
    """Attach the standard references to a competition without entries, prepared on both tracks."""
    now = datetime.now(UTC)
    with context.sessions.begin() as session:
        author = session.scalars(select(Account).where(Account.handle == "organizer")).one()
        state = competition_state.load_state(session, slug, now)
        sets = {}
        for role in SEEDS:
            content, received = _upload(role, size)
            sets[role] = reference_sets.attach_reference_set(
                Acting(session, author, now), state, role, received=received
            )
            if not context.blobs.exists(received.key):
                context.blobs.write(received.key, content)
        for kind, roles in reference_sets.REFERENCE_ROLES.items():
            track = state.tracks[kind]
            space = preparations.find_track_feature_space(track, {})
            preparation = preparations.find_or_create_preparation(session, state, kind, space=space, now=now)
            if preparation.finished_at is None:
                prepared = _prepared(context, preparation, sets, roles)
                for key, content in prepared.blobs.items():
                    context.blobs.write(key, content)
                for name, value in vars(prepared.found).items():
                    setattr(preparation, name, value)
                preparation.finished_at = now
            preparations.prepare(Acting(session, author, now), state, kind, weights={})


@cache
def _upload(role: ReferenceRole, size: int) -> tuple[bytes, ReceivedBlob]:
    content = make_zip(noise_images(*SEEDS[role], size))
    sha256 = hashlib.sha256(content).hexdigest()
    return content, ReceivedBlob(f"references/{sha256[:32]}.zip", len(content), sha256)


def _prepared(
    context: WorkerContext,
    preparation: Preparation,
    sets: Mapping[ReferenceRole, ReferenceSet],
    roles: Sequence[ReferenceRole],
) -> StoredPreparation:
    """Let the worker prepare the sets in these roles in a temporary blob store."""
    if preparation.key not in _preparations:
        with TemporaryDirectory() as name:
            folder = Path(name)
            size = preparation.image_size
            settings = context.settings.model_copy(update={"scratch": folder / "scratch"})
            alone = replace(context, settings=settings, blobs=Blobs((folder / "blobs").as_uri()))
            for role, reference_set in sets.items():  # a test may have uploaded the same images under another key
                alone.blobs.write(reference_set.blob_key, _upload(role, size)[0])
            addresses = [SetAddress(sets[role].sha256, sets[role].blob_key, size) for role in (*roles, "held_out")]
            prepared = prepare_reference(
                alone,
                preparation.key,
                preparation.extractor,
                sets=addresses[:-1],
                held_out=addresses[-1],
                signed=preparation.signed,
                progress=lambda *_: None,
            )
            files = [path for path in (folder / "blobs").rglob("*") if path.is_file()]
            blobs = {path.relative_to(folder / "blobs").as_posix(): path.read_bytes() for path in files}
        _preparations[preparation.key] = StoredPreparation(prepared, blobs)
    return _preparations[preparation.key]
