"""A person's data as a file, and the end of their account."""

from datetime import datetime

from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse, Response
from sqlalchemy.orm import Session

from api.accounts.sign_in.sign_in import SignInActions
from api.http.dependencies import Caller
from scorer import personal_data
from scorer.db.tables import Account
from scorer.errors import Invalid


def own_data(session: Session, account: Account, now: datetime) -> Response:
    """What is stored about a person, as JSON to download."""
    rows = jsonable_encoder(personal_data.data_of(session, account, now=now))
    name = f'attachment; filename="kennel-{account.handle}.json"'
    return JSONResponse(rows, headers={"Content-Disposition": name, "Cache-Control": "no-store"})


def delete_own_account(actions: SignInActions, caller: Caller, handle: str, password: str) -> None:
    """Delete the caller's account, for a caller who types its handle, and knows the password if there is one."""
    if handle.strip().lower() != caller.account.handle.lower():
        raise Invalid("wrong-handle", f"To delete your account, type its handle: {caller.account.handle}.")
    actions.require_password(caller, password)
    with actions.begin() as session:
        personal_data.delete_account(session, caller.account.id, author=caller.account, now=actions.now)
