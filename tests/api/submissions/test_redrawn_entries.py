"""Draws of an entry after they were scored: their download, their part of receipts, and drawing them again."""

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kennel_client import Client
from kennel_client.cli.exit_codes import ExitCode
from scorer.archive import ImageSpec, list_images, read_images_at, write_images
from scorer.competitions.draw_secrets import load_secret
from scorer.db.tables import CheckedGenerator, Competition, Draw, Submission
from scorer.errors import Conflict
from scorer.generators.drawing import Pixels, pixels_sha256
from scorer.lifecycle import Status, TrackKind
from scorer.submissions.files import image_zips
from tests import sandbox_in_process
from tests.api.cached_state import CachedState, cached_fixtures
from tests.api.cli_runner import CliTerminal, CommandResult, terminal
from tests.api.conftest import Service, refused
from tests.api.import_export.files import content, release
from tests.api.submissions.drawn_entries import COUNT, SIZE, TERMS, directions, drawn, generators
from tests.linear_generators import linear_generator
from worker.runtime import decoded_images
from worker.scoring.rescore import RepeatedMeasurement, rescore

__all__ = ["terminal"]
GENERATOR = linear_generator(directions(1))


def scored_entry(service: Service) -> str:
    """The id of a generator that is scored on both tracks."""
    service.hire("rita")
    slug = generators(service, late_submissions=True)
    return str(drawn(service, slug, GENERATOR)["id"])


cached, service = cached_fixtures(scored_entry)


@pytest.fixture
def entry(cached: CachedState[str]) -> str:
    return cached.result


def slug_of(service: Service, entry: str) -> str:
    return str(service.call("ada", "GET", f"/submissions/{entry}").json()["competition"])


def publish(service: Service, entry: str, *, final: bool = True) -> str:
    slug = slug_of(service, entry)
    service.close(slug)
    service.publish(slug, final=final)
    return slug


def fetch_receipt(service: Service, entry: str) -> Any:
    answer = service.call("ada", "GET", f"/submissions/{entry}/receipt")
    assert answer.status_code == 200, answer.text
    return answer.json()


def read_secrets(service: Service) -> dict[str, str]:
    with service.context.sessions() as session:
        submission = session.query(Submission).first()
        assert submission is not None
        key = service.context.settings.draw_key
        return {
            purpose: load_secret(session, submission.competition_id, purpose, key=key).hex()
            for purpose in ("public", "private", "late")
        }


def change_draw(service: Service, kind: TrackKind, change: Callable[[Pixels], None]) -> None:
    """Change the stored images of the first draw on a track, with all hashes that it has in the database."""
    with service.context.sessions.begin() as session:
        draw = session.query(Draw).filter_by(track_kind=kind, number=1).one()
        (stored, *_) = image_zips(session, session.get_one(Submission, draw.submission_ref), kind)
        submission = session.get_one(Submission, draw.submission_ref)
        images = np.array(decoded_images.submission_images(service.context, submission, lambda _: None, stored=stored))
        change(images)
        packed = io.BytesIO()
        write_images(images, packed)
        service.context.blobs.write(stored.key, packed.getvalue())
        draw.bytes, draw.sha256 = len(packed.getvalue()), hashlib.sha256(packed.getvalue()).hexdigest()
        draw.provenance = {**draw.provenance, "pixels_sha256": pixels_sha256(images)}
    decoded_images.build_pixels_path(service.context.scratch, stored.name).unlink()


def shift_a_level(images: Pixels) -> None:
    images[...] = np.where(images < 255, images + 1, images)


def test_draws_are_downloaded_by_the_team_and_reviewers(service: Service, entry: str) -> None:
    def status(who: str, kind: str, number: int = 1) -> int:
        return int(service.call(who, "GET", f"/submissions/{entry}/draws/{kind}/{number}").status_code)

    assert [status(who, "public") for who in ("rita", "organizer", "admin", "ada", "bob")] == [200] * 4 + [404]
    assert [status(who, "private") for who in ("organizer", "admin", "rita", "bob")] == [200, 200, 404, 404]
    assert (status("ada", "public", 2), status("organizer", "private", 3)) == (404, 404)
    hidden = [
        refused(service.call("ada", "GET", f"/submissions/{entry}/draws/private/{n}"), 404, "no-draw") for n in (1, 3)
    ]
    assert [problem["title"].replace("draw 3", "draw 1") for problem in hidden] == 2 * [hidden[0]["title"]]
    slug = publish(service, entry, final=False)
    assert [status(who, "private", number) for who in ("ada", "rita") for number in (1, 2)] == [200] * 4
    service.publish(slug, published=False)
    assert [status(who, "private") for who in ("ada", "rita")] == [404, 404]


def test_the_team_sees_no_draws_of_a_cancelled_entry(service: Service, entry: str) -> None:
    """Otherwise it could look at draws without using its daily limit."""
    with service.context.sessions.begin() as session:
        session.query(Submission).one().status = Status.CANCELLED
    path = f"/submissions/{entry}/draws/public/1"
    refused(service.call("ada", "GET", path), 404, "no-draw")
    refused(service.call("ada", "GET", f"/submissions/{entry}/sprite"), 404, "no-sprite")
    assert service.call("ada", "GET", f"/submissions/{entry}").json()["sprite"] is None
    assert service.call("rita", "GET", path).status_code == 200


def test_a_downloaded_draw_has_the_images_of_its_receipt(
    service: Service, entry: str, terminal: CliTerminal, tmp_path: Path
) -> None:
    with Client(terminal.url, service.tokens["ada"]) as client:
        file = client.download_draw(entry, "public", 1, to=tmp_path / "draw.zip")
        assert client.download_generator(entry, tmp_path / "g.onnx").read_bytes() == GENERATOR
    spec = ImageSpec(count=COUNT, size=SIZE)
    with file.open("rb") as opened:
        images = read_images_at(opened, list_images(opened, spec), spec, indexes=range(COUNT))
    (score,) = fetch_receipt(service, entry)["receipt"]["scores"]
    assert [draw["pixels_sha256"] for draw in score["draws"]] == [pixels_sha256(np.asarray(images))]


def test_a_receipt_reveals_draws_with_the_boards(service: Service, entry: str) -> None:
    with service.context.sessions() as session:
        checked, submission = session.query(CheckedGenerator).one(), session.query(Submission).one()
    secrets = read_secrets(service)
    commitments = {purpose: hashlib.sha256(bytes.fromhex(secret)).hexdigest() for purpose, secret in secrets.items()}
    hidden = dict.fromkeys(secrets)
    receipt = fetch_receipt(service, entry)["receipt"]
    recorded = receipt["generator"]
    assert (recorded["network_sha256"], recorded["team_id"]) == (checked.network_sha256, submission.team_id)
    slug, public = slug_of(service, entry), {"public": TERMS["public"]}
    service.close(slug)
    for final, tracks, revealed in (
        (None, public, hidden),
        (False, TERMS, hidden),
        (True, TERMS, secrets | {"late": None}),
    ):
        if final is not None:
            service.publish(slug, final=final)
        receipt = fetch_receipt(service, entry)["receipt"]
        assert {score["track"]: len(score["draws"]) for score in receipt["scores"]} == tracks
        shown = receipt["generator"]["secrets"]
        assert {purpose: values["sha256"] for purpose, values in shown.items()} == commitments
        assert {purpose: values["secret"] for purpose, values in shown.items()} == revealed
    assert [score["fid_spread"] is None for score in receipt["scores"]] == [True, False]


@pytest.fixture
def verify(service: Service, entry: str, terminal: CliTerminal, tmp_path: Path) -> Callable[..., CommandResult]:
    """Run ``kennel verify`` with the entry's receipt and generator."""
    state = service.app.state
    state.settings = state.settings.model_copy(update={"public_url": terminal.url})

    def run(*options: object, of: str = entry, content: bytes = GENERATOR, who: str | None = None) -> CommandResult:
        receipt, generator = tmp_path / "receipt.json", tmp_path / "g.onnx"
        receipt.write_text(json.dumps(fetch_receipt(service, of)))
        generator.write_bytes(content)
        return terminal.run("verify", receipt, "--generator", generator, *options, who=who)

    return run


def test_verify_draws_the_same_images_after_the_final_board(
    service: Service, entry: str, verify: Callable[..., CommandResult]
) -> None:
    early = verify()
    assert (early.status, "this receipt is older" in early.err) == (ExitCode.USAGE, True), early
    slug = publish(service, entry)
    done = verify()
    assert done.status == ExitCode.DONE, done.err
    lines = done.out.splitlines()
    names = [f"{kind} draw {number + 1}" for kind, count in TERMS.items() for number in range(count)]
    assert [line for line in lines if " draw " in line] == [f"{name}: equal, bit for bit" for name in names]
    commitment = hashlib.sha256(bytes.fromhex(read_secrets(service)["private"])).hexdigest()
    assert f"The secret of private draws has the SHA-256 {commitment}." in lines
    assert not [line for line in lines if "note" in line]

    for other in (directions(1) + np.float32(1e-6), directions(1)[:-1]):
        refusal = verify(content=linear_generator(other))
        assert (refusal.status, "not the generator of the receipt" in refusal.err) == (ExitCode.FAULTY, True)
    late = drawn(service, slug, linear_generator(directions(2)))
    refusal = verify(of=late["id"], content=linear_generator(directions(2)))
    assert (refusal.status, "is never revealed" in refusal.err) == (ExitCode.USAGE, True)
    assert [str(draw.comparison) for draw in rescored(service, late["id"])[0].draws] == ["equal, bit for bit"]


def test_verify_accepts_another_number_of_threads(
    service: Service, entry: str, verify: Callable[..., CommandResult]
) -> None:
    publish(service, entry)
    done = verify("--threads", 1)
    assert done.status == ExitCode.DONE, done.err
    assert done.out.count("  note: threads: 2 then, 1 now") == sum(TERMS.values())


def test_verify_tolerates_one_grey_level(
    service: Service, entry: str, verify: Callable[..., CommandResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox_in_process.use(monkeypatch)
    publish(service, entry)
    change_draw(service, "public", shift_a_level)
    change_draw(service, "private", lambda images: images[:1].fill(0))
    unknown = verify()
    assert (unknown.status, unknown.out.count("needs the zip of this draw")) == (ExitCode.FAULTY, 2)
    lines = verify(who="ada").out.splitlines()[1:]  # the first line has the time
    assert "public draw 1: equal within one grey level in 100.000 % of values" in lines
    private = [line.split(":")[1] for line in lines if line.startswith("private draw")]
    assert private == [" different", " equal, bit for bit"]

    folder = tmp_path / "draws"
    folder.mkdir()
    for kind in ("public", "private"):
        answer = service.call("ada", "GET", f"/submissions/{entry}/draws/{kind}/1")
        (folder / f"entry-1-{kind}-1.zip").write_bytes(answer.content)
    assert verify("--draws", folder).out.splitlines()[1:] == lines
    (folder / "entry-1-public-1.zip").write_bytes((folder / "entry-1-private-1.zip").read_bytes())
    swapped = verify("--draws", folder)
    assert (swapped.status, "does not have the images of public draw 1" in swapped.err) == (ExitCode.FAULTY, True)


def test_a_release_has_generators_only_if_the_rules_said_so(service: Service, entry: str) -> None:
    slug = slug_of(service, entry)
    for released in (False, True):
        with service.context.sessions.begin() as session:
            competition = session.query(Competition).one()
            competition.draws = {**competition.draws, "release": released}
        made = release(service, slug, images="all")
        manifest = json.loads(content(service, slug, made, "manifest.json"))
        names = [file["name"] for file in manifest["files"] if file["name"].startswith("generators/")]
        assert len(names) == int(released)
        assert ("`generators/SUBMISSION.onnx`" in content(service, slug, made, "README.md").decode()) == released
    assert content(service, slug, made, names[0]) == GENERATOR
    assert names[0].removeprefix("generators/").removesuffix(".onnx") in {
        file["name"].removeprefix("images/").removesuffix(".zip") for file in manifest["files"]
    }


def rescored(service: Service, entry: str) -> list[RepeatedMeasurement]:
    return rescore(service.context, entry, verify=True, progress=lambda _stage, _fraction: None)


def test_rescore_draws_again_from_the_stored_generator(
    service: Service, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox_in_process.use(monkeypatch)
    first = rescored(service, entry)
    assert [len(repeated.draws) for repeated in first] == list(TERMS.values())
    assert [str(draw.comparison) for repeated in first for draw in repeated.draws] == 3 * ["equal, bit for bit"]
    assert all(repeated.equal for repeated in first)
    change_draw(service, "public", lambda images: images[:1].fill(0))
    public, private = rescored(service, entry)
    assert (public.draws[0].comparison.equal, public.equal, private.equal) == (False, False, True)
    with service.context.sessions() as session:
        key = session.query(Submission).one().blob_key
    assert key is not None
    service.context.blobs.write(key, linear_generator(directions(3)))
    with pytest.raises(Conflict, match="is not the uploaded one"):
        rescored(service, entry)
