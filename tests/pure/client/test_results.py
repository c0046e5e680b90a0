"""Responses of the service as objects, and as tables in notebooks."""

from typing import Any

from kennel_client.results import FINISHED, UNSUCCESSFUL, Board, Competition, Entry
from scorer.lifecycle import PENDING, UNCHARGED, Status

MEASUREMENT = {
    "track": "public",
    "mifid": 12.3456,
    "fid": 12.0,
    "fid_spread": 0.257,
    "memorization_distance": 0.25,
    "penalised": False,
    "copy": False,
    "rank": 3,
    "explanation": "It is <not> penalised.",
    "of a later version": 1,
}
ENTRY: dict[str, Any] = {
    "id": "abc",
    "competition": "dogs",
    "status": "scored",
    "file_name": "<b>.zip",
    "note": "",
    "reason": None,
    "faults": None,
    "measurements": [MEASUREMENT],
    "shown": [],
}


def test_the_client_knows_the_final_states() -> None:
    assert {str(status) for status in set(Status) - PENDING} == FINISHED
    assert {str(status) for status in UNCHARGED} == UNSUCCESSFUL


def test_an_entry_is_a_table_in_a_notebook_and_its_texts_are_escaped() -> None:
    entry = Entry.of(ENTRY, "https://kennel.example.org")
    assert (entry.finished, entry.page) == (True, "https://kennel.example.org/submissions/abc")
    assert entry.public is not None
    assert (entry.public.mifid, entry.public.rank) == (12.3456, 3)
    html = entry._repr_html_()
    assert "&lt;b&gt;.zip" in html
    assert "It is &lt;not&gt; penalised." in html
    assert "<td>12.35</td><td>12.00 ± 0.26</td>" in html
    assert '<a href="https://kennel.example.org/submissions/abc">' in html


def test_shown_numbers_keep_four_significant_digits() -> None:
    values = {"kid": 0.00012345, "fd_dinov2": 12345.6, "coverage": 0.0, "mifid": None}
    shown = [{"name": name, "value": value} for name, value in values.items()]
    entry = Entry.of({**ENTRY, "shown": shown}, "http://x")
    assert entry.shown == values
    assert len({entry, Entry.of(entry.view, "http://x")}) == 1, "entries are hashable"
    html = entry._repr_html_()
    for name, text in {"kid": "0.0001234", "fd_dinov2": "12346", "coverage": "0", "mifid": "-"}.items():
        assert f"<tr><td>{name}</td><td>{text}</td></tr>" in html


def test_an_entry_with_faults_shows_them_and_no_numbers() -> None:
    rejected = {**ENTRY, "status": "rejected", "reason": "Two.", "faults": ["a.png is grey"], "measurements": []}
    entry = Entry.of(rejected, "http://x")
    assert (entry.finished, entry.public, entry.faults) == (True, None, ("a.png is grey",))
    html = entry._repr_html_()
    assert "<p>a.png is grey</p>" in html
    assert "<table>" not in html
    assert not Entry.of({**ENTRY, "status": "queued"}, "http://x").finished


def test_a_copy_has_no_score() -> None:
    copied = {**ENTRY, "measurements": [{**MEASUREMENT, "mifid": None, "copy": True, "rank": None}]}
    assert "<td>copy</td>" in Entry.of(copied, "http://x")._repr_html_()


def test_a_board_is_a_table_of_its_places() -> None:
    place = {
        "rank": 1,
        "team": "<i>us</i>",
        "score": 9.5,
        "fid": 9.5,
        "fid_spread": None,
        "memorization_distance": 0.3,
        "penalised": False,
        "entries": 2,
        "shown": {},
    }
    view = {"competition": "dogs", "track": "public", "tau": None, "teams": 1, "shown_tracks": [], "entries": [place]}
    board = Board.of(view)
    assert [(row.rank, row.team) for row in board.places] == [(1, "<i>us</i>")]
    assert "&lt;i&gt;us&lt;/i&gt;" in board._repr_html_()


def test_a_competition_is_a_table_in_a_notebook() -> None:
    view = {
        "slug": "dogs",
        "title": "<Dogs>",
        "phase": "open",
        "image_count": 10_000,
        "image_size": 64,
        "closes_at": None,
        "rules_sha256": "ab",
        "rules_accepted": None,
    }
    html = Competition.of(view)._repr_html_()
    assert "<p>&lt;Dogs&gt; (dogs)</p><table>" in html
    assert "<td>10,000 of 64x64</td>" in html
    assert "<td>not accepted yet</td>" in html
    assert "<td>none</td>" in Competition.of({**view, "rules_sha256": None})._repr_html_()
