"""What a worker says of itself when it is asked through the broker: its version and its queues."""

from typing import Any

from celery.worker.control import inspect_command

import migrations
from scorer.product_version import product_version

COMMAND = "kennel_report"


@inspect_command(name=COMMAND)
def report(state: Any, **_: Any) -> dict[str, Any]:
    """The version of this worker's code, the newest migration that it knows, and the queues that it takes messages
    from. Answered by the process that receives messages, so also while a job runs."""
    queues = sorted(queue.name for queue in state.consumer.task_consumer.queues)
    return {"version": product_version(), "migration": migrations.newest_revision(), "queues": queues}
