"""Studies of human ratings."""

from kennel_client.answers.ratings import InvitedView, StudySpec, StudyView
from kennel_client.api import path_of
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Operation, all_pages, call, get


class Ratings(Methods[Api]):
    """Rating studies of a competition."""

    @Method
    def all(self, slug: str) -> Operation[list[StudyView]]:
        """All studies, newest first."""
        return all_pages(path_of("competitions", slug, "ratings"), "studies")

    @Method
    def start(self, slug: str, spec: StudySpec) -> Operation[StudyView]:
        """Begin a study: a worker cuts its images."""
        return call("POST", path_of("competitions", slug, "ratings"), json=spec)

    @Method
    def get(self, slug: str, study: int) -> Operation[StudyView]:
        """A study: its progress, how far raters agree, and the mean of every entry."""
        return get(path_of("competitions", slug, "ratings", study))

    @Method
    def invite(self, slug: str, study: int, name: str) -> Operation[InvitedView]:
        """Make a link with which one person rates without an account."""
        return call("POST", path_of("competitions", slug, "ratings", study, "raters"), json={"name": name})

    @Method
    def end(self, slug: str, study: int) -> Operation[StudyView]:
        """Take no more ratings."""
        return call("PUT", path_of("competitions", slug, "ratings", study, "ended"))
