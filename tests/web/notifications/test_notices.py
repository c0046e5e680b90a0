"""The notices pages, as a browser without scripts uses them."""

from urllib.parse import quote

from scorer.db.tables import Account, Delivery
from scorer.notifications import notices
from scorer.notifications.notices import Kind, NoticeText
from tests.api.accounts.grace import send_notices
from tests.api.conftest import Service
from tests.web.html import Element, parse_html
from tests.web.pages import press, read, sign_up

HOSTILE = "<script>alert(1)</script>"


def bell(page: Element) -> str:
    """The number of notices in the header."""
    return page.one("a", class_="notices").text


def test_the_header_counts_notices_until_they_are_marked_as_read(service: Service) -> None:
    sign_up(service)
    assert bell(read(service, "/")) == "Notices"
    assert read(service, "/notices").one(class_="empty").text.startswith("No notices yet.")
    send_notices(service, "First", HOSTILE)
    assert bell(read(service, "/")) == "Notices 2 new"
    page = read(service, "/notices")
    assert [heading.text for heading in page.one("ol").all("h2")] == [f"{HOSTILE} new", "First new"]
    assert page.one("ol").all("a")[0].attributes["href"] == "/competitions"
    assert bell(read(service, "/notices")) == "Notices 2 new", "viewing does not mark notices as read"
    after = parse_html(press(service, "/notices", "/notices/read").text)
    assert bell(after) == "Notices"
    assert [heading.text for heading in after.one("ol").all("h2")] == [HOSTILE, "First"]
    assert not [form for form in after.all("form") if form.attributes["action"] == "/notices/read"]


def test_a_new_notice_changes_the_etag_of_a_competition_page(service: Service) -> None:
    slug = service.competition()
    sign_up(service)
    address = f"/competitions/{slug}"
    tag = service.http.get(address).headers["etag"]
    assert service.http.get(address, headers={"If-None-Match": tag}).status_code == 304
    send_notices(service, "News")
    assert service.http.get(address, headers={"If-None-Match": tag}).status_code == 200


def test_only_announcements_are_shown_as_markdown(service: Service) -> None:
    sign_up(service)
    with service.context.sessions.begin() as session:
        account = session.query(Account).filter_by(handle="grace").one()
        for kind in (Kind.MESSAGE, Kind.ANNOUNCEMENT):
            text = f"The *first* prize.\n\n{HOSTILE}"
            notices.notify(
                session, NoticeText(kind, kind, text, "/competitions"), service.context.now(), accounts=[account.id]
            )
    announced, written = read(service, "/notices").one("ol").all("article")
    assert announced.one("em").text == "first"
    assert not written.all("em")
    for article in (announced, written):
        assert HOSTILE in article.text


def test_older_notices_are_on_the_next_page(service: Service) -> None:
    sign_up(service)
    send_notices(service, *(f"Number {number}" for number in range(60)))
    first = read(service, "/notices")
    (more,) = [link for link in first.all("a") if link.attributes.get("rel") == "next"]
    second = read(service, more.attributes["href"])
    titles = [heading.text for page in (first, second) for heading in page.one("ol").all("h2")]
    assert titles == [f"Number {number} new" for number in reversed(range(60))]


def test_mails_are_chosen_with_checkboxes(service: Service) -> None:
    sign_up(service)

    def ticked() -> set[str]:
        boxes = read(service, "/account/notices").all("input", type="checkbox")
        return {box.attributes["value"] for box in boxes if "checked" in box.attributes}

    assert ticked() == {kind.value for kind in Kind} - {"entry-scored"}
    done = press(service, "/account/notices", "/account/notices/mails", mailed=["entry-scored", "ruling"])
    assert parse_html(done.text).one(class_="done").text == "Email settings saved."
    assert ticked() == {"entry-scored", "ruling"}
    press(service, "/account/notices", "/account/notices/mails")
    assert ticked() == set()


def test_a_webhook_from_its_form_to_its_removal(service: Service) -> None:
    sign_up(service)
    here, form = "/account/notices", "/account/notices/webhooks"
    wrong = press(service, here, form, url="http://x.example.org/")
    assert wrong.status_code == 422
    assert "Use an https:// URL" in parse_html(wrong.text).one(role="alert").text
    assert parse_html(wrong.text).one("input", id="url").attributes["value"] == "http://x.example.org/"
    made = press(service, here, form, url="https://hooks.example.org/x")
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    secret = parse_html(made.text).one("code", class_="secret").text
    assert secret not in service.http.get(here).text, "the secret is shown once"
    (row,) = read(service, here).one("ul", class_="items").all("li")
    assert "No notices sent yet." in row.text
    ping, remove = [form.attributes["action"] for form in row.all("form")]
    press(service, here, ping)
    assert "A notice is being sent." in read(service, here).one("ul", class_="items").text
    with service.context.sessions.begin() as session:
        session.query(Delivery).update({"state": "waiting", "attempts": 2, "error": "The server responded with 500."})
    text = read(service, here).one("ul", class_="items").text
    assert "Last notice not delivered after 2 attempts: The server responded with 500." in text
    gone = press(service, here, remove)
    assert not parse_html(gone.text).all("ul", class_="items")


def test_visitors_of_notices_are_redirected_to_sign_in(service: Service) -> None:
    for path in ("/notices", "/account/notices"):
        answer = service.http.get(path, headers={"Accept": "text/html"}, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/signin?next={quote(path, safe='')}")
