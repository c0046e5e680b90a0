"""Exports a person's data and deletes their account."""

from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse, Response

from api.accounts.sign_in.sign_in import SignInActions
from api.http.dependencies import Viewer
from scorer import personal_data
from scorer.acting import Acting
from scorer.db.personal_data import rows_about
from scorer.errors import Invalid


def own_data(acting: Acting) -> Response:
    """The stored data about a person, as a JSON download."""
    rows = jsonable_encoder(rows_about(acting.session, acting.actor, acting.now))
    name = f'attachment; filename="kennel-{acting.actor.handle}.json"'
    return JSONResponse(rows, headers={"Content-Disposition": name, "Cache-Control": "no-store"})


def delete_own_account(actions: SignInActions, viewer: Viewer, handle: str, *, password: str) -> None:
    """Delete the viewer's account if the viewer types its handle, and its password if it has one."""
    if handle.strip().lower() != viewer.account.handle.lower():
        raise Invalid(
            "wrong-handle",
            f"{handle.strip()!r} is not the handle of your account. To delete the account, type"
            f" {viewer.account.handle}.",
        )
    actions.require_password(viewer, password)
    with actions.begin() as session:
        personal_data.delete_account(Acting(session, viewer.account, actions.now), viewer.account.id)
