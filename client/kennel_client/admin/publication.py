"""Publishing the private board."""

from kennel_client.answers.publication import ChecklistView, PublicationView
from kennel_client.answers.shared import RequeuedView
from kennel_client.api import path_of
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Operation, call, get


class Publication(Methods[Api]):
    """The publication of a competition's final board, or with ``final`` False of its provisional one. With ``after``,
    the ``version`` of the checklist that you have seen, an act is refused if the board is another one by now."""

    @Method
    def checklist(self, slug: str, *, final: bool = True) -> Operation[ChecklistView]:
        """What is open before the publication."""
        return get(_path(slug), final=final)

    @Method
    def publish(
        self, slug: str, reason: str, *, final: bool = True, override: str | None = None, after: str | None = None
    ) -> Operation[PublicationView]:
        """Publish the board; the reason is told to everybody who competes. Refused with the open points unless
        ``override`` says why."""
        return _act(slug, published=True, reason=reason, final=final, override=override, after=after)

    @Method
    def withdraw(
        self, slug: str, reason: str, *, final: bool = True, after: str | None = None
    ) -> Operation[PublicationView]:
        """Take the published board back."""
        return _act(slug, published=False, reason=reason, final=final, override=None, after=after)

    @Method
    def requeue(self, slug: str) -> Operation[RequeuedView]:
        """Let failed jobs of the competition's entries be tried again."""
        return call("POST", f"{_path(slug)}/requeue")


def _path(slug: str) -> str:
    return path_of("competitions", slug, "publication")


def _act(slug: str, **body: object) -> Operation[PublicationView]:
    return call("POST", _path(slug), json=body)
