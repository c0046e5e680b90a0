"""People of a competition: who may enter it by invitation, who organizes it and reviews its entries."""

from collections.abc import Sequence
from typing import Literal

from kennel_client.answers.competitions import GuestView, RoleView
from kennel_client.api import path_of
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Operation, all_pages, call, get, send

CompetitionRole = Literal["organizer", "reviewer"]


class Guests(Methods[Api]):
    """The allowlist of a competition."""

    @Method
    def all(self, slug: str) -> Operation[list[GuestView]]:
        """Everybody who is invited."""
        return all_pages(path_of("competitions", slug, "guests"), "guests")

    @Method
    def invite(self, slug: str, who: Sequence[str]) -> Operation[list[GuestView]]:
        """Invite people, by handle or mail address; the answer is everybody who is invited."""
        yield from call("POST", path_of("competitions", slug, "guests"), json={"who": list(who)})
        return (yield from all_pages(path_of("competitions", slug, "guests"), "guests"))

    @Method
    def uninvite(self, slug: str, who: str) -> Operation[None]:
        """Take an invitation back; what was entered stays."""
        return send("DELETE", path_of("competitions", slug, "guests", who))


class Roles(Methods[Api]):
    """Roles in a competition."""

    @Method
    def all(self, slug: str) -> Operation[list[RoleView]]:
        """Everybody who has a role or is offered one."""
        return all_pages(path_of("competitions", slug, "roles"), "roles")

    @Method
    def offer(self, slug: str, handle: str, role: CompetitionRole) -> Operation[RoleView]:
        """Offer somebody a role, which they have once they accept it."""
        return call("PUT", path_of("competitions", slug, "roles", handle), json={"role": role})

    @Method
    def end(self, slug: str, handle: str) -> Operation[None]:
        """End somebody's role, or take back its offer."""
        return send("DELETE", path_of("competitions", slug, "roles", handle))

    @Method
    def own(self, slug: str) -> Operation[RoleView]:
        """Your role, or the one that you are offered; ``Refused`` (404) if there is none."""
        return get(path_of("competitions", slug, "role"))

    @Method
    def accept(self, slug: str) -> Operation[RoleView]:
        """Accept the role that you are offered: you can never enter that competition then."""
        return call("PUT", path_of("competitions", slug, "role"))

    @Method
    def decline(self, slug: str) -> Operation[None]:
        """Decline the role that you are offered, or lay yours down."""
        return send("DELETE", path_of("competitions", slug, "role"))
