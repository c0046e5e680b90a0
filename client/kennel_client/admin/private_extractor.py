"""The private track's extractor: comparing candidates on labelled entries, and choosing one."""

from collections.abc import Sequence

from kennel_client.answers.network import ComparisonView, NetworkView
from kennel_client.api import path_of
from kennel_client.methods import Api, Method, Methods
from kennel_client.polling import wait_until
from kennel_client.steps import Operation, call, get

UNDER_WAY = frozenset({"preparing", "measuring"})


class PrivateExtractor(Methods[Api]):
    """The extractor of the private track."""

    @Method
    def get(self, slug: str) -> Operation[NetworkView]:
        """The extractor, how far its scoring is, and the newest comparison."""
        return get(_path(slug))

    @Method
    def compare(self, slug: str, extractors: Sequence[str], *, early_labels: bool = False) -> Operation[ComparisonView]:
        """Start a comparison of extractors with the present one on labelled entries; with ``early_labels``, on entries
        that have an early label alone, too."""
        body = {"extractors": list(extractors), "coarse": early_labels}
        return call("POST", f"{_path(slug)}/comparisons", json=body)

    @Method
    def wait(self, slug: str) -> Operation[NetworkView]:
        """What :meth:`get` returns, once the newest comparison has measured every entry."""

        def look() -> Operation[NetworkView]:
            return get(_path(slug))

        return wait_until(lambda seen: not _is_running(seen["comparison"]), look)

    @Method
    def choose(self, slug: str, extractor: str, reason: str, tau: float | None = None) -> Operation[NetworkView]:
        """Give the private track another extractor, which was compared before: every entry is scored anew on it.
        Without ``tau`` it is half the distance of the held-out images."""
        return call("PUT", _path(slug), json={"extractor": extractor, "reason": reason, "tau": tau})


def _path(slug: str) -> str:
    return path_of("competitions", slug, "network")


def _is_running(comparison: ComparisonView) -> bool:
    return any(space["state"] in UNDER_WAY for space in comparison["spaces"] if not space["present"])
