"""Citations of competitions and submissions as BibTeX."""

from collections.abc import Mapping

from fastapi import Response

from api.http.dependencies import ActingReader, ActingVisitor, AppSettings
from api.http.routing import ApiRouter
from api.openapi.files import file_answer
from scorer.db.tables import Competition
from scorer.leaderboard import standings
from scorer.submissions import receipts
from scorer.submissions.receipts import Receipt

SPECIAL: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
"""Characters with a special meaning in TeX."""


router = ApiRouter(tags=["results"])
MEDIA_TYPE = "application/x-bibtex"
BIBTEX = file_answer(MEDIA_TYPE)


@router.get("/competitions/{slug}/citation", response_class=Response, responses=BIBTEX)
def cite_competition(slug: str, acting: ActingVisitor, settings: AppSettings) -> Response:
    """Get a BibTeX entry for the competition."""
    state = standings.visible_state(acting, slug)
    return Response(render_competition_citation(state.competition, settings.public_url), media_type=MEDIA_TYPE)


@router.get("/submissions/{submission_id}/citation", response_class=Response, responses=BIBTEX)
def cite_submission(submission_id: str, acting: ActingReader, settings: AppSettings) -> Response:
    """Get a BibTeX entry for a scored submission, with the scores of its receipt. For its team and organizers."""
    receipt = receipts.build_receipt(acting, submission_id, issuer=settings.public_url, draw_key=settings.draw_key)
    return Response(render_receipt_citation(receipt), media_type=MEDIA_TYPE)


def render_competition_citation(competition: Competition, site: str) -> str:
    year = {} if competition.opens_at is None else {"year": str(competition.opens_at.year)}
    title = _escaped(competition.title)
    fields = {"title": f"{{{title}}}", "key": title, **year, "url": f"{site}/competitions/{competition.slug}"}
    return _entry(f"kennel-{competition.slug}", fields)


def render_receipt_citation(receipt: Receipt) -> str:
    fields = {
        "author": f"{{{_escaped(receipt.team)}}}",
        "title": f"Entry {_escaped(receipt.submission)} in {{{_escaped(receipt.title)}}}",
        "year": str(receipt.accepted_at.year),
        "url": f"{receipt.issuer}/competitions/{receipt.competition}",
        "note": _escaped(
            ", ".join(f"{score.track} MiFID {score.mifid:.6g}" for score in receipt.scores if score.mifid is not None)
        ),
    }
    return _entry(f"kennel-{receipt.competition}-{receipt.submission}", fields)


def _entry(key: str, fields: Mapping[str, str]) -> str:
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@misc{{{key},\n{lines}}}\n"


def _escaped(text: str) -> str:
    return "".join(SPECIAL.get(character, character) for character in text)
