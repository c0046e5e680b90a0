"""Queues and pauses of the installation, for admins."""

from kennel_client.answers.shared import RequeuedView
from kennel_client.answers.work import BacklogView, PauseView
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Operation, call, get


class Jobs(Methods[Api]):
    """What workers do. A pause is that of a queue, a competition or a worker."""

    @Method
    def backlog(self) -> Operation[BacklogView]:
        """What waits, what runs, and what has failed and why."""
        return get("/admin/work")

    @Method
    def requeue(self, job: int | None = None) -> Operation[RequeuedView]:
        """Let a failed job be tried again, or all that have failed."""
        return call("POST", "/admin/work/requeue", json={"job": job})

    @Method
    def pause(
        self,
        *,
        queue: str | None = None,
        competition: str | None = None,
        worker: str | None = None,
        reason: str = "",
    ) -> Operation[list[PauseView]]:
        """Let a queue, a competition's entries or a worker take no more jobs; the answer is all pauses that hold."""
        return _set_paused(paused=True, queue=queue, competition=competition, worker=worker, reason=reason)

    @Method
    def resume(
        self, *, queue: str | None = None, competition: str | None = None, worker: str | None = None, reason: str = ""
    ) -> Operation[list[PauseView]]:
        """Take a pause back; the answer is all pauses that hold."""
        return _set_paused(paused=False, queue=queue, competition=competition, worker=worker, reason=reason)


def _set_paused(**body: object) -> Operation[list[PauseView]]:
    return call("POST", "/admin/work/pauses", json=body)
