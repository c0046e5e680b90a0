"""``kennel admin competition``, ``allowlist``, ``file``, ``reference`` and ``role``: competitions and their people."""

import json
import tomllib
from operator import methodcaller
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from kennel_client.admin import TRACKS, CompetitionRole, ImportOptions, ReferenceRole
from kennel_client.api import open_file, segment
from kennel_client.cli.admin.jobs import paused_answer
from kennel_client.cli.connection import say
from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.formatting import format_time
from kennel_client.cli.output import AdminClient, Answer, Listing, Reason, Slug, View, answers, columns
from kennel_client.errors import Refused, Unreadable

app, allowlist, files, references, roles = (typer.Typer() for _ in range(5))
GIGABYTE = 10**9
Provisional = Annotated[bool, typer.Option("--provisional", help="Use the provisional board instead of the final one.")]
After = Annotated[str, typer.Option(help="The version that `checklist` printed. Fails if the board has changed since.")]
PublicReason = Annotated[str, typer.Option(help="Reason (shown to all participants).")]
Handle = Annotated[str, typer.Argument(help="The person's handle.")]
ALLOWLIST_COLUMNS = columns("who", "invited by=invited_by", "invited at=invited_at")
NOBODY = "Nobody has been invited yet."


@answers(app)
def create(
    admin: AdminClient, file: Annotated[Path, typer.Argument(help="TOML file with the fields of POST /competitions.")]
) -> Answer:
    """Create a competition from a TOML file, as a draft."""
    return competition_answer(admin.competitions.create(_fields_in(file)))


@answers(app)
def update(
    admin: AdminClient,
    competition: Slug,
    file: Annotated[Path, typer.Argument(help="TOML file with the fields of PATCH /competitions/{slug}.")],
) -> Answer:
    """Change a competition's fields to the values in a TOML file. In a draft, you can change all fields."""
    return competition_answer(admin.competitions.change(competition, _fields_in(file)))


def _fields_in(file: Path) -> Any:
    """The fields of a TOML file as JSON values; raises ``Unreadable`` if it is not TOML."""
    try:
        with open_file(file, may_be_pipe=True) as toml:
            return json.loads(
                json.dumps(tomllib.loads(toml.read().decode("utf-8-sig")), default=methodcaller("isoformat"))
            )
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"{file} is not TOML: {error}.") from None


def competition_answer(competition: View) -> Answer:
    """A competition, and what it lacks before it can open."""
    missing = "; ".join(competition["missing"] or ())
    lacks = f"setup incomplete: {missing}." if missing else "setup complete."
    return Answer(competition, f"{competition['slug']} is {competition['phase']}; {lacks}")


@answers(app)
def delete_draft(admin: AdminClient, competition: Slug) -> Answer:
    """Delete a draft competition without submissions."""
    admin.competitions.delete_draft(competition)
    return Answer({"slug": competition}, f"Competition {competition} deleted.")


@answers(app)
def announce(
    admin: AdminClient,
    competition: Slug,
    title: Annotated[str, typer.Argument(help="The announcement's title.")],
    text: Annotated[str, typer.Argument(help="The announcement, in Markdown.")],
) -> Answer:
    """Publish an announcement on the competition's page and in its feed, and send it by notice, mail and webhook."""
    made = admin.announcements.announce(competition, title, text)
    return Answer(made, f"Announced at {format_time(made['created_at'])}: {made['title']}")


@answers(app)
def checklist(admin: AdminClient, competition: Slug, provisional: Provisional = False) -> Answer:
    """Show the open items before the final or provisional board is published. If there are any, exit with status 1."""
    view = admin.publication.checklist(competition, final=not provisional)
    lines = [
        f"{'ok  ' if point['passed'] else format(point['count'], '4')} {point['title']}" for point in view["points"]
    ]
    zips = view["zips"]
    if zips["kept_days"] is not None:
        leaving = f"the zips of {zips['leaving']['zips']:,} submissions are deleted"
        lines.append(f"{zips['kept_days']} days after publication, {leaving}.")
    lines.append(f"To publish exactly this version: --after {view['version']}")
    if not view["ready"]:
        lines.append("There are open items.")
    return Answer(view, "\n".join(lines), ExitCode.DONE if view["ready"] else ExitCode.FAULTY)


@answers(app)
def publish(
    admin: AdminClient,
    competition: Slug,
    reason: PublicReason,
    override: Annotated[str, typer.Option(help="Reason to publish despite open items (for the audit log).")] = "",
    provisional: Provisional = False,
    after: After = "",
) -> Answer:
    """Publish the final or provisional board. Fails while there are open items, unless you give a reason with
    --override.
    """
    final = not provisional
    seen = after or admin.publication.checklist(competition, final=final)["version"]
    published = admin.publication.publish(competition, reason, final=final, override=override or None, after=seen)
    return Answer(published, f"The {'provisional' if provisional else 'final'} board of {competition} is published.")


@answers(app)
def withdraw(
    admin: AdminClient, competition: Slug, reason: PublicReason, provisional: Provisional = False, after: After = ""
) -> Answer:
    """Withdraw the published board."""
    final = not provisional
    seen = after or admin.publication.checklist(competition, final=final)["version"]
    withdrawn = admin.publication.withdraw(competition, reason, final=final, after=seen)
    return Answer(withdrawn, f"The board of {competition} is withdrawn.")


@answers(app)
def versions(admin: AdminClient, competition: Slug) -> Listing:
    """List when and why boards were published and withdrawn."""
    acts = admin.api.get(f"/competitions/{segment(competition)}/leaderboard/versions")["versions"]
    return Listing(acts, columns("at=created_at", "published", "final", "reason"), "No board has been published.")


@answers(app)
def pause(admin: AdminClient, competition: Slug, reason: Reason = "") -> Listing:
    """Pause a competition: workers start no more of its jobs. Running jobs continue, and queue positions are kept."""
    return paused_answer(admin.jobs.pause(competition=competition, reason=reason))


@answers(app)
def resume(admin: AdminClient, competition: Slug, reason: Reason = "") -> Listing:
    """Resume a competition. Workers start its jobs again within one sweep interval."""
    return paused_answer(admin.jobs.resume(competition=competition, reason=reason))


@answers(app)
def storage(admin: AdminClient, competition: Slug) -> Answer:
    """Show how much storage a competition's zips use, and which teams use the most."""
    view = admin.competitions.storage(competition)
    lines = [
        f"stored      {_size(view['stored_bytes'])}",
        f"in progress {_size(view['staged_bytes'])}",
        f"limit       {_size(view['max_bytes'])}, per team {_size(view['max_team_bytes'])}",
    ]
    lines += [f"{_size(row['stored_bytes'])}  {row['team']}" for row in view["largest_teams"]]
    return Answer(view, "\n".join(lines))


def _size(count: int | None) -> str:
    return f"{count / GIGABYTE:10.2f} GB" if count is not None else "none"


@answers(app, "import")
def import_results(
    admin: AdminClient,
    file: Annotated[Path, typer.Argument(help="The table of results (CSV).")],
    competition: Annotated[str, typer.Option(help="Slug of the competition, which is created if it does not exist.")],
    title: Annotated[str | None, typer.Option(help="Title of a new competition.")] = None,
    public: Annotated[str, typer.Option(help="Extractor of the public track.")] = "inception_2015",
    private: Annotated[str, typer.Option(help="Extractor of the private track.")] = "nasnetalarge",
    opens_at: Annotated[str | None, typer.Option(help="When it opened, such as 2019-06-28T00:00:00Z.")] = None,
    closes_at: Annotated[str | None, typer.Option(help="When it closed. Default: now.")] = None,
    tau_public: Annotated[float | None, typer.Option(help="Tau of the public track. Default: none yet.")] = None,
    tau_private: Annotated[float | None, typer.Option(help="Tau of the private track. Default: none yet.")] = None,
    sealed_score: Annotated[
        float | None, typer.Option(help="The score that the table gives disqualified submissions, such as 999999.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="The header of a column that has another name in this table, as fid_public=FID. Repeatable."),
    ] = None,
) -> Answer:
    """Import the results of a competition held elsewhere. Importing the same table again adds nothing."""
    options = {
        "title": title, "public_extractor": public, "private_extractor": private, "opens_at": opens_at,
        "closes_at": closes_at, "tau_public": tau_public, "tau_private": tau_private, "sealed_score": sealed_score,
        "columns": dict(mapping.partition("=")[::2] for mapping in column) if column else None,
    }  # fmt: skip
    given = {name: value for name, value in options.items() if value is not None}
    report = admin.competitions.import_results(competition, file, cast(ImportOptions, given))
    text = (
        f"{report['rows']:,} rows: {report['added']:,} submissions added, {report['known']:,} already imported; "
        f"{report['labelled']:,} labelled, {report['disqualified']:,} disqualified."
    )
    return Answer(report, text)


@answers(allowlist, "list")
def list_allowlist(admin: AdminClient, competition: Slug) -> Listing:
    """List the people invited to a competition."""
    return Listing(admin.allowlist.all(competition), ALLOWLIST_COLUMNS, NOBODY)


@answers(allowlist)
def invite(
    admin: AdminClient, competition: Slug, who: Annotated[list[str], typer.Argument(help="Handles or email addresses.")]
) -> Listing:
    """Invite people to a competition, and list everybody who is invited."""
    return Listing(admin.allowlist.invite(competition, who), ALLOWLIST_COLUMNS, NOBODY)


@answers(allowlist)
def remove(
    admin: AdminClient,
    competition: Slug,
    who: Annotated[str, typer.Argument(help="The handle or email address that was invited.")],
) -> Answer:
    """Withdraw an invitation to a competition. Existing submissions remain."""
    admin.allowlist.uninvite(competition, who)
    return Answer({"who": who}, f"{who} is no longer invited to {competition}.")


@answers(files, "list")
def list_files(admin: AdminClient, competition: Slug) -> Listing:
    """List the files that participants can download."""
    offered = admin.data_files.all(competition)
    return Listing(offered, columns("name", "bytes", "sha256", "offered=offered_at"), "No files are offered yet.")


@answers(files, "offer")
def offer_file(
    admin: AdminClient,
    competition: Slug,
    file: Annotated[Path | None, typer.Argument(help="The file that participants can download.")] = None,
    train: Annotated[bool, typer.Option("--train", help="Offer the attached training images.")] = False,
    name: Annotated[str, typer.Option(help="Name to offer the file under. Default: FILE's name, or train.zip.")] = "",
) -> Answer:
    """Offer a file to the participants of a competition. It replaces an earlier file of the same name."""
    if (file is None) is not train:
        raise typer.BadParameter("Give either a file, or --train for the training images.")
    if file is None:
        stored = admin.data_files.offer_training_images(competition, name or "train.zip")
    else:
        stored = admin.data_files.offer(competition, file, name)
    return Answer(stored, f"{stored['name']}: {stored['bytes']:,} bytes, SHA-256 {stored['sha256']}")


@answers(files, "withdraw")
def withdraw_file(
    admin: AdminClient, competition: Slug, name: Annotated[str, typer.Argument(help="Name of the offered file.")]
) -> Answer:
    """Stop offering a file to the participants."""
    admin.data_files.withdraw(competition, name)
    return Answer({"name": name}, f"{name} is no longer offered.")


@answers(references)
def attach(
    admin: AdminClient,
    competition: Slug,
    train: Annotated[Path, typer.Option(help="Zip or folder of images that participants train on.")],
    held_out: Annotated[Path | None, typer.Option(help="Zip or folder of real images that remain unpublished.")] = None,
    private_extra: Annotated[
        Path | None, typer.Option(help="Zip or folder of additional images for the private track's reference set.")
    ] = None,
    public_features: Annotated[Path | None, typer.Option(help="Features (.npz) of the public reference set.")] = None,
    private_features: Annotated[Path | None, typer.Option(help="Features (.npz) of the private reference set.")] = None,
) -> Answer:
    """Attach reference images to a competition, prepare both tracks, and wait until they are ready."""
    given: dict[ReferenceRole, Path | None] = {"train": train, "held_out": held_out, "private_extra": private_extra}
    given |= {"public_features": public_features, "private_features": private_features}
    _require_weights(admin, competition)
    for role, path in given.items():
        if path is not None:
            attached = admin.references.attach(competition, role, path)
            say(" ".join(filter(None, (f"{role}: {path} attached.", attached.get("ignored")))))
    admin.references.prepare(competition, say=say)
    return competition_answer(admin.api.get(f"/competitions/{segment(competition)}"))


def _require_weights(admin: AdminClient, competition: str) -> None:
    """Raise ``Refused`` before any upload if no worker has the weights that the tracks need."""
    views = [admin.references.preparation(competition, track) for track in TRACKS]
    faults = list(dict.fromkeys(fault for view in views if (fault := view.get("missing_weights"))))
    if faults:
        title = "The references cannot be prepared yet, so nothing was uploaded."
        raise Refused(409, {"type": "urn:kennel:problem:no-worker-with-weights", "title": title, "faults": faults})


@answers(references, "show")
def show_references(admin: AdminClient, competition: Slug) -> Listing:
    """Show the progress of preparing both tracks."""
    tracks = [{"track": track, **admin.references.preparation(competition, track)} for track in TRACKS]
    return Listing(tracks, columns("track", "state", "images", "stage", "error"), "There are no tracks.")


@answers(roles, "list")
def list_roles(admin: AdminClient, competition: Slug) -> Listing:
    """List the organizers and reviewers of a competition, including open offers."""
    people = admin.roles.all(competition)
    shown = columns("handle", "role", "offered by=offered_by", "offered at=offered_at", "accepted at=accepted_at")
    return Listing(people, shown, "Nobody has a role yet.")


@answers(roles, "offer")
def offer_role(
    admin: AdminClient,
    competition: Slug,
    handle: Handle,
    role: Annotated[CompetitionRole, typer.Argument(help="The role to offer.")],
) -> Answer:
    """Offer somebody the role of organizer or reviewer. They get it when they accept the offer."""
    return _role_answer(admin.roles.offer(competition, handle, role))


@answers(roles)
def end(admin: AdminClient, competition: Slug, handle: Handle) -> Answer:
    """End somebody's role in a competition, or withdraw the offer."""
    admin.roles.end(competition, handle)
    return Answer({"handle": handle}, f"{handle} no longer has a role in {competition}.")


@answers(roles, "show")
def show_role(admin: AdminClient, competition: Slug) -> Answer:
    """Show your role in a competition, or the role offered to you."""
    return _role_answer(admin.roles.own(competition))


@answers(roles)
def accept(admin: AdminClient, competition: Slug) -> Answer:
    """Accept the role offered to you. After that, you can never enter the competition."""
    return _role_answer(admin.roles.accept(competition))


@answers(roles)
def decline(admin: AdminClient, competition: Slug) -> Answer:
    """Decline the role offered to you, or give up your role."""
    admin.roles.decline(competition)
    return Answer({"competition": competition}, f"You have no role in {competition}.")


def _role_answer(role: View) -> Answer:
    since, at = ("since", role["accepted_at"]) if role["accepted_at"] else ("offered at", role["offered_at"])
    return Answer(role, f"{role['handle']}: {role['role']} of {role['competition']}, {since} {format_time(at)}")
