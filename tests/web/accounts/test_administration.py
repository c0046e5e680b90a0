"""The admins' accounts page, and the credentials that a person keeps after a password change."""

from fastapi.testclient import TestClient

from api.http.csrf import csrf_token
from tests.api.accounts.grace import GOOD
from tests.api.accounts.grace import sign_in as sign_in_by_api
from tests.api.accounts.grace import sign_up as sign_up_by_api
from tests.api.conftest import Service
from tests.web.html import Element, parse_html
from tests.web.pages import press, read, sign_up

PAGE = "/admin/accounts"


def as_admin(service: Service) -> None:
    """Sign an admin in."""
    sign_up_by_api(service, handle="boss", email="boss@example.org")
    service.browse("admin", "PUT", "/accounts/boss/role", json={"role": "admin"})
    assert sign_in_by_api(service, "boss").status_code == 201


def find_item(page: Element, handle: str) -> Element:
    """The list item of an account."""
    (item,) = [line for line in page.one("ul", class_="items").all("li") if line.one("b").text == handle]
    return item


def test_admins_search_suspend_and_restore(service: Service) -> None:
    as_admin(service)
    page = read(service, f"{PAGE}?search=AD")
    assert [line.one("b").text for line in page.one("ul", class_="items").all("li")] == ["admin", "ada"]
    done = press(service, PAGE, f"{PAGE}/ada/suspension", reason="Sold.")
    shown = parse_html(done.text)
    assert "Account suspended" in shown.one(role="status").text
    assert find_item(shown, "ada").one("span", class_="warn").text == "suspended"
    assert service.call("ada", "GET", "/me").status_code == 401
    press(service, PAGE, f"{PAGE}/ada/suspension")
    assert not find_item(read(service, PAGE), "ada").all("span", class_="warn")


def test_admins_give_roles_and_end_credentials(service: Service) -> None:
    as_admin(service)
    assert "Role changed" in press(service, PAGE, f"{PAGE}/bob/role", role="organizer").text
    assert "organizer" in find_item(read(service, PAGE), "bob").text
    assert "1 token" in find_item(read(service, PAGE), "bob").text
    assert "Sessions, tokens and webhooks ended." in press(service, PAGE, f"{PAGE}/bob/credentials/end").text
    assert "0 tokens" in find_item(read(service, PAGE), "bob").text
    wrong = press(service, PAGE, f"{PAGE}/bob/role", role="king")
    assert wrong.status_code == 422
    assert "'king' is not an account role." in parse_html(wrong.text).one(role="alert").text
    assert not find_item(read(service, PAGE), "boss").all("form"), "admins cannot change their own account here"


def test_the_page_is_for_admins(service: Service) -> None:
    sign_up(service)
    assert service.http.get(PAGE).status_code == 403
    proof = {"csrf": csrf_token(service.http.cookies["kennel"])}
    for what in ("role", "suspension", "credentials/end"):
        assert service.http.post(f"{PAGE}/ada/{what}", data=proof).status_code == 403
    visitor = TestClient(service.app)
    assert visitor.post(f"{PAGE}/ada/suspension", data={"reason": ""}).status_code == 401


def test_selected_credentials_survive_a_new_password(service: Service) -> None:
    sign_up(service)
    for name in ("laptop", "phone"):
        press(service, "/account", "/account/tokens", name=name, scope="read")
        press(service, "/account/notices", "/account/notices/webhooks", url=f"https://{name}.example.org/")
    keep = read(service, "/account").one("section", aria_labelledby="password").one("fieldset")
    boxes = {label.text: label.one("input").attributes for label in keep.all("label") if "laptop" in label.text}
    assert not any("checked" in box for box in boxes.values())
    ticked = {box["name"]: box["value"] for box in boxes.values()}
    assert set(ticked) == {"keep_token", "keep_webhook"}
    press(service, "/account", "/account/password", old=GOOD, new="a better password", **ticked)
    left = read(service, "/account").one("section", aria_labelledby="password").one("fieldset").text
    assert ("laptop" in left, "phone" in left) == (True, False)
