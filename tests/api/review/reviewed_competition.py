"""A competition with several kinds of entries, and its reviewers."""

from dataclasses import dataclass
from typing import Any

from scorer.db.tables import Job
from tests.api.conftest import Service


@dataclass
class ReviewedCompetition:
    """A competition with its entries by kind. Requests act as its reviewers."""

    service: Service
    slug: str
    entries: dict[str, str]

    def queue(self, who: str, **params: Any) -> Any:
        """Return the review queue as a person sees it."""
        answer = self.service.call(who, "GET", f"/competitions/{self.slug}/review-queue", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def look(self, who: str, entry: str) -> Any:
        """Return an entry's review as a person sees it."""
        answer = self.service.call(who, "GET", f"/submissions/{self.entries[entry]}/review")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def review(self, who: str, entry: str, label: str, **body: Any) -> Any:
        path = f"/submissions/{self.entries[entry]}/reviews"
        return self.service.call(who, "POST", path, json={"label": label, **body})

    def notices(self, who: str) -> list[str]:
        """Return the subjects of a person's notices, newest first."""
        return [notice["subject"] for notice in self.service.notices(who)]


def fail_private(service: Service, entry: str) -> int:
    """Mark the private job of an entry as failed and return its id."""
    with service.context.sessions.begin() as session:
        (job,) = [
            waiting
            for waiting in session.query(Job).filter_by(queue="score", priority=1)
            if waiting.submission and waiting.submission.id == entry
        ]
        job.state = "failed"
        job.error = "the disk was full"
        job.attempts = 3
        job.finished_at = service.context.now()
        return job.id
