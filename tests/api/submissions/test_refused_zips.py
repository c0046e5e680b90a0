"""The zips of rejected and cancelled entries leave after a while: they count for nothing, and a team may send many."""

from dataclasses import replace
from datetime import timedelta

from scorer.db.tables import Submission
from tests.api.conftest import Service
from tests.factories import noise_images, with_a_wrong_image, zip_of
from worker.maintenance.cleanup import remove_refused_zips


def test_zips_of_refused_entries_leave_and_those_of_others_stay(service: Service) -> None:
    slug = service.competition(pending_limit=5)
    scored = service.scored("ada", slug, noise_images(1))["id"]
    rejected = service.submit("ada", slug, with_a_wrong_image(noise_images(2))).json()["id"]
    service.run_jobs()
    cancelled = service.submit("ada", slug, zip_of(noise_images(3))).json()["id"]
    assert service.call("ada", "POST", f"/submissions/{cancelled}/cancel").status_code == 200
    assert service.call("ada", "GET", f"/submissions/{rejected}").json()["status"] == "rejected"

    context = service.context
    later = context.now() + timedelta(days=context.settings.kept_days + 1)
    assert remove_refused_zips(context) == 0, "a team may still ask what was wrong"
    assert remove_refused_zips(replace(context, now=lambda: later)) == 2
    assert remove_refused_zips(replace(context, now=lambda: later)) == 0
    with context.sessions() as session:
        kept = {row.id: row.blob_key for row in session.query(Submission)}
    assert kept[rejected] is None
    assert kept[cancelled] is None
    assert context.blobs.exists(kept[scored] or "")
    assert len([blob for blob in context.blobs.stored() if blob.key.startswith("submissions/")]) == 1
    assert service.call("ada", "GET", f"/submissions/{rejected}").json()["status"] == "rejected"
