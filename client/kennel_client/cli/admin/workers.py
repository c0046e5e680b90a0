"""``kennel admin worker``: draining workers before their machine is serviced."""

from typing import Annotated

import typer

from kennel_client.cli.admin.queues import paused_answer
from kennel_client.cli.connection import open_admin
from kennel_client.cli.options import Reason
from kennel_client.cli.output import Listing, answers

app = typer.Typer(no_args_is_help=True, help="Workers: drain, resume.")
Worker = Annotated[str, typer.Argument(help="A machine, or a process as `machine:pid`; `*` for all.")]


@app.command()
@answers
def drain(worker: Worker, reason: Reason = "") -> Listing:
    """Let a worker end its job and take no other, also after a restart. `kennel admin queue show` shows which run
    one."""
    with open_admin() as admin:
        return paused_answer(admin.jobs.pause(worker=worker, reason=reason))


@app.command()
@answers
def resume(worker: Worker, reason: Reason = "") -> Listing:
    """Let a drained worker take jobs again."""
    with open_admin() as admin:
        return paused_answer(admin.jobs.resume(worker=worker, reason=reason))
