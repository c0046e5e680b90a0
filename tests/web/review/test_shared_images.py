"""Images that entries of different teams share: compared by workers, shown on review pages."""

import io
from datetime import timedelta
from typing import Any

import numpy as np
from PIL import Image

from scorer.archive import mirror_images
from scorer.db.tables import HashedEntry, Submission
from tests.api.conftest import Service
from tests.factories import noise_images
from tests.web.pages import enter, read

COUNT, SIZE = 10, 32


def entries_that_share(service: Service, slug: str) -> dict[str, str]:
    """Eve has three of Ada's images: an unchanged, a mirrored and a brighter one. Bob shares none."""
    ada, eve, bob = (noise_images(seed, COUNT, SIZE) for seed in (10, 11, 12))
    eve[0], eve[1], eve[2] = ada[4], mirror_images(ada[5:6])[0], np.clip(ada[6].astype(int) + 5, 0, 255)
    return {who: service.scored(who, slug, images)["id"] for who, images in (("ada", ada), ("eve", eve), ("bob", bob))}


def test_entries_of_two_teams_that_share_30_percent(service: Service) -> None:
    service.hire("rita")
    slug = service.competition(image_count=COUNT, image_size=SIZE)
    entries = entries_that_share(service, slug)

    def look(who: str) -> Any:
        return service.call("rita", "GET", f"/submissions/{entries[who]}/review").json()

    with service.context.sessions.begin() as session:
        refs = {who: session.query(Submission.ref).filter_by(id=entries[who]).scalar() for who in entries}
        session.get_one(Submission, refs["ada"]).accepted_at -= timedelta(days=2, hours=1)
        service.context.blobs.delete(session.get_one(HashedEntry, refs["ada"]).blob_key)
    assert look("eve")["comparison"] is None, "it is not compared yet"
    service.run_jobs(evidence=True)

    shared = look("eve")
    assert (shared["comparison"]["compared"], shared["comparison"]["common"]) == (2, 0)
    [pair] = shared["sharing"]
    order = f"Entry {refs['ada']} of Ada came first: it was accepted 2 days before entry {refs['eve']} of Eve."
    assert pair.pop("accepted_at") < shared["entry"]["accepted_at"]
    assert pair.pop("examples") == [[0, 4], [1, 5], [2, 6]]
    assert pair == {
        "submission_id": entries["ada"], "ref": refs["ada"], "team": "Ada", "images": 3, "equal": 2, "share": 0.3,
        "same_latents": None, "recovered": None,
        "words": "The entries have 3 images (30 %) in common, 2 of them with equal pixels.", "came_first": order,
    }  # fmt: skip
    assert [(other["ref"], other["examples"]) for other in look("ada")["sharing"]] == [
        (refs["eve"], [[4, 0], [5, 1], [6, 2]])
    ]
    assert look("bob")["sharing"] == []
    flagged = service.call("rita", "GET", f"/competitions/{slug}/review-queue").json()["entries"]
    reasons = {entry["submission_id"]: {one["name"]: one["words"] for one in entry["reasons"]} for entry in flagged}
    assert {who for who in entries if "shared-images" in reasons.get(entries[who], {})} == {"ada", "eve"}
    assert reasons[entries["eve"]]["shared-images"].startswith(
        f"It shares images with entry {refs['ada']} of Ada. The entries have 3 images"
    )

    later = service.scored("ada", slug, noise_images(13, COUNT, SIZE))["id"]
    service.run_jobs(evidence=True)
    assert service.call("rita", "GET", f"/submissions/{later}/review").json()["comparison"]["compared"] == 2, (
        "her own entries are not compared"
    )

    side_by_side(service, entries, refs)
    enter(service, "rita")
    page = read(service, f"/submissions/{entries['eve']}/review").one("section", **{"aria-labelledby": "duplicates"})
    assert f"The entries have 3 images (30 %) in common, 2 of them with equal pixels. {order}" in page.text
    assert "compared with 2 entries of other teams" in page.text
    [strip] = page.all("ul", class_="pairs")
    assert [picture.attributes["aria-label"] for picture in strip.all("svg")] == [
        f"Image {one} above, image {one + 4} of the other entry below" for one in (1, 2, 3)
    ]


def side_by_side(service: Service, entries: dict[str, str], refs: dict[str, int]) -> None:
    """Check the picture of the pairs, which only reviewers see and which needs the zips."""
    path = f"/submissions/{entries['eve']}/shared-images/{refs['ada']}"
    answer = service.call("rita", "GET", path)
    assert answer.headers["Content-Type"] == "image/png"
    picture = np.asarray(Image.open(io.BytesIO(answer.content))).astype(int)
    assert picture.shape == (2 * SIZE, 3 * SIZE, 3)
    above, below = picture[:SIZE], picture[SIZE:]
    assert (above[:, : 2 * SIZE] == below[:, : 2 * SIZE]).all(), "the mirrored image is shown as it matches"
    assert np.abs(above - below).max() == 5
    statuses = [service.call(who, "GET", path).status_code for who in ("ada", "eve", "bob", None)]
    assert statuses == [403, 403, 403, 401]
    for other in (refs["bob"], refs["eve"], 10**15):
        assert service.call("rita", "GET", path.replace(str(refs["ada"]), str(other))).status_code == 404
    own = service.call("eve", "GET", f"/submissions/{entries['eve']}").text
    assert "shar" not in own
    with service.context.sessions() as session:
        service.context.blobs.delete(session.get_one(Submission, refs["ada"]).blob_key or "")
    assert service.call("rita", "GET", path).status_code == 404
