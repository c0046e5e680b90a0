"""``kennel admin``: pausing and resuming queues and competitions, draining workers."""

from typing import Annotated, Any

import typer

from kennel_client.cli.admin.connection import Url, connected_organizer

app = typer.Typer()
Queue = Annotated[str | None, typer.Option(help="All jobs of a queue.")]
Competition = Annotated[str | None, typer.Option(help="The jobs of a competition's entries, by its slug.")]
Reason = Annotated[str, typer.Option(help="For the audit log and other admins.")]


@app.command()
def pause(
    queue: Queue = None,
    competition: Competition = None,
    reason: Reason = "",
    url: Url = "",
) -> None:
    """Let no worker take jobs of a queue or of a competition's entries. What runs goes on; places are kept."""
    _set_paused(url, {"queue": queue, "competition": competition, "reason": reason})


@app.command()
def resume(
    queue: Queue = None,
    competition: Competition = None,
    reason: Reason = "",
    url: Url = "",
) -> None:
    """End a pause; workers take its jobs within a sweep."""
    _set_paused(url, {"queue": queue, "competition": competition, "reason": reason, "paused": False})


@app.command()
def drain(
    worker: Annotated[str, typer.Argument(help="A machine, or a process as `machine:pid`; `*` for all.")],
    end: Annotated[bool, typer.Option("--end", help="Let it take jobs again.")] = False,
    reason: Reason = "",
    url: Url = "",
) -> None:
    """Let a worker end its job and take no other, also after a restart. `kennel admin work` shows which run one."""
    _set_paused(url, {"worker": worker, "reason": reason, "paused": not end})


def _set_paused(url: str, wish: dict[str, Any]) -> None:
    with connected_organizer(url) as client:
        pauses = client.post("/admin/work/pauses", wish)
    for each in pauses:
        print(f"paused: {pause_text(each)}")
    if not pauses:
        print("Nothing is paused.")


def pause_text(pause: dict[str, Any]) -> str:
    """A pause in a line: what, since when, by whom, why."""
    subject = next(f"{kind} {pause[kind]}" for kind in ("queue", "competition", "worker") if pause[kind] is not None)
    author = f" by {pause['author']}" if pause["author"] else ""
    reason = f": {pause['reason']}" if pause["reason"] else ""
    return f"{subject} since {pause['created_at']}{author}{reason}"
