"""BibTeX of competitions and entries: valid for any title and name."""

import re
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from api.competitions.citations.routes import render_competition_citation, render_receipt_citation
from scorer.db.tables import Competition
from scorer.lifecycle import Phase
from scorer.submissions.receipts import Receipt

MOMENT = datetime(2026, 3, 14, tzinfo=UTC)
ESCAPES = re.compile(r"\\text[a-z]+\{\}|\\[&%$#_{}]")


def balanced(text: str) -> bool:
    """Whether the braces are balanced, without the braces that TeX shows as characters."""
    depth = 0
    for brace in re.findall(r"[{}]", ESCAPES.sub("", text)):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


def make_receipt(team: str, title: str) -> Receipt:
    return Receipt(
        issuer="https://kennel.example.org",
        issued_at=MOMENT,
        competition="dogs",
        title=title,
        phase=Phase.OPEN,
        submission="s_1",
        team=team,
        zip_sha256=None,
        generator=None,
        accepted_at=MOMENT,
        late=False,
        scores=[],
    )


def test_a_competition() -> None:
    made = render_competition_citation(
        Competition(slug="dogs", title="Dogs & 100 % cats", opens_at=MOMENT), "https://k.org"
    )
    assert made == (
        "@misc{kennel-dogs,\n"
        "  title = {{Dogs \\& 100 \\% cats}},\n"
        "  key = {Dogs \\& 100 \\% cats},\n"
        "  year = {2026},\n"
        "  url = {https://k.org/competitions/dogs},\n"
        "}\n"
    )


@given(st.text(), st.text())
def test_any_name_keeps_braces_balanced_and_has_no_tex_commands(team: str, title: str) -> None:
    made = render_receipt_citation(make_receipt(team, title))
    assert balanced(made)
    assert made.count("\n") - team.count("\n") - title.count("\n") == 6
    assert not re.search(r"[&%$#_~^]", ESCAPES.sub("", made.partition(",\n")[2]))
