"""The pages with sample boards, without a database."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import Response

from api.http.security_headers import PAGE_POLICY
from api.leaderboard import pages as board_page
from api.rendering import formatting, templates
from api.rendering.markdown import render_html, render_rest, summarise_text
from scorer.leaderboard.board import Place
from scorer.lifecycle import Phase
from tests.web import view_samples
from tests.web.html import Element, parse_html
from tests.web.view_samples import NOW, SampleSite

HERE = f"/competitions/{view_samples.SLUG}"
ORGANIZER = view_samples.sample_organizer()
HOSTILE = "<script>alert(1)</script>\"><img src=x onerror=alert(2)>' {{ 7*7 }} \u202egnp.exe"
Browse = Callable[[SampleSite], TestClient]


@pytest.fixture
def browse() -> Iterator[Browse]:
    """Returns a client for the pages of a sample site."""
    with ExitStack() as stack:
        yield lambda site: TestClient(stack.enter_context(site.app()))


def document(client: TestClient, address: str = HERE) -> Element:
    answer = client.get(address)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return parse_html(answer.text)


def rows(page: Element) -> list[Element]:
    """The rows of the board, without its header."""
    return page.one("table", class_="board").one("tbody").all("tr")


# The competitions


def test_the_front_page_lists_competitions_with_close_and_teams(browse: Browse) -> None:
    page = document(browse(SampleSite()), "/")
    assert page.one("article").one("a").attributes["href"] == HERE
    assert page.one("article").one("h2").text == "Textures that nobody photographed"
    assert page.one(class_="phase").text == "Open"
    assert [item.text for item in page.one(class_="facts").all("li")] == [
        "Closes in 14 days · 16 Nov 2026, 23:59 UTC",
        "12 teams on the board",
    ]
    assert page.one("time").attributes["datetime"] == "2026-11-16T23:59:00Z"


def test_drafts_are_for_organizers(browse: Browse) -> None:
    draft = view_samples.sample_state(phase=Phase.DRAFT, title="Secret plans")
    visitor = browse(SampleSite(states=[draft]))
    assert "Secret plans" not in visitor.get("/").text
    assert visitor.get(HERE).status_code == 404
    organizer = browse(SampleSite(states=[draft], account=ORGANIZER))
    assert document(organizer, "/").one("h2").text == "Secret plans"
    assert document(organizer).one("h1").text == "Secret plans"


def test_a_site_without_competitions_has_an_empty_state(browse: Browse) -> None:
    assert "No competitions yet" in document(browse(SampleSite(states=[])), "/").one("main").text


# The board


def test_the_board_shows_rank_team_numbers_and_times(browse: Browse) -> None:
    table = document(browse(SampleSite())).one("table")
    assert [cell.text for cell in table.one("thead").all("th")] == [
        "Rank", "Team", "Score MiFID", "FID", "Memorization distance", "Entries", "Last entry"
    ]  # fmt: skip
    first = rows(table)[1]
    assert [cell.text for cell in first.all(role="cell")] == [
        "1 Ggold medal", "31.20418", "31.204", "0.3811", "3", "12 minutes ago"
    ]  # fmt: skip
    assert first.one("bdi").text == "Kernel density 0.40"
    assert first.one("time").attributes == {
        "datetime": "2026-11-02T13:53:30Z",
        "title": "2 Nov 2026, 13:53:30 UTC",
    }


def test_scores_have_the_decimals_of_the_competition(browse: Browse) -> None:
    state = view_samples.sample_state(score_decimals=2)
    board = view_samples.sample_board(
        [view_samples.sample_place(1, "A", 1234567.5, 3.14159, 0.4, False, 1, 1)], of=state
    )
    line = rows(document(browse(SampleSite(board=board))))[0]
    assert line.one(class_="score").text == "1,234,567.50"
    assert line.one(class_="fid").text == "3.14"


def test_the_table_is_accessible_to_screen_readers(browse: Browse) -> None:
    page = document(browse(SampleSite()))
    table = page.one("table")
    assert table.one("caption").text == "Public leaderboard, lowest score first, ranks 1 to 12 of 12"
    assert {cell.attributes["scope"] for cell in table.one("thead").all("th")} == {"col"}
    assert all(line.one("th").attributes["scope"] == "row" for line in rows(page))
    assert {len([cell for cell in line.children if isinstance(cell, Element)]) for line in table.all("tr")} == {7}


def test_headings_go_down_one_level_at_a_time(browse: Browse) -> None:
    page = document(browse(SampleSite()))
    levels = [int(element.tag[1]) for element in page if re.fullmatch("h[1-6]", element.tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.one("html").attributes["lang"] == "en"


def test_every_reference_within_the_page_has_a_target(browse: Browse) -> None:
    page = document(browse(SampleSite()))
    ids = [element.attributes["id"] for element in page if "id" in element.attributes]
    goals = [link.attributes["href"][1:] for link in page.all("a") if link.attributes["href"].startswith("#")]
    goals += [
        element.attributes[name]
        for element in page
        for name in ("aria-labelledby", "for")
        if name in element.attributes
    ]
    assert len(ids) == len(set(ids))
    assert set(goals) <= set(ids)


def test_a_penalty_is_shown_in_words_and_explained(browse: Browse) -> None:
    page = document(browse(SampleSite()))
    marked = [line.one("bdi").text for line in rows(page) if line.all(class_="warn")]
    assert marked == [row[0] for row in view_samples.DEMO if row[4]]
    mark = rows(page)[-1].one("a", class_="warn")
    assert mark.text == "penalised: explanation"
    assert "below tau = 0.1905" in page.one(id=mark.attributes["href"][1:]).text


def test_medals_are_letters_and_words_as_well_as_colours(browse: Browse) -> None:
    page = document(browse(SampleSite()))
    medals = [[medal.text for medal in line.all(class_="medal")] for line in rows(page)]
    assert medals == [
        [], ["Ggold medal"], ["Ggold medal"], ["Ssilver medal"], ["Ssilver medal"],
        ["Bbronze medal"], ["Bbronze medal"], ["Bbronze medal"], [], [], [], [], []
    ]  # fmt: skip
    assert "silver medals up to rank 4" in page.one(class_="legend").text


def test_copies_are_listed_separately_with_their_reason(browse: Browse) -> None:
    page = document(browse(SampleSite()))
    assert "Raw copies" not in page.one("table").text
    copies = [item.text for item in page.one("section", class_="copies").all("li")]
    assert copies[0].startswith("Raw copies copy 100% of its images are training images, pixel by pixel")
    assert len(copies) == 2
    assert not document(browse(SampleSite(board=replace(view_samples.demo_board(), copies=[])))).all(class_="copies")


def test_disqualified_teams_are_listed_separately_with_the_reason(browse: Browse) -> None:
    board = replace(view_samples.demo_board(), disqualified=[view_samples.sample_disqualified("Bottleneck")])
    section = document(browse(SampleSite(board=board))).one("section", aria_labelledby="disqualified")
    assert [item.text for item in section.all("li")] == [
        "Bottleneck disqualified Its generator is an autoencoder of the training images."
    ]
    assert not document(browse(SampleSite())).all(id="disqualified")


def test_rank_changes_are_shown_in_words(browse: Browse) -> None:
    whole = view_samples.demo_board()
    moved = [replace(place, moved=moved) for place, moved in zip(whole.places, (2, -1, 0, None), strict=False)]
    page = document(browse(SampleSite(board=replace(whole, places=moved))))
    steps = [[change.text for change in line.all(class_="rank-change")] for line in rows(page)[1:5]]
    assert steps == [["▲2up 2 since midnight UTC"], ["▼1down 1 since midnight UTC"], [], []]
    assert "since midnight UTC" in page.one(class_="legend").text
    final = view_samples.sample_state(phase=Phase.FINAL, prizes=[{"place": 1, "amount": "$2,000"}])
    places = [replace(place, public_rank=3) for place in whole.places[:2]]
    page = document(
        browse(SampleSite(board=view_samples.sample_board(places, of=final, track="private"))), f"{HERE}?track=private"
    )
    assert [change.text for change in page.one("tbody").all(class_="rank-change")] == [
        "▲2up 2 compared with the public board",
        "▲1up 1 compared with the public board",
    ]
    assert [prize.text for prize in page.all(class_="prize")] == ["$2,000"]


def test_the_viewers_team_is_marked_or_pinned(browse: Browse) -> None:
    whole = view_samples.long_board(250)
    for own, pinned in ((whole.places[4], 0), (whole.places[180], 1)):
        page = document(browse(SampleSite(board=replace(whole, own=own))))
        (mark,) = (line for line in page.all("tr") if "own" in line.attributes.get("class", "").split())
        assert mark.one("bdi").text == own.team
        assert "your team" in mark.text
        assert len(page.all("tbody", class_="pinned")) == pinned
    assert not [line for line in document(browse(SampleSite())).all("tr") if "own" in line.attributes.get("class", "")]


def test_a_past_board_is_marked_and_links_back(browse: Browse) -> None:
    client = browse(SampleSite(board=view_samples.long_board(250)))
    page = document(client, f"{HERE}?as_of=2026-10-20T12:00")
    assert page.one(class_="notice").text == "This is the board as of 20 Oct 2026, 12:00 UTC. Show the current board"
    assert page.one(class_="notice").one("a").attributes["href"] == f"{HERE}?track=public"
    assert page.one("input", id="as_of").attributes["value"] == "2026-10-20T12:00"
    following = page.one("a", rel="next").attributes["href"]
    assert "as_of=2026-10-20T12%3A00%3A00Z" in following
    assert document(client, following).one(class_="notice").text.startswith("This is the board as of")
    search = page.one("form", role="search")
    assert search.one("input", name="as_of").attributes["value"] == "2026-10-20T12:00:00Z"
    assert all("as_of=" in link.attributes["href"] for link in page.one("p", class_="data").all("a"))
    assert client.get(f"{HERE}?as_of=2027-01-01T00:00").status_code == 422
    assert client.get(f"{HERE}?as_of=").status_code == 200


def test_a_visitors_page_is_rendered_once(browse: Browse) -> None:
    site = SampleSite()
    client = browse(site)
    first = client.get(HERE)
    site.board = view_samples.sample_board([])
    again = client.get(HERE)
    assert (again.text, again.headers["etag"]) == (first.text, first.headers["etag"])
    assert again.headers["content-security-policy"] == first.headers["content-security-policy"]
    site.version = "v2"
    assert "No scored entries yet" in client.get(HERE).text


def test_an_empty_board_says_what_to_do(browse: Browse) -> None:
    page = document(browse(SampleSite(board=view_samples.sample_board([]))))
    assert not page.all("table")
    assert "No scored entries yet" in page.one(class_="empty").text


def test_a_track_without_tau_says_that_nothing_is_ranked(browse: Browse) -> None:
    page = document(browse(SampleSite(board=view_samples.sample_board([], tau=None))))
    assert "Tau has not been chosen yet, so no entry is ranked." in page.one(id="penalised").text


def test_the_page_shows_the_limits(browse: Browse) -> None:
    text = document(browse(SampleSite())).one("main").text
    images = "10,000 PNG images (RGB, 8 bits, 64 × 64 pixels)."
    assert f"{images} Metadata (text, EXIF, XMP) can take up at most 16.4 kB" in text
    assert "A team can submit at most 5 entries per UTC day, with at most 2 in progress" in text
    assert "can finish up to 15 minutes after it" in text
    free = view_samples.sample_board([], of=view_samples.sample_state(daily_limit=None, closes_at=None))
    text = document(browse(SampleSite(board=free))).one("main").text
    assert "any number of entries, with" in text
    assert "No closing date" in text
    assert "started before the deadline" not in text


def test_the_board_has_links_to_data_for_programs(browse: Browse) -> None:
    links = [link.attributes["href"] for link in document(browse(SampleSite())).one("p", class_="data").all("a")]
    assert links == [
        "/api/v1/competitions/textures/leaderboard?track=public&format=csv",
        "/api/v1/competitions/textures/leaderboard?track=public&format=json",
    ]


# Benchmarks


def test_a_benchmark_is_listed_by_score_without_a_rank(browse: Browse) -> None:
    board = replace(view_samples.demo_board(), benchmarks=[view_samples.sample_benchmark(42.0)])
    lines = rows(document(browse(SampleSite(board=board))))
    assert [line.one("bdi").text for line in lines[3:6]] == [
        "PCA Gaussian 64", "Held-out photographs", "Gaussian mixture 8 x 64"
    ]  # fmt: skip
    assert lines[4].one(class_="rank").text == "–unranked"
    assert lines[4].one(class_="badge").text == "benchmark"
    assert lines[5].one(class_="rank").text.startswith("5 ")


@given(
    scores=st.lists(st.integers(0, 40), max_size=30),
    benchmarks=st.lists(st.integers(-1, 41), max_size=5),
    size=st.integers(1, 7),
)
def test_the_pages_show_every_line_once_and_in_order(scores: list[int], benchmarks: list[int], size: int) -> None:
    places = [
        view_samples.sample_place(rank, f"t{rank}", s, s, 0.4, False, 1, 1) for rank, s in enumerate(sorted(scores), 1)
    ]
    whole = view_samples.sample_board(
        places, benchmarks=[view_samples.sample_benchmark(s, f"b{i}") for i, s in enumerate(benchmarks)]
    )
    lines: list[Place] = []
    after = 0
    while True:
        page = replace(whole, places=[place for place in places if place.rank > after][: size + 1])
        fragment = board_page.build_board_page(page, after=after, size=size)
        lines += fragment.rows
        if fragment.next is None:
            break
        assert fragment.next == after + size
        after = fragment.next
    assert [line for line in lines if line.rank] == places
    assert sorted(line.team for line in lines if not line.rank) == sorted(b.team for b in whole.benchmarks)
    # A benchmark with the same score as a team is below the team.
    keys = [(line.score, line.rank == 0) for line in lines]
    assert keys == sorted(keys)


# Pages and search


def test_a_page_has_a_hundred_places(browse: Browse) -> None:
    client = browse(SampleSite(board=view_samples.long_board(250)))
    first = document(client)
    assert [link.text for link in first.one("nav", class_="pagination").all("a")] == ["Ranks 101 to 200"]
    assert len([line for line in rows(first) if "benchmark" not in line.attributes.get("class", "")]) == 100
    middle = document(client, first.one("a", rel="next").attributes["href"])
    assert middle.one("caption").text.endswith("ranks 101 to 200 of 250")
    assert [link.text for link in middle.one("nav", class_="pagination").all("a")] == [
        "Ranks 1 to 100",
        "Ranks 201 to 250",
    ]
    last = document(client, middle.one("a", rel="next").attributes["href"])
    assert last.one("caption").text.endswith("ranks 201 to 250 of 250")
    assert not last.all("a", rel="next")
    assert rows(last)[0].one(class_="rank").text == "201"
    beyond = document(client, f"{HERE}?after=900")
    assert "This board has no rank 901." in beyond.one(class_="empty").text


def test_copies_are_on_the_first_page_and_limited(browse: Browse) -> None:
    board = replace(view_samples.long_board(150), copies=[view_samples.sample_copy(f"c{i}") for i in range(130)])
    client = browse(SampleSite(board=board))
    section = document(client).one(class_="copies")
    assert len(section.all("li")) == 100
    assert "And 30 more" in section.text
    assert not document(client, f"{HERE}?after=100").all(class_="copies")


def test_search_finds_teams_on_any_page_in_any_case(browse: Browse) -> None:
    client = browse(SampleSite(board=view_samples.long_board(250)))
    page = document(client, f"{HERE}?search=%20ÖGMUNDUR+þór+24")
    assert [line.one("bdi").text for line in rows(page)] == [
        "Ögmundur Þór 242", "Ögmundur Þór 248"
    ]  # fmt: skip
    assert rows(page)[0].one(class_="rank").text == "242"
    assert page.one("input", id="search").attributes["value"] == "ÖGMUNDUR þór 24"
    assert "Teams matching" in page.one("caption").text
    everyone = page.one("form", role="search").one("a")
    assert len(rows(document(client, everyone.attributes["href"]))) == 102


def test_a_search_without_a_match_offers_everyone(browse: Browse) -> None:
    page = document(browse(SampleSite()), f"{HERE}?search=nobody")
    assert page.one(class_="empty").text == "No teams match “nobody”. Show all teams"
    assert not page.all(class_="copies")


def test_more_matches_than_a_page(browse: Browse) -> None:
    client = browse(SampleSite(board=view_samples.long_board(250)))
    page = document(client, f"{HERE}?search=a")
    following = page.one("a", rel="next").attributes["href"]
    assert "search=a" in following
    further = document(client, following)
    assert int(rows(further)[0].one(class_="rank").text) > int(rows(page)[-1].one(class_="rank").text)
    assert further.one("a", rel="prev").attributes["href"] == f"{HERE}?track=public&search=a&after=0"


@pytest.mark.parametrize("query", ["after=-1", "after=x", "after=99999999999999999999", "track=secret"])
def test_invalid_query_parameters_are_refused(browse: Browse, query: str) -> None:
    assert browse(SampleSite()).get(f"{HERE}?{query}").status_code == 422


# Hidden tracks


def test_before_publication_no_page_mentions_the_private_track(browse: Browse) -> None:
    client = browse(SampleSite())
    answer = client.get(HERE)
    assert "nasnetalarge" not in answer.text
    assert "private" not in answer.text.lower()
    assert not parse_html(answer.text).all("nav", class_="tabs")
    refused = client.get(f"{HERE}?track=private")
    assert refused.status_code == 403
    assert "nasnetalarge" not in refused.text


def test_a_final_board_comes_first_with_its_winners(browse: Browse) -> None:
    state = view_samples.sample_state(phase=Phase.FINAL)
    places = list(view_samples.demo_board().places)
    client = browse(SampleSite(board=view_samples.sample_board(places, of=state, track="private")))
    page = document(client)
    assert [tab.text for tab in page.one("nav", class_="tabs").all("a")] == ["Final", "Public"]
    assert page.one("a", aria_current="page").text == "Final"
    assert page.one("dl").one("code").text == "nasnetalarge@1"
    assert page.one("caption").text.startswith("Final leaderboard")
    assert {field.attributes["value"] for field in page.all("input", name="track")} == {"private"}
    assert "Private" not in page.one("main").text
    winners = page.one("ol", class_="podium").all("li")
    assert [winner.one(class_="place").text.split()[-1] for winner in winners] == ["1", "2", "3"]
    assert [winner.one("bdi").text for winner in winners] == [place.team for place in places[:3]]
    public = document(client, page.one("nav", class_="tabs").all("a")[1].attributes["href"])
    assert public.one("a", aria_current="page").text == "Public"
    assert not public.all("ol", class_="podium")


def test_an_organizer_sees_that_the_private_board_is_not_public(browse: Browse) -> None:
    page = document(browse(SampleSite(account=ORGANIZER)), f"{HERE}?track=private")
    assert page.one(class_="notice").text == "Only organizers can see this board until it is published."


# Hostile words


def test_hostile_text_stays_text(browse: Browse) -> None:
    state = view_samples.sample_state(title=HOSTILE, description=HOSTILE + "\n\n" + HOSTILE, rules=HOSTILE)
    board = view_samples.sample_board(
        [view_samples.sample_place(1, HOSTILE, 1.0, 1.0, 0.1, True, 1, 1)],
        benchmarks=[view_samples.sample_benchmark(2.0, HOSTILE)],
        copies=[view_samples.sample_copy(HOSTILE, HOSTILE)],
        of=state,
    )
    client = browse(SampleSite(board=board))
    searched = parse_html(client.get(HERE, params={"search": HOSTILE[:40]}).text)
    assert searched.one("input", id="search").attributes["value"] == HOSTILE[:40]
    for page in (document(client, "/"), document(client), searched):
        assert all(script.attributes["src"].startswith("/static/") and not script.text for script in page.all("script"))
        assert not page.all("img")
        assert not [element for element in page if any(name.startswith("on") for name in element.attributes)]
        assert "49" not in page.one("main").text
    names = [name.text for name in document(client).all("bdi")]
    # ``bdi`` isolates names with right-to-left characters.
    assert names == [HOSTILE] * 3


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<b onclick=alert(1)>x</b>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](java&#10;script:alert(1))",
        "[x](&#x6A;avascript:alert(1))",
        "[x](\x01javascript:alert(1))",
        "[x](data:text/html,hello)",
        "[x](vbscript:msgbox)",
        "<javascript:alert(1)>",
        '[x](https://example.org/" onmouseover="alert(1))',
        "![<img src=x onerror=alert(1)>](https://example.org/a.png)",
        "![x](https://example.org/a.png)",
        '[a]: javascript:alert(1) "t"\n\n[a]',
        "<svg/onload=alert(1)>",
    ],
)
def test_markdown_is_harmless(text: str) -> None:
    page = parse_html(render_html(text))
    assert {element.tag for element in page} <= {"", "p", "a", "code", "pre"}
    for element in page:
        assert set(element.attributes) <= {"href", "rel", "title"}
        assert element.attributes.get("href", "https:").lower().startswith("https:")


def test_markdown_is_rendered() -> None:
    page = parse_html(
        render_html("# Big\n\n## Small\n\n*a* [b](https://example.org) [c](/rules) ![d](e.png)\n\n|x|\n|-|\n|1|\n")
    )
    assert [element.tag for element in page if element.tag.startswith("h")] == ["h3", "h4"]
    assert [link.attributes["href"] for link in page.all("a")] == ["https://example.org", "/rules"]
    assert page.all("a")[0].attributes["rel"] == "nofollow noopener noreferrer"
    assert page.one("p").text == "a b c d"
    assert page.one("td").text == "1"


def test_the_summary_is_the_first_paragraph_and_about_is_the_rest() -> None:
    text = "Make *new*\nphotographs of [dogs](https://example.org).\n\n# More\n\nWords."
    assert summarise_text(text) == "Make new photographs of dogs."
    assert parse_html(render_rest(text)).text == "More Words."
    assert parse_html(render_rest("# Title\n\nWords.")).text == "Title Words."
    long = "word " * 100
    assert summarise_text(long) == "word " * 39 + "word …"
    assert parse_html(render_rest(long)).text == long.strip()
    assert summarise_text("") == render_rest("") == ""


# Headers and caching


def test_every_answer_has_the_security_headers(browse: Browse) -> None:
    client = browse(SampleSite())
    etag = client.get(HERE).headers["etag"]
    for answer in (
        client.get("/"),
        client.get(HERE),
        client.get(HERE, headers={"If-None-Match": etag}),
        client.get(parse_html(client.get("/").text).one("link", rel="stylesheet").attributes["href"]),
        client.get("/static/nothing.css", headers={"Accept": "text/html"}),
    ):
        policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
        assert policy == {
            "default-src": "'none'",
            "style-src": "'self'",
            "img-src": "'self'",
            "script-src": "'self'",
            "connect-src": "'self'",
            "base-uri": "'none'",
            "form-action": "'self'",
            "frame-ancestors": "'none'",
        }
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"


def test_an_unchanged_page_is_answered_with_304(browse: Browse) -> None:
    site = SampleSite()
    client = browse(site)
    first = client.get(HERE)
    again = client.get(HERE, headers={"If-None-Match": f'"other", {first.headers["etag"]}'})
    assert again.status_code == 304
    assert again.content == b""
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["cache-control"] == "private, no-cache"
    assert again.headers["vary"] == "Authorization, Cookie"


def test_the_etag_covers_everything_on_the_page(browse: Browse, monkeypatch: pytest.MonkeyPatch) -> None:
    site = SampleSite()
    client = browse(site)

    def etag(address: str = HERE) -> str:
        return client.get(address).headers["etag"]

    seen = [etag(), etag(f"{HERE}?after=100"), etag(f"{HERE}?search=a")]
    site.version = "v2"
    seen.append(etag())
    site.now = NOW + timedelta(minutes=1)
    seen.append(etag())
    site.states = [view_samples.sample_state(description="Other words.")]
    seen.append(etag())
    site.states = [view_samples.sample_state(closes_at=NOW + timedelta(days=1))]
    seen.append(etag())
    monkeypatch.setattr(templates, "BUILD_DIGEST", "next")
    seen.append(etag())
    assert len(set(seen)) == len(seen)
    assert etag() == seen[-1]


def test_pages_answer_head_requests(browse: Browse) -> None:
    client = browse(SampleSite())
    answer = client.head(HERE)
    assert answer.status_code == 200
    assert answer.headers["etag"] == client.get(HERE).headers["etag"]


def test_versioned_static_files_are_cached_forever(browse: Browse) -> None:
    client = browse(SampleSite())
    page = document(client, "/")
    for rel, kind in (("stylesheet", "text/css; charset=utf-8"), ("icon", "image/svg+xml")):
        address = page.one("link", rel=rel).attributes["href"]
        answer = client.get(address)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == kind
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        stale = client.get(address.split("?")[0] + "?v=old")
        assert stale.headers["cache-control"] == "no-cache"
        assert client.get(address, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304


@pytest.mark.parametrize(
    "name", ["nothing.css", "..%2frouting.py", "%2e%2e/routes.py", "rendering/layout.html", "BASE.CSS"]
)
def test_no_other_file_is_served(browse: Browse, name: str) -> None:
    assert browse(SampleSite()).get(f"/static/{name}").status_code == 404


def test_pages_use_no_other_host_and_nothing_inline(browse: Browse) -> None:
    client = browse(
        SampleSite(board=view_samples.sample_board([], of=view_samples.sample_state(description="", rules="")))
    )
    for page in (
        document(client, "/"),
        document(client),
        parse_html(bytes(error_page("No.").body).decode()),
    ):
        for element in page:
            assert not {"style", "srcset", "ping"} & set(element.attributes)
            for name in {"src", "href", "action"} & set(element.attributes):
                assert re.match(r"[/#](?!/)", element.attributes[name])
        assert all(script.attributes["src"].startswith("/static/") and not script.text for script in page.all("script"))
        assert not page.all("style")
    for content in templates.STATIC_FILES.values():
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"//|url\(|@import|expression", text)


# Errors


def error_page(message: str, **options: Any) -> Response:
    """The page of a 404 error."""
    values: dict[str, Any] = {"title": "Not found", "message": message, "code": 404, "slug": None}
    return templates.render_page("rendering/error.html", status=404, **values, **options)


def test_an_error_is_a_page() -> None:
    answer = error_page(f"There is no competition {HOSTILE!r}.", headers={"Retry-After": "3"})
    page = parse_html(bytes(answer.body).decode())
    assert answer.status_code == 404
    assert answer.headers["retry-after"] == "3"
    assert answer.headers["content-security-policy"] == PAGE_POLICY
    assert page.one("h1").text == "Not found"
    assert page.one(class_="lead").text == f"There is no competition {HOSTILE!r}."
    assert page.one("section").one("a").attributes["href"] == "/"


@pytest.mark.parametrize(
    ("path", "accept", "expected"),
    [
        ("/competitions/x", "text/html,application/xhtml+xml,*/*;q=0.8", True),
        ("/competitions/x", "*/*", False),
        ("/api/v1/competitions/x", "text/html", False),
        ("/nowhere", "text/html", True),
    ],
)
def test_browsers_get_pages_and_programs_get_problems(path: str, accept: str, expected: bool) -> None:
    request = Request({"type": "http", "path": path, "headers": [(b"accept", accept.encode())], "query_string": b""})
    assert templates.wants_page(request) is expected


# Words


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-5, "just now"), (59, "just now"), (60, "1 minute ago"), (3599, "59 minutes ago"), (3600, "1 hour ago"),
        (2 * 86_400 - 1, "47 hours ago"), (2 * 86_400, "2 days ago"), (60 * 86_400, "60 days ago"),
        (70 * 86_400, "2 months ago"),
    ],
)  # fmt: skip
def test_how_long_ago(seconds: int, expected: str) -> None:
    assert formatting.ago(NOW - timedelta(seconds=seconds), NOW) == expected


@pytest.mark.parametrize(
    ("phase", "opens", "closes", "expected"),
    [
        (Phase.DRAFT, None, None, "Not open yet"),
        (Phase.DRAFT, 3, 9, "Opens in 3 days"),
        (Phase.OPEN, -3, 9, "Closes in 9 days"),
        (Phase.OPEN, -3, 1.5, "Closes in 36 hours"),
        (Phase.OPEN, -3, None, "No closing date"),
        (Phase.REVIEW, -30, -3, "Closed 3 days ago"),
        (Phase.FINAL, -30, -0.5, "Closed 12 hours ago"),
    ],
)
def test_the_shown_deadline_depends_on_the_phase(
    phase: Phase, opens: float | None, closes: float | None, expected: str
) -> None:
    opens_at, closes_at = (None if days is None else NOW + timedelta(days=days) for days in (opens, closes))
    state = view_samples.sample_state(phase=phase, opens_at=opens_at, closes_at=closes_at)
    deadline = formatting.deadline(state, NOW)
    assert deadline.words == expected
    assert deadline.moment == (opens_at if phase is Phase.DRAFT else closes_at)


def test_exact_times_are_utc_and_have_their_seconds() -> None:
    eastern = datetime.fromisoformat("2026-11-14T23:59:59-05:00")
    assert formatting.exact(eastern) == "15 Nov 2026, 04:59:59 UTC"
    assert formatting.machine(eastern) == "2026-11-15T04:59:59Z"
    assert formatting.exact(datetime(2026, 1, 2, 3, 4, tzinfo=UTC)) == "2 Jan 2026, 03:04 UTC"


@pytest.mark.parametrize(
    ("user_agent", "expected"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on iPhone"),
        ("curl/8.5.0", "curl/8.5.0"),
        ("", "unknown"),
    ],
)
def test_browsers_have_readable_names(user_agent: str, expected: str) -> None:
    assert formatting.agent(user_agent) == expected


# Colours


def _luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = digits if len(digits) == 6 else "".join(digit * 2 for digit in digits)
    channels = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    """The contrast ratio of two colours according to WCAG 2.2."""
    lighter, darker = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(scheme: str) -> None:
    css = templates.STATIC_FILES["base.css"].decode()
    light, dark = [dict(re.findall(r"--([\w-]+): (#\w+);", part)) for part in css.split(":root {")[1:3]]
    colours = light if scheme == "light" else light | dark
    assert len(dark) == len(light)
    for text, background in [
        *((text, background) for text in ("text", "muted", "accent", "warn") for background in ("background", "soft")),
        ("on-accent", "accent"),
        ("warn", "warn-background"),
    ]:
        assert contrast(colours[text], colours[background]) >= 4.5, (text, background)
    assert contrast(colours["edge"], colours["background"]) >= 3
    for medal in ("gold", "silver", "bronze"):
        background, text = re.findall(rf"\.{medal} {{ background: (#\w+); color: (#\w+);", css)[0]
        assert contrast(text, background) >= 4.5


def test_a_label_has_one_colour_on_all_pages_and_in_figures() -> None:
    sheets = {name: file.decode() for name, file in templates.STATIC_FILES.items() if name.endswith(".css")}
    defined = {
        name: re.findall(r"--(legitimate|mgan|sup|ae|aug|other|unlabelled): (#\w+);", css)
        for name, css in sheets.items()
    }
    assert {name for name, colours in defined.items() if colours} == {"base.css", "charts.css"}
    assert defined["base.css"] == defined["charts.css"]
    for place, (label, colour) in enumerate(defined["base.css"]):
        assert contrast(colour, "#fff" if place < 7 else "#101415") >= 3, label
