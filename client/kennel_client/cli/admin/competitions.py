"""``kennel admin competition``: setting competitions up, changing and publishing them."""

import json
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from kennel_client.api import open_file, segment
from kennel_client.cli.admin.queues import paused_answer
from kennel_client.cli.connection import open_admin, open_client
from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.options import Reason, Slug
from kennel_client.cli.output import Answer, Listing, View, answers, columns
from kennel_client.errors import Unreadable

app = typer.Typer(no_args_is_help=True, help="Competitions: create, change, announce, publish, pause.")
GIGABYTE = 10**9
Provisional = Annotated[
    bool, typer.Option("--provisional", help="The provisional board, against which teams may appeal.")
]
After = Annotated[
    str, typer.Option(help="The version that `checklist` showed: refused if the board is another one by now.")
]
Told = Annotated[str, typer.Option(help="Told to everybody who competes.")]


@app.command()
@answers
def create(file: Annotated[Path, typer.Argument(help="TOML: the fields of POST /competitions.")]) -> Answer:
    """Create a competition from a TOML file, as a draft."""
    spec = _fields_in(file)
    with open_admin() as admin:
        return competition_answer(admin.competitions.create(spec))


@app.command()
@answers
def update(
    competition: Slug, file: Annotated[Path, typer.Argument(help="TOML: the fields of PATCH /competitions/{slug}.")]
) -> Answer:
    """Change a competition by a TOML file: a draft in everything."""
    changes = _fields_in(file)
    with open_admin() as admin:
        return competition_answer(admin.competitions.change(competition, changes))


def _fields_in(file: Path) -> Any:
    """The fields of a TOML file as JSON values; ``Unreadable`` if it is not TOML."""
    try:
        with open_file(file, may_be_pipe=True) as toml:
            return json.loads(json.dumps(tomllib.loads(toml.read().decode("utf-8-sig")), default=_iso))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"{file} is not TOML: {error}.") from None


def _iso(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def competition_answer(competition: View) -> Answer:
    """A competition, and what it lacks before it can open."""
    missing = "; ".join(competition["missing"] or ())
    lacks = f"still missing: {missing}." if missing else "complete."
    return Answer(competition, f"{competition['slug']} is {competition['phase']}; {lacks}")


@app.command()
@answers
def delete_draft(competition: Slug) -> Answer:
    """Delete a competition that is a draft and that nobody has entered."""
    with open_admin() as admin:
        admin.competitions.delete_draft(competition)
    return Answer({"slug": competition}, f"{competition} is deleted.")


@app.command()
@answers
def announce(competition: Slug, title: str, text: Annotated[str, typer.Argument(help="Markdown.")]) -> Answer:
    """Tell everybody who takes part something: on the page, in the feed, by notice, mail and webhook."""
    with open_admin() as admin:
        made = admin.announcements.announce(competition, title, text)
    return Answer(made, f"Announced at {made['created_at']}: {made['title']}")


@app.command()
@answers
def checklist(competition: Slug, provisional: Provisional = False) -> Answer:
    """Show what is open before the final board is published, or the provisional one; exit 1 if anything is."""
    with open_admin() as admin:
        view = admin.publication.checklist(competition, final=not provisional)
    lines = [
        f"{'ok  ' if point['passed'] else format(point['count'], '4')} {point['title']}" for point in view["points"]
    ]
    zips = view["zips"]
    if zips["kept_days"] is not None:
        leaving = f"{zips['leaving']['zips']:,} entries' zips leave"
        lines.append(f"Then, {zips['kept_days']} days after publication, {leaving}.")
    lines.append(f"To publish this and nothing else: --after {view['version']}")
    if not view["ready"]:
        lines.append("There are open points.")
    return Answer(view, "\n".join(lines), ExitCode.DONE if view["ready"] else ExitCode.FAULTY)


@app.command()
@answers
def publish(
    competition: Slug,
    reason: Told,
    override: Annotated[str, typer.Option(help="Why, though points are open; for the audit log.")] = "",
    provisional: Provisional = False,
    after: After = "",
) -> Answer:
    """Publish the final or the provisional board; refused with the open points unless --override says why."""
    final = not provisional
    with open_admin() as admin:
        seen = after or admin.publication.checklist(competition, final=final)["version"]
        published = admin.publication.publish(competition, reason, final=final, override=override or None, after=seen)
    return Answer(published, f"The {'provisional' if provisional else 'final'} board of {competition} is published.")


@app.command()
@answers
def withdraw(competition: Slug, reason: Told, provisional: Provisional = False, after: After = "") -> Answer:
    """Take the published board back."""
    final = not provisional
    with open_admin() as admin:
        seen = after or admin.publication.checklist(competition, final=final)["version"]
        withdrawn = admin.publication.withdraw(competition, reason, final=final, after=seen)
    return Answer(withdrawn, f"The board of {competition} is withdrawn.")


@app.command()
@answers
def versions(competition: Slug) -> Listing:
    """List when the boards were published and withdrawn, and why."""
    with open_client() as client:
        acts = client.get(f"/competitions/{segment(competition)}/leaderboard/versions")["versions"]
    return Listing(acts, columns("at=created_at", "published", "final", "reason"), "No board was published.")


@app.command()
@answers
def pause(competition: Slug, reason: Reason = "") -> Listing:
    """Let no worker take jobs of a competition's entries. What runs goes on; places are kept."""
    with open_admin() as admin:
        return paused_answer(admin.jobs.pause(competition=competition, reason=reason))


@app.command()
@answers
def resume(competition: Slug, reason: Reason = "") -> Listing:
    """End a competition's pause; workers take its jobs within a sweep."""
    with open_admin() as admin:
        return paused_answer(admin.jobs.resume(competition=competition, reason=reason))


@app.command()
@answers
def storage(competition: Slug) -> Answer:
    """Show what the zips of a competition take in the store, and the teams that have most."""
    with open_admin() as admin:
        view = admin.competitions.storage(competition)
    lines = [
        f"stored    {_size(view['stored_bytes'])}",
        f"under way {_size(view['staged_bytes'])}",
        f"at most   {_size(view['max_bytes'])}, a team {_size(view['max_team_bytes'])}",
    ]
    lines += [f"{_size(each['stored_bytes'])}  {each['team']}" for each in view["largest_teams"]]
    return Answer(view, "\n".join(lines))


def _size(count: int | None) -> str:
    return f"{count / GIGABYTE:10.2f} GB" if count is not None else "no limit"


@app.command()
@answers
def compare_images(competition: Slug) -> Answer:
    """Compare entries from before images were compared with those of other teams."""
    with open_admin() as admin:
        queued = admin.reviews.compare_images(competition)
    return Answer(queued, f"{queued['queued']} to be compared.")


@app.command("import")
@answers
def import_results(
    file: Annotated[Path, typer.Argument(help="A table of results (CSV).")],
    competition: Annotated[str, typer.Option(help="Its slug; it is made if there is none.")],
    title: Annotated[str | None, typer.Option(help="Of a competition that is made.")] = None,
    public: Annotated[str, typer.Option(help="The network of the public numbers.")] = "inception_2015",
    private: Annotated[str, typer.Option(help="The network of the private numbers.")] = "nasnetalarge",
    opens_at: Annotated[str | None, typer.Option(help="2019-06-28T00:00:00Z")] = None,
    closes_at: Annotated[str | None, typer.Option(help="Now, if left out.")] = None,
    tau_public: Annotated[float | None, typer.Option(help="Left out: retune later.")] = None,
    tau_private: Annotated[float | None, typer.Option(help="Left out: retune later.")] = None,
    sealed_score: Annotated[float | None, typer.Option(help="What stands for a disqualified entry: 999999.")] = None,
    column: Annotated[
        list[str] | None, typer.Option(help="fid_public=FID, where a column is called otherwise.")
    ] = None,
) -> Answer:
    """Load a table of results of a competition held elsewhere; the same table again adds nothing."""
    options = {
        "title": title, "public_extractor": public, "private_extractor": private, "opens_at": opens_at,
        "closes_at": closes_at, "tau_public": tau_public, "tau_private": tau_private, "sealed_score": sealed_score,
        "column": column, "file_name": file.name,
    }  # fmt: skip
    params = {name: value for name, value in options.items() if value is not None}
    path = f"/competitions/{segment(competition)}/imports"
    with open_file(file) as table, open_client() as client:
        report = client.upload("POST", path, table, media="text/csv", **params)
    text = (
        f"{report['rows']:,} rows: {report['added']:,} entries added, {report['known']:,} known before; "
        f"{report['labelled']:,} labelled, {report['disqualified']:,} disqualified."
    )
    return Answer(report, text)
