"""The results of another platform are imported, and a finished competition is exported as a data release."""

from pathlib import Path

from kennel_client.admin import ImportOptions
from tests.api.import_export.files import table
from tests.factories import noise_images
from tests.stories.conftest import RunningService


def test_a_table_of_results_is_imported_once(live: RunningService, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(table())
    competitions = live.admin.admin.competitions
    options: ImportOptions = {"title": "Elsewhere", "tau_public": 0.28, "tau_private": 0.3}
    first = competitions.import_results("elsewhere", tmp_path / "results.csv", options)
    again = competitions.import_results("elsewhere", tmp_path / "results.csv", options)
    assert (first["added"], again["added"]) == (4, 0)
    assert [place.team for place in live.admin.leaderboard("elsewhere").places] == [
        "Entry 101",
        "Entry 99",
        "Entry 103",
    ]


def test_a_data_release_is_handed_out(live: RunningService, tmp_path: Path) -> None:
    slug, ada, organizer = live.competition(review_days=0, appeal_days=0), live.person("ada"), live.admin.admin
    live.scored(ada, slug, noise_images(10))
    live.close(slug)
    organizer.publication.publish(slug, "All is reviewed.", override="The jury has met.")
    release = organizer.releases.start(slug)
    organizer.releases.wait(slug, release["id"])
    organizer.releases.hand_out(slug, release["id"])
    files = ada.admin.releases.download(slug, release["id"], tmp_path / "release")
    assert {"README.md", "croissant.json"} <= {file.name for file in files}
