"""Evidence, from a recorded score to a row: made by a worker's own code, after the score, and the same every time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from deploy.demo.generators import Pixels, half_copied, mirrored
from deploy.standalone.ephemeral import Servers
from scorer.db import lookups
from scorer.db.evidence import newest_evidence
from scorer.db.tables import Evidence, Submission
from tests.api.conftest import Service, running
from tests.conftest import settings_of_its_own
from tests.factories import zipped
from worker.examinations import EXAMINATIONS

COUNT, SIZE = 120, 16


def photographs(seed: int, count: int) -> Pixels:
    """Smooth images with a little noise, all from one law, which mirroring does not change."""
    rng = np.random.default_rng(seed)
    grid = np.linspace(0, np.pi, SIZE)
    waves = np.stack([np.outer(np.cos(a * grid), np.cos(b * grid)) for a in range(5) for b in range(5)])
    smooth = 128 + np.einsum("nwc,wyx->nyxc", rng.normal(0, 12, (count, 25, 3)), waves)
    return np.clip(np.rint(smooth + rng.normal(0, 2, smooth.shape)), 0, 255).astype(np.uint8)


TRAINING, HELD_OUT = photographs(1, 300), photographs(2, 150)
REFERENCES = {"train": TRAINING, "held_out": HELD_OUT, "private_extra": photographs(3, 40)}
ENTRIES = {
    "honest": photographs(4, COUNT),
    "half": half_copied(TRAINING, COUNT, np.random.default_rng(0), rank=60),
    "mirrored": mirrored(TRAINING, COUNT, np.random.default_rng(0)),
    "collapsed": np.concatenate([photographs(5, 20)] * 6),
    "twins": np.concatenate([photographs(6, COUNT // 2), photographs(6, COUNT // 2)[:, :, ::-1]]),
}


@pytest.fixture(scope="module")
def service(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all that only looks."""
    with settings_of_its_own(servers, tmp_path_factory.mktemp("evidence")) as settings, running(settings) as each:
        yield each


@pytest.fixture(scope="module")
def slug(service: Service) -> str:
    return service.competition(REFERENCES, image_count=COUNT, image_size=SIZE)


@pytest.fixture(scope="module")
def examined(service: Service, slug: str) -> dict[str, dict[str, Evidence]]:
    """Every entry, scored and examined: its evidence by track."""
    for name, images in ENTRIES.items():
        answer = service.submit("ada", slug, zipped(images), note=name)
        assert answer.status_code == 202, answer.text
    service.work(evidence=True)
    with service.bench.sessions() as session:
        entries = {each.note: each.ref for each in session.scalars(select(Submission))}
        return {name: both(service, ref) for name, ref in entries.items()}


def both(service: Service, ref: int) -> dict[str, Evidence]:
    with service.bench.sessions() as session:
        submission = session.get_one(Submission, ref)
        tracks = lookups.tracks_of(session, submission.competition_id)
        found = {kind: newest_evidence(session, ref, track.id) for kind, track in tracks.items()}
        assert all(found.values())
        session.expunge_all()
        return {kind: each for kind, each in found.items() if each is not None}


def finding(evidence: Evidence, name: str) -> dict[str, Any]:
    (found,) = (each for each in evidence.findings if each["name"] == name)
    return found


# What it says.


def test_every_number_is_there_with_its_unit_direction_and_sentence(
    examined: dict[str, dict[str, Evidence]],
) -> None:
    expected = [(test.test, *number) for test in EXAMINATIONS for number in test.numbers]
    for evidence in (examined["honest"]["public"], examined["half"]["private"]):
        told = [(each["test"], each["name"], each["unit"], each["direction"]) for each in evidence.findings]
        assert told == expected
        assert all(each["sentence"].endswith(".") for each in evidence.findings)
        lacking = {each["name"] for each in evidence.findings if each["value"] is None}
        assert lacking == {"inception_score", "fid_infinity"}


def test_an_honest_entry_shows_nothing(examined: dict[str, dict[str, Evidence]]) -> None:
    for evidence in examined["honest"].values():
        assert evidence.z_u_p is not None
        assert evidence.z_u_p > 0.01
        assert evidence.copied_cells == 0
        assert evidence.partly_copied_p is not None
        assert evidence.partly_copied_p > 0.01
        assert evidence.near_copies_p is not None
        assert evidence.near_copies_p > 0.01
        assert evidence.repeats_p is not None
        assert evidence.repeats_p > 0.01
        assert (evidence.identical, evidence.mirrored_twins) == (0, 0)


def test_half_a_zip_of_copies_is_told(examined: dict[str, dict[str, Evidence]]) -> None:
    """By single images, whatever the mean says; and by the images themselves."""
    for evidence in examined["half"].values():
        assert evidence.partly_copied_share is not None
        assert 0.5 <= evidence.partly_copied_share < 0.7
        assert evidence.partly_copied_p is not None
        assert evidence.partly_copied_p < 1e-4
        assert "copies, whatever the average says" in finding(evidence, "partly_copied")["sentence"]
        assert finding(evidence, "pixel_copies")["value"] == 0.5
        pairs = evidence.details["partly_copied"]
        assert len(pairs) == 12
        assert {pair["distance"] for pair in pairs} == {0.0}
        for pair in pairs:  # the very images
            row, column = (int(Path(pair[side]).stem) for side in ("generated", "reference"))
            assert np.array_equal(ENTRIES["half"][row], TRAINING[column])


def test_mirrored_copies_are_told_from_upright_ones(examined: dict[str, dict[str, Evidence]]) -> None:
    evidence = examined["mirrored"]["public"]
    assert evidence.near_copies_share == 1.0
    assert evidence.near_copies_mirrored == COUNT
    assert all(pair["mirrored"] and pair["distance"] == 0.0 for pair in evidence.details["near_copies"])
    assert evidence.partly_copied_share is not None
    assert evidence.partly_copied_share < 0.1
    assert f"{COUNT} of them mirrored" in finding(evidence, "near_copies")["sentence"]


def test_a_collapsed_generator_is_told(examined: dict[str, dict[str, Evidence]]) -> None:
    evidence = examined["collapsed"]["public"]
    assert (evidence.identical, evidence.mirrored_twins, evidence.repeats_share) == (COUNT, 0, 1.0)
    assert len(evidence.details["identical"][0]) == 6
    assert evidence.details["repeats"][0][2] == 0.0
    assert "in 20 groups, the largest of 6" in finding(evidence, "identical")["sentence"]
    twins = examined["twins"]["public"]
    assert (twins.identical, twins.mirrored_twins) == (0, COUNT)


def test_cells_are_shown_with_their_images(examined: dict[str, dict[str, Evidence]]) -> None:
    evidence = examined["half"]["public"]
    cells = evidence.details["cells"]
    assert sum(cell["generated"] for cell in cells) == COUNT
    assert sum(cell["copied"] for cell in cells) == evidence.copied_cells
    assert evidence.copied_cells
    for cell in cells:
        assert len(cell["examples"]) == min(6, cell["generated"])
        assert [each["distance"] for each in cell["examples"]] == sorted(each["distance"] for each in cell["examples"])
    assert evidence.copied_cells_share == sum(cell["generated"] for cell in cells if cell["copied"]) / COUNT
    # By sha256, as closest pairs name them.
    assert all(len(each["reference"].split("/")[0]) == 8 for cell in cells for each in cell["examples"])
