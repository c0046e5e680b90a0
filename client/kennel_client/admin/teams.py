"""Teams of a competition, as organizers see them, and messages to them."""

from kennel_client.answers.teams import MessageView, TeamLineView
from kennel_client.api import path_of
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Operation, all_pages, call


class Teams(Methods[Api]):
    """Teams of a competition."""

    @Method
    def all(self, slug: str, search: str | None = None) -> Operation[list[TeamLineView]]:
        """Every team with its members; with ``search``, those that have it in their name or a member's."""
        return all_pages(path_of("competitions", slug, "teams"), "teams", search=search)

    @Method
    def messages(self, slug: str, team: int) -> Operation[list[MessageView]]:
        """What organizers have written to a team."""
        return all_pages(path_of("competitions", slug, "teams", team, "messages"), "messages")

    @Method
    def write(self, slug: str, team: int, text: str) -> Operation[MessageView]:
        """Write to a team; the message stays on record."""
        return call("POST", path_of("competitions", slug, "teams", team, "messages"), json={"text": text})
