"""Organizers get links to review pages on every page that names an entry. Teams do not."""

from tests.api.conftest import Service
from tests.factories import near_copies, noise_images
from tests.web.html import parse_html
from tests.web.pages import start_session


def links(service: Service, who: str, address: str) -> set[str]:
    """The links of a page that a person sees."""
    headers = {"Accept": "text/html", "Cookie": f"kennel={start_session(service, who)}"}
    answer = service.http.get(address, headers=headers)
    assert answer.status_code == 200, answer.text
    return {link.attributes["href"] for link in parse_html(answer.text).all("a")}


def test_entries_on_organizers_pages_link_to_review_pages(service: Service) -> None:
    slug = service.competition(prizes=[{"place": 1, "amount": "$5"}], medals={"gold": 2, "silver": 2, "bronze": 2})
    copied = service.scored("ada", slug, near_copies())["id"]
    twin = service.scored("bob", slug, near_copies())["id"]
    honest = service.scored("eve", slug, noise_images(10))["id"]
    service.close(slug)
    here = f"/competitions/{slug}"
    for page in ("publication", "tau?track=public&method=manual&tau=0.4", "insights"):
        found = links(service, "organizer", f"{here}/{page}")
        entries = {link for link in found if link.startswith("/submissions/")}
        assert entries, page
        assert {link.partition("#")[0] for link in entries} <= {
            f"/submissions/{entry}/review" for entry in (copied, twin, honest)
        }, page
    assert f"/submissions/{copied}/review" in links(service, "organizer", f"/submissions/{copied}")
    assert f"/submissions/{copied}/review" not in links(service, "ada", f"/submissions/{copied}")
