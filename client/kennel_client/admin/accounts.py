"""Accounts of the installation, for admins; invitations, for organizers, too."""

from typing import Literal

from kennel_client.answers.accounts import AccountSummaryView, AccountView, InvitationView, NewAccountView
from kennel_client.api import path_of
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Operation, all_pages, call, send

AccountRole = Literal["participant", "organizer", "admin"]


class Accounts(Methods[Api]):
    """Accounts of the installation."""

    @Method
    def all(self, search: str = "") -> Operation[list[AccountSummaryView]]:
        """Every account, oldest first; with ``search``, those that have it in their handle or name."""
        return all_pages("/admin/accounts", "accounts", search=search)

    @Method
    def create(self, handle: str, name: str = "", role: AccountRole = "participant") -> Operation[NewAccountView]:
        """Make an account; the answer has its first API token. Needs a session: not with an API token."""
        return call("POST", "/admin/accounts", json={"handle": handle, "name": name, "role": role})

    @Method
    def invite(self, email: str | None = None) -> Operation[InvitationView]:
        """Make a link with which one person can sign up, and mail it if there is an address."""
        return call("POST", "/admin/invitations", json={"email": email})

    @Method
    def change_role(self, handle: str, role: AccountRole) -> Operation[AccountView]:
        """Give an account another role. Needs a session: not with an API token."""
        return call("PUT", path_of("accounts", handle, "role"), json={"role": role})

    @Method
    def suspend(self, handle: str, reason: str = "") -> Operation[AccountView]:
        """Let an account sign in no longer; its sessions, tokens and webhooks end."""
        return _set_suspended(handle, reason, suspended=True)

    @Method
    def reinstate(self, handle: str, reason: str = "") -> Operation[AccountView]:
        """Let a suspended account sign in again."""
        return _set_suspended(handle, reason, suspended=False)

    @Method
    def sign_out(self, handle: str) -> Operation[None]:
        """End all sessions, tokens and webhooks of an account; its owner may sign in again."""
        return send("DELETE", path_of("admin", "accounts", handle, "credentials"))


def _set_suspended(handle: str, reason: str, *, suspended: bool) -> Operation[AccountView]:
    path = path_of("admin", "accounts", handle, "suspension")
    return call("PUT", path, json={"suspended": suspended, "reason": reason})
