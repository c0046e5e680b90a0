"""Evidence: a copied entry is flagged and shown next to the images that it copies."""

import io

from PIL import Image

from tests.factories import noise_images
from tests.stories.conftest import RunningService, until


def test_a_copy_is_flagged_and_shown_next_to_its_original(live: RunningService) -> None:
    slug = live.competition()
    entry = live.scored(live.person("eve"), slug, noise_images(1, 40, 16)[:8])
    reviews = live.admin.admin.reviews
    assert [flagged["submission_id"] for flagged in reviews.queue(slug)] == [entry]
    nearest = until(lambda: reviews.get(entry)["pairs"]["public"], "the pairs")[0]
    assert nearest["difference"] == 0
    rita = live.browser("rita")
    live.admin.admin.roles.offer(slug, rita.handle, "reviewer")
    rita.call("PUT", f"/competitions/{slug}/role")
    sheet = Image.open(io.BytesIO(rita.http.get(f"/api/v1/submissions/{entry}/pairs/public").content))
    generated, reference = (sheet.crop((0, top, 16, top + 16)).tobytes() for top in (0, 16))
    assert generated == reference
