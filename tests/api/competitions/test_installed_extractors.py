"""Extractors without weights on any running worker: Kennel reports them before references are uploaded."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete

from kennel_client.cli.exit_codes import ExitCode
from scorer.db.jobs import worker_reports
from scorer.db.tables import WorkerReport
from scorer.extractor_catalogue import find_extractor
from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import Service, refused
from tests.factories import make_zip, noise_images
from tests.web.pages import start_session

__all__ = ["terminal"]
DEFAULTS = ("inception_v3", "nasnetalarge")
COMMANDS = tuple(f"`{find_extractor(name).installation}`" for name in DEFAULTS)


@pytest.fixture
def service(service: Service) -> Iterator[Service]:
    """A service without worker reports; the test's reports are deleted afterwards."""
    yield service
    with service.context.sessions.begin() as session:
        session.execute(delete(WorkerReport))


def report(service: Service, *extractors: str) -> None:
    """Report a worker that has the weights of these extractors."""
    with service.context.sessions.begin() as session:
        worker_reports.write_report(
            session,
            "scorer@here",
            version="1",
            migration="1",
            queues=["prepare", "score"],
            extractors={find_extractor(name).identity: "ab" for name in extractors},
        )


def create(service: Service, slug: str, **fields: Any) -> Any:
    """Create a competition as an organizer."""
    return service.call("organizer", "POST", "/competitions", json={"slug": slug, "title": "Dogs"} | fields)


def list_extractors(competition: dict[str, Any]) -> dict[str, str]:
    return {track["kind"]: track["extractor"] for track in competition["tracks"]}


@pytest.mark.parametrize(
    ("installed", "listed"),
    [((), "tiny@1"), (("inception_v3",), "inception_v3@1, tiny@1"), (None, "none, because no worker is running")],
)
def test_an_extractor_must_be_named_unless_the_default_is_installed(
    service: Service, installed: Collection[str] | None, listed: str
) -> None:
    if installed is not None:
        report(service, "tiny", *installed)
    problem = refused(create(service, "dogs"), 422, "extractor-not-named")
    track = "private" if installed else "public"
    assert problem["title"].startswith(f"Name the extractor of the {track} track, ")
    assert f"Installed: {listed}. " in problem["title"]
    assert all(command in problem["title"] for command in COMMANDS)


def test_the_form_selects_installed_extractors_and_marks_the_others(service: Service) -> None:
    headers = {"Accept": "text/html", "Cookie": f"kennel={start_session(service, 'organizer')}"}
    report(service, "tiny", "inception_v3")
    public, private = service.http.get("/new-competition", headers=headers).text.split('<select id="private')
    chosen = '<option value="inception_v3@1" selected>inception_v3@1</option>'
    assert (chosen in public, chosen in private) == (True, False)
    assert '<option value="" selected>Choose one</option>' in private
    assert '<option value="nasnetalarge@1">nasnetalarge@1 (no worker has its weights)</option>' in private
    assert '<option value="tiny@1">tiny@1</option>' in private


def test_the_defaults_are_the_papers_extractors_if_installed(service: Service) -> None:
    report(service, "tiny", *DEFAULTS)
    made = create(service, "default-dogs", public={"epsilon": 1e-9})
    assert made.status_code == 201, made.text
    assert list_extractors(made.json()) == {"public": "inception_v3@1", "private": "nasnetalarge@1"}
    assert made.json()["tracks"][0]["epsilon"] == 1e-9
    assert not [point for point in made.json()["missing"] if "weights" in point]


def test_open_points_name_missing_weights(service: Service) -> None:
    report(service, "tiny")
    named = {"public": {"extractor": "tiny"}, "private": {"extractor": "dinov2"}}
    missing = create(service, "dinov2-dogs", **named).json()["missing"]
    fault = (
        "no running worker has the weights of dinov2; the operator can install them with "
        f"`{find_extractor('dinov2').installation}` on the machine of scorer@here"
    )
    assert [point for point in missing if "weights" in point] == [missing[-1]]
    assert missing[-1].startswith(fault)
    changes: dict[str, Any] = {"private": {"extractor": "tiny"}}
    changed = service.call("organizer", "PATCH", "/competitions/dinov2-dogs", json=changes).json()
    assert changed["missing"] == missing[:-1]
    changes = {"private": {"epsilon": 1e-9}}
    changed = service.call("organizer", "PATCH", "/competitions/dinov2-dogs", json=changes).json()
    assert list_extractors(changed)["private"] == "tiny@1"


def test_a_prepared_competition_needs_no_weights(service: Service) -> None:
    slug = service.competition()
    report(service, "inception_v3")
    assert service.call("organizer", "GET", f"/competitions/{slug}").json()["missing"] == []


def test_references_are_refused_without_the_weights(service: Service, terminal: CliTerminal, tmp_path: Path) -> None:
    report(service, "tiny")
    named = {"public": {"extractor": "tiny"}, "private": {"extractor": "nasnetalarge"}}
    create(service, "waiting-dogs", **named)
    view = service.call("organizer", "GET", "/competitions/waiting-dogs/tracks/private/preparation").json()
    assert COMMANDS[1] in view["missing_weights"]
    train = tmp_path / "train.zip"
    train.write_bytes(make_zip(noise_images(3)))
    done = terminal.run("admin", "reference", "attach", "waiting-dogs", "--train", train, "--json", who="organizer")
    assert done.status == ExitCode.REFUSED
    problem = done.document["problem"]
    assert problem["type"].endswith(":no-worker-with-weights")
    assert [COMMANDS[1] in fault for fault in problem["faults"]] == [True]
    missing = service.call("organizer", "GET", "/competitions/waiting-dogs").json()["missing"]
    assert "no training images are attached" in missing


def test_shown_tracks_with_missing_weights_are_refused(service: Service) -> None:
    slug = service.competition()
    report(service, "tiny")
    shown = {"name": "fd", "metric": "fid", "extractor": "dinov2", "reference": "public", "visibility": "organizers"}
    path = f"/competitions/{slug}/shown-tracks"
    problem = refused(service.call("organizer", "POST", path, json=shown), 409, "no-worker-with-weights")
    assert "dinov2" in problem["title"]
