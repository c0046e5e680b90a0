"""The private track's extractor, compared and chosen; and the tracks that are shown and not ranked."""

from collections.abc import Mapping, Sequence
from typing import Literal

from kennel_client.admin.arguments import Track
from kennel_client.answers.network import ComparisonView, MissingMeasurementsView, NetworkView, ShownTrackView
from kennel_client.api import path_of
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Operation, all_pages, call, get, send
from kennel_client.waiting import wait_until

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


class ShownTracks(Methods[Api]):
    """The numbers that are shown beside the ranked ones, and rank nothing."""

    @Method
    def all(self, slug: str) -> Operation[list[ShownTrackView]]:
        """All of them, with how far each is, oldest first."""
        return all_pages(_shown_path(slug), "shown_tracks")

    @Method
    def add(
        self,
        slug: str,
        name: str,
        metric: str,
        extractor: str,
        *,
        reference: Track = "public",
        visibility: Literal["everybody", "organizers"] = "organizers",
        constants: Mapping[str, float] | None = None,
    ) -> Operation[ShownTrackView]:
        """Show a metric in an extractor's feature space, against the references of a track, under a name: to everybody
        at once, or to organizers until the final board is published. All scored entries are measured when nothing else
        waits."""
        body = {
            "name": name,
            "metric": metric,
            "extractor": extractor,
            "reference": reference,
            "visibility": visibility,
            "constants": dict(constants or {}),
        }
        return call("POST", _shown_path(slug), json=body)

    @Method
    def remove(self, slug: str, name: str) -> Operation[None]:
        """Show a number no more."""
        return send("DELETE", _shown_path(slug, name))

    @Method
    def measure_missing(self, slug: str, name: str) -> Operation[MissingMeasurementsView]:
        """Measure the entries that lack the number because a measurement, or the references' preparation, failed."""
        return call("POST", _shown_path(slug, name, "measurements"))


def _shown_path(slug: str, *parts: str) -> str:
    return path_of("competitions", slug, "shown-tracks", *parts)
