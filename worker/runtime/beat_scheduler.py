"""Beat's scheduler: a clock that is set back stops no periodic task."""

from typing import Any

from celery.beat import PersistentScheduler


class Scheduler(PersistentScheduler):  # type: ignore[misc]  # Celery has no types
    """A persistent scheduler for which a task that ran in the future ran now. Celery's own would send none until the
    clock has reached that moment again."""

    def tick(self, *arguments: Any, **options: Any) -> float:
        """Send the task that is due, if there is one; the seconds to wait."""
        for entry in self.schedule.values():
            now = entry.default_now()
            if entry.last_run_at > now:
                entry.last_run_at = now
                self._heap = None  # it is ordered by the former clock; the base class builds another
        return float(super().tick(*arguments, **options))
