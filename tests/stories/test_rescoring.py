"""Rescoring an entry: from its stored zip with a command, and by a campaign that replaces the scores."""

import io
import json
import subprocess
import sys
from pathlib import Path

from tests.factories import make_zip, noise_images
from tests.stories.conftest import RunningService


def test_rescoring_equals_the_workers_measurements_bit_for_bit(live: RunningService) -> None:
    entry = live.scored(live.person("eve"), live.competition(), noise_images(12))
    measured = {measurement["track"]: measurement["fid"] for measurement in live.seen_by_admin(entry)["measurements"]}
    command = [Path(sys.executable).with_name("kennel"), "rescore", entry, "--verify", "--json"]
    folder = live.log.with_suffix("")
    done = subprocess.run([*map(str, command), "--data", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tracks = json.loads(done.stdout)["tracks"]
    assert {track["track"]: track["fid"] for track in tracks} == measured
    assert [(track["verdict"], track["differences"]) for track in tracks] == [("equal, bit for bit", [])] * 2


def test_a_campaign_counts_after_its_switch_until_it_is_undone(live: RunningService) -> None:
    slug, eve = live.competition(), live.person("eve")
    live.scored(eve, slug, noise_images(12))
    before = eve.leaderboard(slug).places
    images = io.BytesIO(make_zip(noise_images(7, 40, 16)))
    corrected = live.admin.admin.references.attach(slug, "train", images, attach=False)
    campaigns = live.admin.admin.campaigns
    references = {"train": corrected["sha256"]}
    started = campaigns.start(slug, "public", reason="The images were wrong.", references=references)
    assert campaigns.wait(slug, started["id"])["state"] == "measured"
    assert eve.leaderboard(slug).places == before
    assert campaigns.preview(slug, started["id"])["boards"]
    campaigns.decide(slug, started["id"], "switch", reason="They are right.")
    assert [place.fid for place in eve.leaderboard(slug).places] != [place.fid for place in before]
    campaigns.decide(slug, started["id"], "undo", reason="It was a trial.")
    assert eve.leaderboard(slug).places == before
