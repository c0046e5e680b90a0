"""Jobs: paused, resumed, and done."""

from tests.factories import make_zip, noise_images
from tests.stories.conftest import RunningService, submit, until


def test_an_entry_waits_while_its_competition_is_paused(live: RunningService) -> None:
    slug, ada = live.competition(), live.person("ada")
    jobs = live.admin.admin.jobs
    jobs.pause(competition=slug, reason="The references are checked.")
    entry = submit(ada, slug, make_zip(noise_images(10)))["id"]
    other = live.competition()
    live.scored(ada, other, noise_images(10))
    assert ada.entry(entry).status in {"received", "checking", "queued"}
    jobs.resume(competition=slug, reason="They are right.")
    assert ada.wait(entry).status == "scored"
    until(lambda: not jobs.unfinished()["running"], "the queues to be empty")
