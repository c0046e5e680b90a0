"""Data files on a competition's page."""

from fastapi.testclient import TestClient

from scorer.db.tables import Account
from tests.web import view_samples
from tests.web.html import Element, parse_html
from tests.web.view_samples import SampleSite

HERE = f"/competitions/{view_samples.SLUG}"
FILES = [
    view_samples.sample_data_file(1, "sample_submission.zip", 98_304_000),
    view_samples.sample_data_file(2, "train.zip", 1_234_567_890),
]
ADA, OLGA = Account(id=2, handle="ada", role="participant"), view_samples.sample_organizer()


def files_section(site: SampleSite) -> tuple[Element, str]:
    """The section about data, and the page's ETag."""
    with site.app() as app:
        answer = TestClient(app).get(HERE)
    sections = [each for each in parse_html(answer.text).all("section") if each.attributes["aria-labelledby"] == "data"]
    return (sections or [parse_html("")])[0], answer.headers["etag"]


def test_those_who_may_download_get_links_and_others_what_is_missing() -> None:
    visitor, _ = files_section(SampleSite(files=FILES))
    assert [item.one("b").text for item in visitor.all("li")] == ["sample_submission.zip", "train.zip"]
    assert "98.3 MB" in visitor.all("li")[0].text
    assert f"{1:064x}" in visitor.all("li")[0].text
    assert "Sign in to download." in visitor.text
    reading, _ = files_section(SampleSite(files=FILES, account=ADA))
    assert "To download, accept the rules." in reading.text
    assert [link.attributes["href"] for link in reading.all("a")] == ["#rules"]
    for site in (SampleSite(files=FILES, account=ADA, accepted=True), SampleSite(files=FILES, account=OLGA)):
        section, _ = files_section(site)
        hrefs = [link.attributes["href"] for link in section.all("a")]
        assert hrefs == [f"/api/v1{HERE}/data/sample_submission.zip", f"/api/v1{HERE}/data/train.zip"]


def test_a_page_without_files_says_nothing_and_is_another_page() -> None:
    none, before = files_section(SampleSite())
    assert none.text == ""
    assert files_section(SampleSite(files=FILES))[1] != before
