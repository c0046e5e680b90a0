"""What organizers and admins did."""

from kennel_client.answers.audit import AuditEntryView
from kennel_client.api import path_of
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Operation, all_pages


class AuditLog(Methods[Api]):
    """The audit log of a competition, or of the installation."""

    @Method
    def newest(
        self,
        slug: str | None = None,
        *,
        action: str | None = None,
        subject: str | None = None,
        actor: str | None = None,
        limit: int | None = 100,
    ) -> Operation[list[AuditEntryView]]:
        """The newest acts, newest first: of a competition, or for admins of all; only those of an action, a subject or
        an actor where these are given. ``limit`` None: all."""
        path = "/admin/audit" if slug is None else path_of("competitions", slug, "audit")
        return all_pages(path, "entries", limit=limit, action=action, subject=subject, actor=actor)
