"""``kennel admin``: labels, thresholds, the private track's extractor, rescoring campaigns."""

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from kennel_client.cli.admin.connection import Url, connected_organizer
from kennel_client.errors import Refused
from kennel_client.references import attach

app = typer.Typer()
CORRECTED = typer.Option(
    "--references", help="Corrected references: ROLE=PATH, a zip or folder for train, held_out or private_extra."
)


@app.command()
def label(
    slug: str,
    submission: str,
    name: str,
    note: str = "",
    coarse: Annotated[bool, typer.Option("--coarse", help="An early guess, which decides nothing.")] = False,
    url: Url = "",
) -> None:
    """Store the decided label of an entry: legitimate, mgan, sup, ae, aug or other."""
    with connected_organizer(url) as client:
        if coarse:
            client.put(f"/submissions/{submission}/coarse-label", {"label": name})
            print(f"{submission} is guessed to be {name}; nothing is decided.")
            return
        client.put(f"/competitions/{slug}/submissions/{submission}/label", {"label": name, "note": note})
        print(f"{submission} is labelled {name}.")


@app.command()
def retune(
    slug: str,
    track: str,
    method: str = "margin",
    tau: Annotated[float | None, typer.Option(help="For the method manual.")] = None,
    alpha: float = 0.0,
    reason: str = "",
    preview: Annotated[bool, typer.Option("--preview", help="Say what would change and change nothing.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take the newest choice back instead.")] = False,
    url: Url = "",
) -> None:
    """Choose a track's tau, or take the newest choice back; prints what that does, as JSON."""
    path = f"/competitions/{slug}/tracks/{track}/thresholds"
    body: dict[str, Any] = {"method": method, "tau": tau, "alpha": alpha, "reason": reason, "preview": preview}
    if undo:
        path = f"{path}/undo"
        body = {"reason": reason}
    with connected_organizer(url) as client:
        json.dump(client.post(path, body), sys.stdout, indent=2)
    print()


@app.command()
def compare(
    slug: str,
    extractors: Annotated[list[str], typer.Argument(help="Such as efficientnet_lite2.")],
    coarse: Annotated[bool, typer.Option("--coarse", help="Take early guesses where no label is decided.")] = False,
    url: Url = "",
) -> None:
    """Compare extractors with the private track's on labelled entries; returns when every entry is measured, and prints
    how well each tells them apart, as JSON."""
    with connected_organizer(url) as client:
        path = f"/competitions/{slug}/network"
        comparison = client.post(f"{path}/comparisons", {"extractors": extractors, "coarse": coarse})
        last_printed = None
        while _is_running(comparison):
            line = "; ".join(
                f"{each['extractor']}: {each['state']} {each['measured']}" for each in comparison["spaces"]
            )
            if line != last_printed:
                print(line, file=sys.stderr)
                last_printed = line
            time.sleep(1.0)
            comparison = client.get(path)["comparison"]
    json.dump(comparison, sys.stdout, indent=2)
    print()


def _is_running(comparison: dict[str, Any]) -> bool:
    return any(space["state"] in {"preparing", "measuring"} for space in comparison["spaces"] if not space["present"])


@app.command()
def network(
    slug: str,
    extractor: str,
    reason: Annotated[str, typer.Option(help="Kept in the audit log.")],
    tau: Annotated[float | None, typer.Option(help="Default: half the distance of the held-out images.")] = None,
    url: Url = "",
) -> None:
    """Give the private track another extractor, which was compared before: every entry is scored anew on it."""
    with connected_organizer(url) as client:
        chosen = client.put(f"/competitions/{slug}/network", {"extractor": extractor, "reason": reason, "tau": tau})
    print(f"The private track has {chosen['extractor']}; {chosen['waiting']:,} entries are to be scored.")


@app.command()
def rescore(
    slug: str,
    track: str,
    reason: Annotated[str, typer.Option(help="Kept with the campaign.")],
    submission: Annotated[list[str] | None, typer.Option(help="An entry's id; default: all that are scored.")] = None,
    extractor: Annotated[str | None, typer.Option(help="Another network, for all entries.")] = None,
    references: Annotated[list[str] | None, CORRECTED] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Return when everything is measured.")] = False,
    url: Url = "",
) -> None:
    """Measure entries of a track anew, when nothing else waits; prints the campaign as JSON. Boards stay as they are
    until `campaign --switch`."""
    with connected_organizer(url) as client:
        corrected = {}
        for each in references or ():
            role, _, path = each.partition("=")
            corrected[role] = attach(client, slug, role, Path(path), attach=False)
        body = {
            "track": track,
            "reason": reason,
            "submissions": submission or None,
            "extractor": extractor,
            "references": corrected,
        }
        campaign = client.post(f"/competitions/{slug}/rescoring", body)
        while wait and campaign["state"] in {"preparing", "measuring"}:
            print(f"{campaign['state']}: {campaign['done']:,} done, {campaign['waiting']:,} to go", file=sys.stderr)
            time.sleep(1.0)
            campaign = client.get(f"/competitions/{slug}/rescoring/{campaign['id']}")
    _print(campaign)


@app.command()
def campaigns(slug: str, url: Url = "") -> None:
    """List the rescoring campaigns of a competition, as JSON."""
    with connected_organizer(url) as client:
        _print(client.get_list(f"/competitions/{slug}/rescoring", "campaigns"))


@app.command()
def campaign(
    slug: str,
    number: int,
    pause: Annotated[bool, typer.Option("--pause", help="Take no more of its jobs.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on, with the entries that it lacks.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="End it; what it has measured is kept.")] = False,
    switch: Annotated[bool, typer.Option("--switch", help="Let its measurements count.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take the switch back.")] = False,
    preview: Annotated[bool, typer.Option("--preview", help="Say who would move, and change nothing.")] = False,
    tau: Annotated[float | None, typer.Option(help="The threshold to switch with.")] = None,
    reason: str = "",
    url: Url = "",
) -> None:
    """Show a rescoring campaign, preview its switch, or decide about it; prints the answer as JSON."""
    wanted = {"pause": pause, "resume": resume, "cancel": cancel, "switch": switch, "undo": undo, "preview": preview}
    chosen = [name for name, is_wanted in wanted.items() if is_wanted]
    if len(chosen) > 1:
        raise Refused(0, {"title": f"Choose one of {', '.join(f'--{each}' for each in chosen)}."})
    path = f"/competitions/{slug}/rescoring/{number}"
    with connected_organizer(url) as client:
        if not chosen:
            _print(client.get(path))
        elif preview:
            _print(client.get(f"{path}/preview", **({} if tau is None else {"tau": tau})))
        else:
            _print(client.post(f"{path}/decisions", {"decision": chosen[0], "reason": reason, "tau": tau}))


def _print(answer: Any) -> None:
    json.dump(answer, sys.stdout, indent=2)
    print()
