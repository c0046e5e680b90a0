"""A competition with entries of every kind, and people who review it."""

from dataclasses import dataclass
from typing import Any

from scorer.db.tables import Job
from tests.api.conftest import Service


@dataclass
class ReviewedCompetition:
    """A competition with entries of every kind, and people who review it."""

    service: Service
    slug: str
    entries: dict[str, str]

    def queue(self, who: str, **params: Any) -> Any:
        """The review queue as a person sees it."""
        answer = self.service.call(who, "GET", f"/competitions/{self.slug}/review-queue", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def look(self, who: str, entry: str) -> Any:
        """An entry's review page."""
        answer = self.service.call(who, "GET", f"/submissions/{self.entries[entry]}/review")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def review(self, who: str, entry: str, label: str, **body: Any) -> Any:
        """The answer to a review."""
        path = f"/submissions/{self.entries[entry]}/reviews"
        return self.service.call(who, "POST", path, json={"label": label, **body})

    def notices(self, who: str) -> list[str]:
        """A person's notices, newest first."""
        return [each["subject"] for each in self.service.notices(who)]


def fail_private(service: Service, entry: str) -> int:
    """Let the private job of an entry end as failed; its id."""
    with service.context.sessions.begin() as session:
        (job,) = [
            each
            for each in session.query(Job).filter_by(queue="score", priority=1)
            if each.submission and each.submission.id == entry
        ]
        job.state = "failed"
        job.error = "the disk was full"
        job.attempts = 3
        job.finished_at = service.context.now()
        return job.id
