"""A competition: from a hidden draft to data files and accepted rules."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kennel_client.errors import Refused
from tests.factories import make_spec, make_zip, noise_images
from tests.stories.conftest import RunningService, submit


def test_a_competition_takes_entries_of_people_who_accept_its_rules(live: RunningService, tmp_path: Path) -> None:
    ada, organizer = live.person("ada"), live.admin.admin
    later = datetime.now(UTC) + timedelta(days=1)
    spec = make_spec(datetime.now(UTC), opens_at=later, rules="Be fair.").model_dump(mode="json")
    spec["slug"] = f"draft-{spec['slug']}"
    assert "no training images are attached" in live.admin.api.post("/competitions", spec)["missing"]
    with pytest.raises(Refused) as hidden:
        ada.competition(spec["slug"])
    assert hidden.value.status == 404
    organizer.competitions.delete_draft(spec["slug"])
    slug = live.competition(rules="Be fair.")
    (tmp_path / "notes.txt").write_text("Read me.")
    organizer.data_files.offer(slug, tmp_path / "notes.txt")
    with pytest.raises(Refused) as unread:
        submit(ada, slug, make_zip(noise_images(10)))
    assert unread.value.slug == "rules-not-accepted"
    ada.accept_rules(slug)
    assert submit(ada, slug, make_zip(noise_images(10)))["status"] in {"received", "checking"}
