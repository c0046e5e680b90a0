"""``kennel admin``: failed jobs, comparing images, publication of the final board, data releases."""

import hashlib
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from kennel_client.api import ApiClient, segment
from kennel_client.cli.admin.connection import Url, connected_organizer
from kennel_client.cli.admin.pauses import pause_text
from kennel_client.errors import Refused

app = typer.Typer()
POLL_SECONDS = 0.5
READ_TIMEOUT_SECONDS = 120.0


@app.command()
def requeue(
    job: Annotated[int | None, typer.Argument(help="The job; without it, all that have failed.")] = None,
    competition: Annotated[str, typer.Option(help="Only the failed work of this competition's private track.")] = "",
    url: Url = "",
) -> None:
    """Try failed jobs again, or take a running job from its worker."""
    with connected_organizer(url) as client:
        if competition:
            again = client.post(f"/competitions/{competition}/publication/requeue")
        else:
            again = client.post("/admin/work/requeue", {"job": job})
    print(f"{again['requeued']} to be tried again.")


@app.command()
def work(url: Url = "") -> None:
    """Show what waits, what runs, and what has failed and why."""
    with connected_organizer(url) as client:
        backlog = client.get("/admin/work")
    for queue in backlog["queues"]:
        since = f", the oldest since {queue['oldest_due_at']}" if queue["oldest_due_at"] else ""
        print(f"{queue['queue']}: {queue['waiting']} waiting{since}; {queue['running']} running")
    for state in ("running", "failed"):
        for job in backlog[state]:
            print(f"{state}: {_job_text(job)}")
    for pause in backlog["pauses"]:
        print(f"paused: {pause_text(pause)}")
    if not any(backlog.values()):
        print("Nothing waits, nothing runs, nothing has failed.")


def _job_text(job: dict[str, Any]) -> str:
    subject = " ".join(str(job[name]) for name in ("competition", "track", "submission_id") if job[name])
    state = job["error"] or (f"{job['stage']} {100 * (job['fraction'] or 0):.0f} %" if job["stage"] else "")
    return f"job {job['id']} {job['queue']} {subject} (attempt {job['attempts']}): {state}"


@app.command()
def compare_images(slug: str, url: Url = "") -> None:
    """Compare entries from before images were compared with those of other teams."""
    with connected_organizer(url) as client:
        queued = client.post(f"/competitions/{segment(slug)}/image-comparisons")["queued"]
    print(f"{queued} to be compared.")


@app.command()
def publish(
    slug: str,
    reason: Annotated[str, typer.Option(help="Told to everybody who competes.")],
    override: Annotated[str, typer.Option(help="Why, though points are open; for the audit log.")] = "",
    provisional: Annotated[
        bool, typer.Option("--provisional", help="The provisional board, against which teams may appeal.")
    ] = False,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take the published board back.")] = False,
    after: Annotated[
        str, typer.Option(help="The version that `checklist` showed: refused if the board is another one by now.")
    ] = "",
    url: Url = "",
) -> None:
    """Publish the final or the provisional board, or withdraw it; refused with the open points unless --override says
    why."""
    path = f"/competitions/{slug}/publication"
    final = not provisional
    with connected_organizer(url) as client:
        seen = after or client.get(path, final=final)["version"]
        act = {"published": not withdraw, "final": final, "reason": reason}
        client.post(path, act | {"override": override or None, "after": seen})
    if withdraw:
        print(f"The board of {slug} is withdrawn.")
    else:
        print(f"The {'provisional' if provisional else 'final'} board of {slug} is published.")


@app.command()
def checklist(
    slug: str,
    provisional: Annotated[bool, typer.Option("--provisional", help="Before the provisional board.")] = False,
    url: Url = "",
) -> None:
    """Show what is open before the final board is published, or the provisional one; exit 1 if anything is."""
    with connected_organizer(url) as client:
        view = client.get(f"/competitions/{slug}/publication", final=not provisional)
    for point in view["points"]:
        print("ok  " if point["passed"] else f"{point['count']:4}", point["title"])
    zips = view["zips"]
    if zips["kept_days"] is not None:
        print(f"Then, {zips['kept_days']} days after publication, {zips['leaving']['zips']:,} entries' zips leave.")
    print(f"To publish this and nothing else: --after {view['version']}")
    if not view["ready"]:
        raise Refused(0, {"title": "There are open points."})


@app.command()
def release(
    slug: str,
    images: Annotated[str, typer.Option(help="Whose images: none, ranked or all.")] = "none",
    to: Annotated[Path | None, typer.Option(help="Save its files in this folder.")] = None,
    hand_out: Annotated[bool, typer.Option("--hand-out", help="Let everybody have it.")] = False,
    url: Url = "",
) -> None:
    """Make a data release and wait for it."""
    path = f"/competitions/{slug}/releases"
    with connected_organizer(url) as client:
        view = _wait_until_finished(client, path, client.post(path, {"images": images}))
        print(f"Release {view['id']}: {len(view['files'])} files, manifest {view['sha256']}.")
        if to is not None:
            _save(client, f"{path}/{view['id']}/files", view["files"], to)
        if hand_out:
            client.put(f"{path}/{view['id']}/handed-out", {"shown": True})
            print("Everybody may have it while the final board is published.")


def _wait_until_finished(client: ApiClient, path: str, release: dict[str, Any]) -> dict[str, Any]:
    last_printed = None
    while release["state"] in {"waiting", "running"}:
        stage = release["stage"] or release["state"]
        if stage != last_printed:
            print(stage)
            last_printed = stage
        time.sleep(POLL_SECONDS)
        release = client.get(f"{path}/{release['id']}")
    if release["state"] != "done":
        raise Refused(0, {"title": f"The release could not be made: {release['error']}"})
    return release


def _save(client: ApiClient, path: str, files: list[dict[str, Any]], folder: Path) -> None:
    for each in files:
        target = folder / each["name"]
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with (
            client.stream(f"{path}/{each['name']}", headers={}, silence=READ_TIMEOUT_SECONDS) as answer,
            target.open("wb") as file,
        ):
            for chunk in answer.iter_bytes():
                digest.update(chunk)
                file.write(chunk)
        if digest.hexdigest() != each["sha256"]:
            target.unlink()
            raise Refused(0, {"title": f"{each['name']} did not arrive as it was sent; please try again."})
        print(target)
