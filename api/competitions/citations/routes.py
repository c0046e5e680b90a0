"""How to cite a competition and an entry, as BibTeX."""

from fastapi import Response

from api.competitions.citations import bibtex
from api.http.dependencies import AppSettings, CurrentUser, DbSession, Now, Visitor
from api.http.routing import ApiRouter
from api.openapi.files import file_answer
from scorer.leaderboard import standings
from scorer.submissions import receipts

router = ApiRouter(tags=["results"])
MEDIA_TYPE = "application/x-bibtex"
BIBTEX = file_answer(MEDIA_TYPE)


@router.get("/competitions/{slug}/citation", response_class=Response, responses=BIBTEX)
def cite_competition(slug: str, session: DbSession, account: Visitor, settings: AppSettings, now: Now) -> Response:
    """The competition as BibTeX."""
    state = standings.visible_state(session, slug, account, now)
    return Response(bibtex.of_competition(state.competition, settings.public_url), media_type=MEDIA_TYPE)


@router.get("/submissions/{submission_id}/citation", response_class=Response, responses=BIBTEX)
def cite_submission(
    submission_id: str, session: DbSession, account: CurrentUser, settings: AppSettings, now: Now
) -> Response:
    """A scored entry as BibTeX, with the scores that its receipt has. For its team and organizers."""
    receipt = receipts.receipt_of(session, submission_id, account, issuer=settings.public_url, now=now)
    return Response(bibtex.of_receipt(receipt), media_type=MEDIA_TYPE)
