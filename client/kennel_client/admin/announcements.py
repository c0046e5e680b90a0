"""What organizers tell everybody who takes part."""

from kennel_client.answers.competitions import AnnouncementView
from kennel_client.api import path_of
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Operation, all_pages, call


class Announcements(Methods[Api]):
    """Announcements of a competition."""

    @Method
    def all(self, slug: str) -> Operation[list[AnnouncementView]]:
        """All announcements, newest first."""
        return all_pages(path_of("competitions", slug, "announcements"), "announcements")

    @Method
    def announce(self, slug: str, title: str, text: str) -> Operation[AnnouncementView]:
        """Tell everybody who takes part something (Markdown): on the page, in the feed, by notice, mail and webhook."""
        return call("POST", path_of("competitions", slug, "announcements"), json={"title": title, "text": text})
