"""The form with which an organizer asks a team for the code of an entry, on the entry's review page."""

from datetime import timedelta

from fastapi.responses import Response
from sqlalchemy.orm import Session

from api.http.dependencies import Organizer, SignedIn
from api.http.forms import FormFields, text
from api.pages.review.review_queue import CurrentReview
from api.routing import Router
from scorer.errors import Invalid
from scorer.evidence import code_requests

router = Router(include_in_schema=False)


@router.post("/submissions/{submission_id}/desk/code-request")
def request_code(page: CurrentReview, author: Organizer, viewer: SignedIn, fields: FormFields) -> Response:
    """Ask for the code of an entry within some days."""

    def request(session: Session) -> str:
        days, words = text(fields, "days"), text(fields, "text", max_length=code_requests.MAX_TEXT_LENGTH)
        if not days.isdecimal() or len(days) > 3:
            raise Invalid("bad-deadline", "Please say how many days the team has.")
        until = page.now + timedelta(days=int(days))
        code_requests.request_code(session, page.submission_id, until=until, text=words, author=author, now=page.now)
        return f"/submissions/{page.submission_id}/desk#team"

    return page.act(request, fields, place="code-request")
