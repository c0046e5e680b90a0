"""``kennel admin competition``, ``allowlist``, ``file``, ``reference`` and ``role``: competitions and their people."""

import json
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from kennel_client.admin import TRACKS, CompetitionRole, ImportOptions, ReferenceRole
from kennel_client.api import open_file, segment
from kennel_client.cli.admin.jobs import paused_answer
from kennel_client.cli.connection import say
from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.output import AdminClient, Answer, Listing, Reason, Slug, View, answers, columns
from kennel_client.errors import Refused, Unreadable

app, allowlist, files, references, roles = (typer.Typer() for _ in range(5))
GIGABYTE = 10**9
Provisional = Annotated[
    bool, typer.Option("--provisional", help="The provisional board, against which teams may appeal.")
]
After = Annotated[
    str, typer.Option(help="The version that `checklist` showed: refused if the board is another one by now.")
]
Told = Annotated[str, typer.Option(help="Told to everybody who competes.")]
Handle = Annotated[str, typer.Argument(help="The person.")]
ALLOWLIST_COLUMNS = columns("who", "invited by=invited_by", "invited at=invited_at")
NOBODY = "Nobody is invited."


@answers(app)
def create(
    admin: AdminClient, file: Annotated[Path, typer.Argument(help="TOML: the fields of POST /competitions.")]
) -> Answer:
    """Create a competition from a TOML file, as a draft."""
    spec = _fields_in(file)
    return competition_answer(admin.competitions.create(spec))


@answers(app)
def update(
    admin: AdminClient,
    competition: Slug,
    file: Annotated[Path, typer.Argument(help="TOML: the fields of PATCH /competitions/{slug}.")],
) -> Answer:
    """Change a competition by a TOML file: a draft in everything."""
    changes = _fields_in(file)
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


@answers(app)
def delete_draft(admin: AdminClient, competition: Slug) -> Answer:
    """Delete a competition that is a draft and that nobody has entered."""
    admin.competitions.delete_draft(competition)
    return Answer({"slug": competition}, f"{competition} is deleted.")


@answers(app)
def announce(
    admin: AdminClient, competition: Slug, title: str, text: Annotated[str, typer.Argument(help="Markdown.")]
) -> Answer:
    """Tell everybody who takes part something: on the page, in the feed, by notice, mail and webhook."""
    made = admin.announcements.announce(competition, title, text)
    return Answer(made, f"Announced at {made['created_at']}: {made['title']}")


@answers(app)
def checklist(admin: AdminClient, competition: Slug, provisional: Provisional = False) -> Answer:
    """Show what is open before the final board is published, or the provisional one; exit 1 if anything is."""
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


@answers(app)
def publish(
    admin: AdminClient,
    competition: Slug,
    reason: Told,
    override: Annotated[str, typer.Option(help="Why, though points are open; for the audit log.")] = "",
    provisional: Provisional = False,
    after: After = "",
) -> Answer:
    """Publish the final or the provisional board; refused with the open points unless --override says why."""
    final = not provisional
    seen = after or admin.publication.checklist(competition, final=final)["version"]
    published = admin.publication.publish(competition, reason, final=final, override=override or None, after=seen)
    return Answer(published, f"The {'provisional' if provisional else 'final'} board of {competition} is published.")


@answers(app)
def withdraw(
    admin: AdminClient, competition: Slug, reason: Told, provisional: Provisional = False, after: After = ""
) -> Answer:
    """Take the published board back."""
    final = not provisional
    seen = after or admin.publication.checklist(competition, final=final)["version"]
    withdrawn = admin.publication.withdraw(competition, reason, final=final, after=seen)
    return Answer(withdrawn, f"The board of {competition} is withdrawn.")


@answers(app)
def versions(admin: AdminClient, competition: Slug) -> Listing:
    """List when the boards were published and withdrawn, and why."""
    acts = admin.api.get(f"/competitions/{segment(competition)}/leaderboard/versions")["versions"]
    return Listing(acts, columns("at=created_at", "published", "final", "reason"), "No board was published.")


@answers(app)
def pause(admin: AdminClient, competition: Slug, reason: Reason = "") -> Listing:
    """Let no worker take jobs of a competition's entries. What runs goes on; places are kept."""
    return paused_answer(admin.jobs.pause(competition=competition, reason=reason))


@answers(app)
def resume(admin: AdminClient, competition: Slug, reason: Reason = "") -> Listing:
    """End a competition's pause; workers take its jobs within a sweep."""
    return paused_answer(admin.jobs.resume(competition=competition, reason=reason))


@answers(app)
def storage(admin: AdminClient, competition: Slug) -> Answer:
    """Show what the zips of a competition take in the store, and the teams that have most."""
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


@answers(app, "import")
def import_results(
    admin: AdminClient,
    file: Annotated[Path, typer.Argument(help="A table of results (CSV).")],
    competition: Annotated[str, typer.Option(help="Its slug; it is made if there is none.")],
    title: Annotated[str | None, typer.Option(help="Of a competition that is made.")] = None,
    public: Annotated[str, typer.Option(help="The extractor of the public numbers.")] = "inception_2015",
    private: Annotated[str, typer.Option(help="The extractor of the private numbers.")] = "nasnetalarge",
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
        "columns": dict(each.partition("=")[::2] for each in column) if column else None,
    }  # fmt: skip
    given = {name: value for name, value in options.items() if value is not None}
    report = admin.competitions.import_results(competition, file, cast(ImportOptions, given))
    text = (
        f"{report['rows']:,} rows: {report['added']:,} entries added, {report['known']:,} known before; "
        f"{report['labelled']:,} labelled, {report['disqualified']:,} disqualified."
    )
    return Answer(report, text)


@answers(allowlist, "list")
def list_allowlist(admin: AdminClient, competition: Slug) -> Listing:
    """List who is invited into a competition."""
    return Listing(admin.allowlist.all(competition), ALLOWLIST_COLUMNS, NOBODY)


@answers(allowlist)
def invite(
    admin: AdminClient, competition: Slug, who: Annotated[list[str], typer.Argument(help="Handles or mail addresses.")]
) -> Listing:
    """Invite people into a competition; lists all who are."""
    return Listing(admin.allowlist.invite(competition, who), ALLOWLIST_COLUMNS, NOBODY)


@answers(allowlist)
def remove(
    admin: AdminClient, competition: Slug, who: Annotated[str, typer.Argument(help="A handle or mail address.")]
) -> Answer:
    """Take an invitation into a competition back; what was entered stays."""
    admin.allowlist.uninvite(competition, who)
    return Answer({"who": who}, f"{who} is not invited to {competition} any more.")


@answers(files, "list")
def list_files(admin: AdminClient, competition: Slug) -> Listing:
    """List the files that participants may download."""
    offered = admin.data_files.all(competition)
    return Listing(offered, columns("name", "bytes", "sha256", "offered=offered_at"), "No file is offered.")


@answers(files, "offer")
def offer_file(
    admin: AdminClient,
    competition: Slug,
    file: Annotated[Path | None, typer.Argument(help="What participants may download.")] = None,
    train: Annotated[bool, typer.Option("--train", help="Offer the attached training images.")] = False,
    name: Annotated[str, typer.Option(help="Its name there. Default: the file's, or train.zip.")] = "",
) -> Answer:
    """Offer a file to the participants of a competition, in place of an earlier one of that name."""
    if (file is None) is not train:
        raise typer.BadParameter("Name a file, or --train for the training images.")
    name = name or (file.name if file is not None else "train.zip")
    if file is None:
        stored = admin.data_files.offer_training_images(competition, name)
    else:
        stored = admin.data_files.offer(competition, file, name)
    return Answer(stored, f"{name}: {stored['bytes']:,} bytes, SHA-256 {stored['sha256']}")


@answers(files, "withdraw")
def withdraw_file(
    admin: AdminClient, competition: Slug, name: Annotated[str, typer.Argument(help="The file's name there.")]
) -> Answer:
    """Offer a file no longer."""
    admin.data_files.withdraw(competition, name)
    return Answer({"name": name}, f"{name} is offered no longer.")


@answers(references)
def attach(
    admin: AdminClient,
    competition: Slug,
    train: Annotated[Path, typer.Option(help="Zip or folder: what participants may train on.")],
    held_out: Annotated[Path | None, typer.Option(help="Zip or folder: real, never published.")] = None,
    private_extra: Annotated[
        Path | None, typer.Option(help="Zip or folder: in the private track's reference only.")
    ] = None,
    public_features: Annotated[
        Path | None, typer.Option(help="Features (.npz) that the public track is measured against.")
    ] = None,
    private_features: Annotated[Path | None, typer.Option(help="The same for the private track.")] = None,
) -> Answer:
    """Attach reference images to a competition and prepare both tracks; returns when they are ready."""
    given: dict[ReferenceRole, Path | None] = {"train": train, "held_out": held_out, "private_extra": private_extra}
    given |= {"public_features": public_features, "private_features": private_features}
    _require_weights(admin, competition)
    for role, path in given.items():
        if path is not None:
            attached = admin.references.attach(competition, role, path)
            say(" ".join(filter(None, (f"{role}: {path} is attached.", attached.get("ignored")))))
    admin.references.prepare(competition, say=say)
    return competition_answer(admin.api.get(f"/competitions/{segment(competition)}"))


def _require_weights(admin: AdminClient, competition: str) -> None:
    """``Refused`` before anything is uploaded if no worker has the weights that the tracks need."""
    views = [admin.references.preparation(competition, track) for track in TRACKS]
    faults = list(dict.fromkeys(fault for view in views if (fault := view.get("missing_weights"))))
    if faults:
        title = "The references cannot be prepared yet, so nothing was uploaded."
        raise Refused(409, {"type": "urn:kennel:problem:no-worker-with-weights", "title": title, "faults": faults})


@answers(references, "show")
def show_references(admin: AdminClient, competition: Slug) -> Listing:
    """Show how far the references of both tracks are prepared."""
    tracks = [{"track": track, **admin.references.preparation(competition, track)} for track in TRACKS]
    return Listing(tracks, columns("track", "state", "images", "stage", "error"), "There are no tracks.")


@answers(roles, "list")
def list_roles(admin: AdminClient, competition: Slug) -> Listing:
    """List who organizes and reviews a competition, or is asked to."""
    people = admin.roles.all(competition)
    shown = columns("handle", "role", "offered by=offered_by", "offered at=offered_at", "accepted at=accepted_at")
    return Listing(people, shown, "Nobody has a role.")


@answers(roles, "offer")
def offer_role(
    admin: AdminClient,
    competition: Slug,
    handle: Handle,
    role: Annotated[CompetitionRole, typer.Argument(help="What they are asked to be.")],
) -> Answer:
    """Ask somebody to organize a competition or to review its entries; they have the role once they accept it."""
    return _role_answer(admin.roles.offer(competition, handle, role))


@answers(roles)
def end(admin: AdminClient, competition: Slug, handle: Handle) -> Answer:
    """End somebody's role in a competition, or take back its offer."""
    admin.roles.end(competition, handle)
    return Answer({"handle": handle}, f"{handle} has no role in {competition} any more.")


@answers(roles, "show")
def show_role(admin: AdminClient, competition: Slug) -> Answer:
    """Show your own role in a competition, or the one that you are offered."""
    return _role_answer(admin.roles.own(competition))


@answers(roles)
def accept(admin: AdminClient, competition: Slug) -> Answer:
    """Accept the role that you are offered: you can never enter that competition then."""
    return _role_answer(admin.roles.accept(competition))


@answers(roles)
def decline(admin: AdminClient, competition: Slug) -> Answer:
    """Decline the role that you are offered, or lay it down."""
    admin.roles.decline(competition)
    return Answer({"competition": competition}, f"You have no role in {competition}.")


def _role_answer(role: View) -> Answer:
    since = f"since {role['accepted_at']}" if role["accepted_at"] else f"asked at {role['offered_at']}"
    return Answer(role, f"{role['handle']}: {role['role']} of {role['competition']}, {since}")
