"""The publication pages, as a browser without scripts uses them."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from scorer.db.tables import AuditEntry, Job
from scorer.import_export import data_release
from scorer.notifications import outbox
from tests.api.cached_state import CachedState, cached_fixtures
from tests.api.conftest import Service
from tests.api.review.reviewed_competition import fail_private
from tests.factories import noise_images
from tests.web.pages import HTML, enter, read, send_form


def closed_competition(service: Service) -> str:
    """A closed competition with one entry."""
    slug = service.competition(title="Dogs <b>&</b> cats")
    service.scored("ada", slug, noise_images(10), file_name="<i>zebra</i>.zip")
    service.close(slug)
    return slug


cached, service = cached_fixtures(closed_competition)


@pytest.fixture
def slug(service: Service, cached: CachedState[str]) -> str:
    """The slug of that competition. The organizer is signed in."""
    enter(service, "organizer")
    return cached.result


def test_the_board_is_published_and_withdrawn(service: Service, slug: str) -> None:
    here = f"/competitions/{slug}/publication"
    (entry,) = service.call("organizer", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    fail_private(service, entry["id"])
    page = read(service, here)
    open_ = {
        item.one("h3").text.split("  ")[0]: item for item in page.one("ul", class_="checklist").all("li", class_="open")
    }
    assert len(open_) == 3, list(open_)
    assert not re.search(r"\.(Show all|Open page)", page.text), "a space precedes every link"
    assert "the disk was full" in page.text
    assert page.one("nav", **{"aria-label": "Organizing"}).one("a", **{"aria-current": "page"}).text == "Publication"
    send_form(service, page, f"{here}/requeue")
    with service.context.sessions.begin() as session:
        session.query(Job).filter_by(queue="score", priority=1).one().state = "done"
    page = read(service, here)
    assert "2 of 14 checklist items are open" in page.text
    form = f"{here}#publish"
    answer = send_form(service, page, form, 409, act="provisional", reason="It is <b>done</b>.", override="")
    assert "The checklist has open items" in answer.text
    assert "It is &lt;b&gt;done&lt;/b&gt;." in answer.text, "the form keeps the reason"
    tau = {"method": "manual", "tau": 0.001, "reason": "another"}
    service.call("organizer", "POST", f"/competitions/{slug}/tracks/private/thresholds", json=tau)
    words: dict[str, Any] = {"act": "provisional", "reason": "It is <b>done</b>.", "override": "Nobody objects."}
    answer = send_form(service, page, form, status=409, **words)
    assert "has changed since you looked" in answer.text
    answer = send_form(service, read(service, here), form, **words)
    page = read(service, answer.headers["location"])
    assert "board published" in page.one("p", class_="done").text
    assert "Nobody objects" not in page.text
    enter(service, None)
    assert service.http.get(f"/competitions/{slug}?track=private").status_code == 200
    assert "Data release" not in service.http.get(f"/competitions/{slug}").text
    enter(service, "organizer")
    send_form(service, read(service, here), form, **words | {"act": "final"})
    enter(service, None)
    assert "Data release" in service.http.get(f"/competitions/{slug}").text
    enter(service, "organizer")
    send_form(service, read(service, here), f"{here}#withdraw", act="withdraw", reason="A mistake.")
    enter(service, None)
    assert service.http.get(f"/competitions/{slug}?track=private").status_code == 403


def test_a_release_is_started_watched_published_and_downloaded(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = f"/competitions/{slug}/release"
    monkeypatch.setattr(data_release, "PACKING_SECONDS_PER_PIXEL", 3_600 / (8 * 16 * 16))
    page = read(service, here)
    assert "Images of ranked entries: 1 entry, about 1 hour" in page.text
    assert "No releases yet." in page.text
    send_form(service, page, here, 422, images="everything")
    send_form(service, page, here, images="ranked")
    page = read(service, f"{here}?done=started")
    assert page.one("progress")
    service.run_jobs()
    page = read(service, here)
    (bundle,) = [link for link in page.all("a") if link.text == "Download tables"]
    assert service.http.get(bundle.attributes["href"]).content[:2] == b"PK"
    (made,) = service.call("organizer", "GET", f"/competitions/{slug}/releases").json()["releases"]
    enter(service, None)
    assert "The organizers may publish data" in read(service, here).text
    enter(service, "organizer")
    send_form(service, page, f"{here}/{made['id']}", act="out")
    send_form(service, page, f"{here}/{made['id']}", 409, act="out")
    body = {"published": True, "reason": "done", "override": "a test"}
    service.call("organizer", "POST", f"/competitions/{slug}/publication", json=body)
    enter(service, None)
    release_page = read(service, here)
    assert [link.text for link in release_page.all("a") if link.text == "submissions.parquet"] == [
        "submissions.parquet"
    ]
    assert release_page.all("form") == []


def test_the_audit_log_shows_what_changed(service: Service, slug: str) -> None:
    other = service.competition()
    body = {"title": "Dogs", "rules": "Be kind.\n" * 20}
    service.call("organizer", "PATCH", f"/competitions/{slug}", json=body)
    (entry,) = service.call("organizer", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    for label in ("aug", "legitimate"):
        fields = {"label": label, "note": ""}
        service.call("organizer", "PUT", f"/competitions/{slug}/submissions/{entry['id']}/label", json=fields)
    here = f"/competitions/{slug}/audit"
    page = read(service, here)
    acts = [item.one("code").text for item in page.one("ol", class_="audit").all("li")]
    assert acts[:4] == ["label.decided", "label.decided", "competition.changed", "competition.changed"]
    assert "competition.created" in acts
    assert "references.prepared" in acts
    assert other not in page.text
    newest = page.one("ol", class_="audit").all("li")[0]
    assert [(line.one("dt").text, [dd.text for dd in line.all("dd")]) for line in newest.all("div")] == [
        ("label", ["before:aug", "after:legitimate"])
    ], "unchanged fields are left out"
    assert "Dogs <b>&</b> cats" in page.text

    page = read(service, f"{here}?action=label.decided&actor=ORGANIZER")
    assert len(page.one("ol", class_="audit").all("li")) == 2
    assert "No actions match" in read(service, f"{here}?actor=ada").text
    listed = service.call("organizer", "GET", f"/competitions/{slug}/audit", params={"limit": 1}).json()
    assert (listed["entries"][0]["action"], listed["next_after"]) == ("label.decided", listed["entries"][0]["id"])
    enter(service, None)
    for who, status in (("ada", 403), (None, 401)):
        assert service.call(who, "GET", f"/competitions/{slug}/audit").status_code == status
    assert service.call("organizer", "GET", "/admin/audit").status_code == 403
    enter(service, "ada")
    read(service, here, 403)
    read(service, "/admin/audit", 403)


def test_the_whole_audit_log_has_pages(service: Service) -> None:
    with service.context.sessions.begin() as session:
        now = datetime.now(UTC)
        for number in range(60):
            after = {"number": number}
            session.add(
                AuditEntry(created_at=now, action="thing.done", subject="thing:x", address="9.9.9.9", after=after)
            )
    enter(service, "admin")
    page = read(service, "/admin/audit?action=thing.done")
    first = page.one("ol", class_="audit").all("li")
    (older,) = [link for link in page.all("a") if link.attributes.get("rel") == "next"]
    rest = read(service, older.attributes["href"]).one("ol", class_="audit").all("li")
    assert (len(first), len(rest)) == (50, 10)
    assert first[0].one("dl").text.split() == ["number", "after:59"]
    assert rest[-1].one("dl").text.split() == ["number", "after:0"]
    assert "9.9.9.9" in page.text


def test_unsent_mails_are_shown_with_the_reason(service: Service) -> None:
    now = datetime.now(UTC)
    enter(service, "admin")
    assert "Unsent emails" not in read(service, "/admin/jobs").text
    with service.context.sessions.begin() as session:
        for state in ("failed", "waiting"):
            mail = outbox.queue_mail(session, "<b>@example.org", "Hello", body="Hello.", now=now)
            mail.state, mail.error = state, f"<b>: {state}"
    page = read(service, "/admin/jobs")
    (part,) = [section for section in page.all("section") if section.attributes.get("aria-labelledby") == "mails"]
    shown = " ".join(part.text.split())
    assert "1 email waiting" in shown
    assert "<b>: waiting" in shown
    assert "1 email not sent" in shown
    assert "<b>: failed" in shown


def test_failed_jobs_are_shown_and_requeued(service: Service, slug: str) -> None:
    (entry,) = service.call("organizer", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    job = fail_private(service, entry["id"])
    read(service, "/admin/jobs", 403)
    enter(service, "admin")
    page = read(service, "/admin/jobs")
    assert "the disk was full" in page.text
    assert "<i>zebra</i>.zip" in page.text
    send_form(service, page, "/admin/jobs/requeue", job=str(job))
    page = read(service, "/admin/jobs?done=one")
    assert [row.one("th").text for row in page.one("tbody").all("tr")] == ["evidence", "score"]
    assert "No failed jobs." in page.text
    fields = {"csrf": page.all("input", type="hidden")[0].attributes["value"]}
    for wrong in ("x", str(job)):
        answer = service.http.post("/admin/jobs/requeue", data=fields | {"job": wrong}, headers=HTML)
        assert answer.status_code == (404 if wrong == "x" else 409)
