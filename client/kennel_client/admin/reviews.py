"""The review queue: flagged entries, their evidence, and reviews of them."""

from collections.abc import Sequence
from typing import Literal

from kennel_client.admin.arguments import Label, Track
from kennel_client.answers.desk import ComparisonJobsView, DeskEntryView, DeskView, FlaggedView, NextView, OpinionsView
from kennel_client.answers.evidence import EvidenceView
from kennel_client.answers.insights import TwinsView
from kennel_client.api import path_of
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Operation, all_pages, call, get

QueueState = Literal["open", "waiting", "disputed", "unruled", "decided"]
Intent = Literal["intended", "unintended", "unclear"]


class Reviews(Methods[Api]):
    """Reviews of entries, for reviewers and organizers."""

    @Method
    def queue(
        self, slug: str, states: Sequence[QueueState] | None = None, limit: int | None = None
    ) -> Operation[list[FlaggedView]]:
        """The flagged entries with their reasons, most decisive first."""
        path = path_of("competitions", slug, "desk")
        return all_pages(path, "entries", limit=limit, state=None if states is None else list(states))

    @Method
    def progress(self, slug: str) -> Operation[DeskView]:
        """How far the review is and how far reviewers agree, with the first page of the queue."""
        return get(path_of("competitions", slug, "desk"))

    @Method
    def claim_next(self, slug: str, skip: int = 0) -> Operation[NextView]:
        """Claim the most decisive entry that you have still to review: for some minutes others are given others."""
        return call("POST", path_of("competitions", slug, "desk", "next"), params={"skip": skip})

    @Method
    def get(self, submission: str) -> Operation[DeskEntryView]:
        """An entry with all its evidence."""
        return get(path_of("submissions", submission, "desk"))

    @Method
    def evidence(self, submission: str, track: Track) -> Operation[EvidenceView]:
        """What the tests for copying say of an entry on a track."""
        return get(path_of("submissions", submission, "evidence", track))

    @Method
    def twins(self, slug: str) -> Operation[list[TwinsView]]:
        """Entries of several teams with the same zip or the same images."""
        return all_pages(path_of("competitions", slug, "twins"), "twins")

    @Method
    def review(
        self, submission: str, label: Label, intent: Intent | None = None, note: str = ""
    ) -> Operation[OpinionsView]:
        """Review an entry. Those of others are shown once you have given yours."""
        body = {"label": label, "intent": intent, "note": note}
        return call("POST", path_of("submissions", submission, "reviews"), json=body)

    @Method
    def compare_images(self, slug: str) -> Operation[ComparisonJobsView]:
        """Compare entries from before images were compared with those of other teams."""
        return call("POST", path_of("competitions", slug, "image-comparisons"))
