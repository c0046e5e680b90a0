"""``kennel rescore --verify`` beside the running service, on its workers' measurements."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import RunningService
from tests.e2e.test_service import competition, finished, participant
from tests.factories import noise_images, zip_of


@pytest.mark.heavy
def test_what_the_workers_measured_is_equal_bit_for_bit(live: RunningService) -> None:
    with participant(live, "eve") as eve:
        entry = eve.submit(competition(live), io.BytesIO(zip_of(noise_images(12))), file_name="entry.zip")
    measured = {each["track"]: each["fid"] for each in finished(live, entry)["measurements"]}
    command = [Path(sys.executable).with_name("kennel"), "rescore", entry["id"], "--verify", "--json"]
    folder = live.log.with_suffix("")
    done = subprocess.run([*map(str, command), "--data", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tracks = json.loads(done.stdout)["tracks"]
    assert {each["track"]: each["fid"] for each in tracks} == measured
    assert [(each["verdict"], each["differences"]) for each in tracks] == [("equal, bit for bit", [])] * 2
