"""Beat's scheduler: periodic tasks continue if the clock is set back."""

from typing import Any

from celery.beat import PersistentScheduler


class Scheduler(PersistentScheduler):  # type: ignore[misc]  # Celery has no types
    """A persistent scheduler that treats a last run in the future as a run now. Celery's own would send nothing until
    the clock has reached that moment again.
    """

    def tick(self, *arguments: Any, **options: Any) -> float:
        """Send the task that is due, if any; returns the seconds to wait."""
        for entry in self.schedule.values():
            now = entry.default_now()
            if entry.last_run_at > now:
                entry.last_run_at = now
                self._heap = None  # ordered by the previous clock; the base class builds a new one
        return float(super().tick(*arguments, **options))
