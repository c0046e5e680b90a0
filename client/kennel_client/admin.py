"""What organizers and admins do from Python, with either client: ``client.admin.thresholds.retune(...)``."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypedDict, get_args

from kennel_client import answers
from kennel_client.api import open_file, path_of, segment, send_file
from kennel_client.archive.zip_writing import zip_folder
from kennel_client.errors import Refused, naming
from kennel_client.methods import Api, Method, Methods, calls, lists
from kennel_client.names import ThresholdMethod, TrackKind
from kennel_client.steps import Download, LocalWork, Operation, all_pages, call, get
from kennel_client.waiting import ignore, wait_until

CampaignAct = Literal["pause", "resume", "cancel", "switch", "undo"]
CompetitionRole = Literal["organizer", "reviewer"]
ImpactList = Literal["penalised", "freed", "borderline", "moves", "medals", "prizes"]
ImpactRow = answers.PenaltyChange | answers.RankChange | answers.AwardChange
Intent = Literal["intended", "unintended", "unclear"]
Label = Literal["legitimate", "mgan", "sup", "ae", "aug", "other"]
QueueState = Literal["open", "waiting", "disputed", "unruled", "decided"]
ReferenceRole = Literal["train", "held_out", "private_extra", "public_features", "private_features"]
ReleasedImages = Literal["none", "ranked", "all"]
RulingKind = Literal["keep", "disqualify", "waive"]
TRACKS: tuple[TrackKind, ...] = get_args(TrackKind)
File = str | PathLike[str] | BinaryIO
"""A path, or a file that is open for reading bytes and can be sought in."""
UNDER_WAY = frozenset({"preparing", "measuring"})
"""States of campaigns and comparisons."""


@contextmanager
def opened(file: File) -> Iterator[BinaryIO]:
    """The file, which is closed at the end if it was a path; ``Unreadable`` if it cannot be opened."""
    with open_file(Path(file)) if isinstance(file, str | PathLike) else nullcontext(file) as content:
        yield content


class Accounts(Methods[Api]):
    """Accounts of the installation, for admins; invitations also for organizers."""

    @lists("/admin/accounts", "accounts")
    def all(self, search: str = "") -> list[answers.AccountSummary]:
        """Every account, oldest first; with ``search``, those that have it in their handle or name."""

    @calls("POST /admin/invitations")
    def invite(self, email: str | None = None) -> answers.InvitationView:
        """Make a link with which one person can sign up, and mail it if there is an address."""

    @calls("PUT /admin/accounts/{handle}/suspension", suspended=True)
    def suspend(self, handle: str, reason: str = "") -> answers.AccountView:
        """Stop an account from signing in; its sessions, tokens and webhooks end."""

    @calls("PUT /admin/accounts/{handle}/suspension", suspended=False)
    def reinstate(self, handle: str, reason: str = "") -> answers.AccountView:
        """Let a suspended account sign in again."""

    @calls("DELETE /admin/accounts/{handle}/credentials")
    def sign_out(self, handle: str) -> None:
        """End all sessions, tokens and webhooks of an account; its owner may sign in again."""


class Allowlist(Methods[Api]):
    """Who may enter a competition by invitation."""

    @lists("/competitions/{slug}/allowlist", "allowlist")
    def all(self, slug: str) -> list[answers.AllowlistEntryView]:
        """Everybody who is invited."""

    @Method
    def invite(self, slug: str, who: Sequence[str]) -> Operation[list[answers.AllowlistEntryView]]:
        """Invite people, by handle or mail address; the answer is everybody who is invited."""
        path = path_of("competitions", slug, "allowlist")
        yield from call("POST", path, json={"who": list(who)})
        return (yield from all_pages(path, "allowlist"))

    @calls("DELETE /competitions/{slug}/allowlist/{who}")
    def uninvite(self, slug: str, who: str) -> None:
        """Withdraw an invitation; existing entries are kept."""


class Announcements(Methods[Api]):
    """Announcements of a competition."""

    @lists("/competitions/{slug}/announcements", "announcements")
    def all(self, slug: str) -> list[answers.AnnouncementView]:
        """All announcements, newest first."""

    @calls("POST /competitions/{slug}/announcements")
    def announce(self, slug: str, title: str, text: str) -> answers.AnnouncementView:
        """Announce something (Markdown) to all participants: on the page, in the feed, by notice, mail and webhook."""


class AuditLog(Methods[Api]):
    """The audit log of a competition, or of the installation."""

    @Method
    def newest(
        self,
        slug: str | None = None,
        *,
        action: str | None = None,
        subject: str | None = None,
        actor: str | None = None,
        limit: int | None = 100,
    ) -> Operation[list[answers.Act]]:
        """The newest acts, newest first: of a competition, or for admins of all; only those of an action, a subject or
        an actor where these are given. ``limit`` None: all."""
        path = "/admin/audit" if slug is None else path_of("competitions", slug, "audit")
        return all_pages(path, "entries", limit=limit, action=action, subject=subject, actor=actor)


class Campaigns(Methods[Api]):
    """Rescoring campaigns of a competition: entries of a track are measured again, without changing a board."""

    @lists("/competitions/{slug}/rescoring", "campaigns")
    def all(self, slug: str) -> list[answers.CampaignView]:
        """All campaigns, newest first."""

    @calls("POST /competitions/{slug}/rescoring")
    def start(
        self,
        slug: str,
        track: TrackKind,
        *,
        reason: str,
        submissions: Sequence[str] | None = None,
        extractor: str | None = None,
        references: Mapping[str, str] = {},
    ) -> answers.CampaignView:
        """Measure entries again when no other job waits: all that are scored, or those with the given ids; with another
        extractor, or corrected references (role and SHA-256 of what ``references.attach(..., attach=False)`` stored).
        Boards stay as they are until the switch."""

    @calls("GET /competitions/{slug}/rescoring/{campaign}")
    def get(self, slug: str, campaign: int) -> answers.CampaignView:
        """A campaign as it is now."""

    @Method
    def wait(
        self, slug: str, campaign: int, *, see: Callable[[answers.CampaignView], object] = ignore
    ) -> Operation[answers.CampaignView]:
        """A campaign once it is prepared and measured, paused, or over; ``see`` is called with its states before."""
        path = path_of("competitions", slug, "rescoring", campaign)
        return wait_until(path, lambda campaign: campaign["state"] not in UNDER_WAY, see=see)

    @calls("GET /competitions/{slug}/rescoring/{campaign}/preview")
    def preview(self, slug: str, campaign: int, tau: float | None = None) -> answers.SwitchPreview:
        """Who would move if the campaign's measurements counted; changes nothing."""

    @calls("POST /competitions/{slug}/rescoring/{campaign}/decisions")
    def decide(
        self, slug: str, campaign: int, decision: CampaignAct, *, reason: str = "", tau: float | None = None
    ) -> answers.CampaignView:
        """Pause, resume or cancel a campaign, let its measurements count (``switch``, with another ``tau`` if one is
        given), or take that back (``undo``)."""


class ImportOptions(TypedDict, total=False):
    """Options of an import of results; the service has defaults for those that are left out. Times are ISO 8601."""

    title: str
    public_extractor: str
    private_extractor: str
    epsilon: float
    opens_at: str
    closes_at: str
    tau_public: float
    tau_private: float
    sealed_score: float
    columns: dict[str, str]
    """What a column is called in this table: ``{"fid_public": "FID"}``."""


class Competitions(Methods[Api]):
    """Competitions, as organizers set them up."""

    @Method
    def create(self, spec: answers.CompetitionSpec) -> Operation[answers.CompetitionView]:
        """Create a draft; ``missing`` in the answer says what it lacks before it can open."""
        return call("POST", "/competitions", json=spec)

    @Method
    def change(self, slug: str, changes: answers.CompetitionChanges) -> Operation[answers.CompetitionView]:
        """Change a competition: a draft in everything, an open one only in what harms no participant."""
        return call("PATCH", path_of("competitions", slug), json=changes)

    @calls("DELETE /competitions/{slug}")
    def delete_draft(self, slug: str) -> None:
        """Delete a draft without entries."""

    @calls("GET /competitions/{slug}/storage")
    def storage(self, slug: str) -> answers.StorageView:
        """What the zips of a competition take in the store, and the teams that have most."""

    @Method
    def import_results(
        self, slug: str, table: str | Path, options: ImportOptions | None = None
    ) -> Operation[answers.ImportView]:
        """Import a CSV of results of a competition held elsewhere; the same table again adds nothing."""
        params: dict[str, Any] = {**(options or {}), "file_name": Path(table).name}
        params["column"] = [f"{name}={called}" for name, called in params.pop("columns", {}).items()]
        with opened(table) as content:
            path = path_of("competitions", slug, "imports")
            report: answers.ImportView = yield from send_file("POST", path, content, media="text/csv", params=params)
        return report


class DataFiles(Methods[Api]):
    """Files that participants of a competition may download."""

    @lists("/competitions/{slug}/data", "files")
    def all(self, slug: str) -> list[answers.DataFileView]:
        """All files that are offered."""

    @Method
    def offer(self, slug: str, file: str | Path, name: str | None = None) -> Operation[answers.DataFileView]:
        """Offer a file, under its own name or another one, in place of an earlier one of that name."""
        with opened(file) as content:
            path = path_of("competitions", slug, "data", name or Path(file).name)
            offered: answers.DataFileView = yield from send_file("PUT", path, content)
        return offered

    @Method
    def offer_training_images(self, slug: str, name: str = "train.zip") -> Operation[answers.DataFileView]:
        """Offer the training images that are attached."""
        return call("PUT", path_of("competitions", slug, "data", name), params={"source": "train"})

    @calls("DELETE /competitions/{slug}/data/{name}")
    def withdraw(self, slug: str, name: str) -> None:
        """Stop offering a file."""


class Jobs(Methods[Api]):
    """Queues and pauses of the installation, for admins. A pause is that of a queue, a competition or a worker."""

    @calls("GET /admin/jobs")
    def unfinished(self) -> answers.UnfinishedJobs:
        """What waits, what runs, and what has failed and why."""

    @calls("POST /admin/jobs/requeue")
    def requeue(self, job: int | None = None) -> answers.RequeuedView:
        """Try a failed job again, or all that have failed."""

    @calls("POST /admin/jobs/pauses", paused=True)
    def pause(
        self,
        *,
        queue: str | None = None,
        competition: str | None = None,
        worker: str | None = None,
        reason: str = "",
    ) -> list[answers.ListedPause]:
        """Let a queue, a competition's entries or a worker take no more jobs; the answer is all pauses."""

    @calls("POST /admin/jobs/pauses", paused=False)
    def resume(
        self, *, queue: str | None = None, competition: str | None = None, worker: str | None = None, reason: str = ""
    ) -> list[answers.ListedPause]:
        """End a pause; the answer is all other pauses."""


class PrivateExtractor(Methods[Api]):
    """The extractor of the private track, compared with others and chosen."""

    @calls("GET /competitions/{slug}/private-extractor")
    def get(self, slug: str) -> answers.PrivateExtractorView:
        """The extractor, the progress of its scoring, and the newest comparison."""

    @calls("POST /competitions/{slug}/private-extractor/comparisons")
    def compare(self, slug: str, extractors: Sequence[str], *, early_labels: bool = False) -> answers.ComparisonStatus:
        """Start a comparison of extractors with the present one on labelled entries; with ``early_labels``, also on
        entries that have only an early label."""

    @Method
    def wait(
        self, slug: str, *, see: Callable[[answers.PrivateExtractorView], object] = ignore
    ) -> Operation[answers.PrivateExtractorView]:
        """What :meth:`get` returns, once the newest comparison has measured every entry; ``see`` is called with what it
        returns before."""
        return wait_until(path_of("competitions", slug, "private-extractor"), _is_compared, see=see)

    @calls("PUT /competitions/{slug}/private-extractor")
    def choose(
        self, slug: str, extractor: str, reason: str, *, tau: float | None = None
    ) -> answers.PrivateExtractorView:
        """Give the private track another extractor, which was compared before: every entry is scored again with it.
        Without ``tau`` it is half the distance of the held-out images."""


def _is_compared(extractor: answers.PrivateExtractorView) -> bool:
    compared = extractor["comparison"]["extractors"]
    return not any(other["state"] in UNDER_WAY for other in compared if not other["present"])


class Publication(Methods[Api]):
    """The publication of a competition's final board, or with ``final`` False of its provisional one. With ``after``,
    the ``version`` of the checklist that you have seen, an act is refused if the board has changed since."""

    @calls("GET /competitions/{slug}/publication")
    def checklist(self, slug: str, *, final: bool = True) -> answers.ChecklistView:
        """What is open before the publication."""

    @calls("POST /competitions/{slug}/publication", published=True)
    def publish(
        self, slug: str, reason: str, *, final: bool = True, override: str | None = None, after: str | None = None
    ) -> answers.PublicationView:
        """Publish the board; the reason is shown to all teams. Refused with the open points unless ``override`` gives a
        reason."""

    @calls("POST /competitions/{slug}/publication", published=False, override=None)
    def withdraw(
        self, slug: str, reason: str, *, final: bool = True, after: str | None = None
    ) -> answers.PublicationView:
        """Take the published board back."""

    @calls("POST /competitions/{slug}/publication/requeue")
    def requeue(self, slug: str) -> answers.RequeuedView:
        """Try failed jobs of the competition's entries again."""


class Ratings(Methods[Api]):
    """Studies of human ratings."""

    @lists("/competitions/{slug}/ratings", "studies")
    def all(self, slug: str) -> list[answers.StudyView]:
        """All studies, newest first."""

    @Method
    def start(self, slug: str, spec: answers.StudySpec) -> Operation[answers.StudyView]:
        """Begin a study: a worker cuts its images."""
        return call("POST", path_of("competitions", slug, "ratings"), json=spec)

    @calls("GET /competitions/{slug}/ratings/{study}")
    def get(self, slug: str, study: int) -> answers.StudyView:
        """A study: its progress, how far raters agree, and the mean of every entry."""

    @calls("POST /competitions/{slug}/ratings/{study}/raters")
    def invite(self, slug: str, study: int, name: str) -> answers.InvitedView:
        """Make a link with which one person rates without an account."""

    @calls("PUT /competitions/{slug}/ratings/{study}/ended")
    def end(self, slug: str, study: int) -> answers.StudyView:
        """Take no more ratings."""


class Rebuttals(Methods[Api]):
    """Appeals of teams against a disqualification or a penalty."""

    @lists("/competitions/{slug}/rebuttals", "rebuttals")
    def unanswered(self, slug: str) -> list[answers.RebuttalView]:
        """The rebuttals that wait for an answer."""

    @calls("POST /rebuttals/{rebuttal}/answer")
    def grant(self, rebuttal: int, ruling: Literal["keep", "waive"], answer: str) -> answers.AnswerView:
        """Grant a rebuttal with a new ruling."""

    @calls("POST /rebuttals/{rebuttal}/answer", ruling=None)
    def refuse(self, rebuttal: int, answer: str) -> answers.AnswerView:
        """Refuse a rebuttal."""


class References(Methods[Api]):
    """Reference sets of a competition by role, and preparing its tracks."""

    @Method
    def attach(
        self, slug: str, role: ReferenceRole, images: File, *, attach: bool = True
    ) -> Operation[answers.ReferenceView]:
        """Attach a zip of images, a folder of them or a numpy archive of features; without ``attach`` it is only
        stored, for a rescoring campaign."""
        ignored: str | None = None
        with ExitStack() as stack, naming(images):
            if isinstance(images, str | PathLike) and (folder := Path(images)).is_dir():
                content: BinaryIO = stack.enter_context(tempfile.TemporaryFile())
                ignored = yield LocalWork(lambda: zip_folder(folder, content))
            else:
                content = stack.enter_context(opened(images))
            path, params = path_of("competitions", slug, "references", role), {"attach": str(attach).lower()}
            attached: answers.ReferenceView = yield from send_file("PUT", path, content, params=params)
        return attached if ignored is None else {**attached, "ignored": ignored}

    @Method
    def prepare(
        self, slug: str, *, say: Callable[[str], None] = ignore, every: float | None = None
    ) -> Operation[dict[TrackKind, answers.PreparationView]]:
        """Prepare both tracks and wait until they are ready; ``say`` is called with a line for each stage, which is
        polled every ``every`` seconds. ``Refused`` if it fails."""
        for track in TRACKS:
            yield from call("POST", _preparation(slug, track))
        prepared: dict[TrackKind, answers.PreparationView] = {}
        for track in TRACKS:
            prepared[track] = yield from _prepared(slug, track, say, every=every)
            say(f"{track}: {prepared[track]['images']:,} reference images are ready.")
        return prepared

    @calls("GET /competitions/{slug}/tracks/{track}/preparation")
    def preparation(self, slug: str, track: TrackKind) -> answers.PreparationView:
        """The progress of a track's preparation."""


def _preparation(slug: str, track: TrackKind) -> str:
    return path_of("competitions", slug, "tracks", track, "preparation")


def _prepared(
    slug: str, track: TrackKind, say: Callable[[str], None], *, every: float | None
) -> Operation[answers.PreparationView]:
    last_stage = None

    def see(preparation: answers.PreparationView) -> None:
        nonlocal last_stage
        stage = preparation.get("stage") or preparation["state"]
        if stage != last_stage:
            say(f"{track}: {stage}")
            last_stage = stage

    ended: answers.PreparationView = yield from wait_until(
        _preparation(slug, track), lambda seen: seen["state"] in {"done", "failed"}, see=see, every=every
    )
    if ended["state"] == "failed":
        raise Refused(0, {"title": f"The {track} track could not be prepared: {ended.get('error')}"})
    return ended


class Releases(Methods[Api]):
    """Data releases of a competition."""

    @lists("/competitions/{slug}/releases", "releases")
    def all(self, slug: str) -> list[answers.ReleaseView]:
        """All releases, newest first."""

    @calls("POST /competitions/{slug}/releases")
    def start(self, slug: str, images: ReleasedImages = "none", *, new_names: bool = False) -> answers.ReleaseView:
        """Begin a release without images, with those of ranked entries or with all; ``new_names`` draws new
        pseudonyms."""

    @calls("GET /competitions/{slug}/releases/{release}")
    def get(self, slug: str, release: str) -> answers.ReleaseView:
        """A release as it is now."""

    @Method
    def wait(
        self, slug: str, release: str, *, see: Callable[[answers.ReleaseView], object] = ignore
    ) -> Operation[answers.ReleaseView]:
        """A release once it is made; ``see`` is called with its states before. ``Refused`` if it failed."""
        path = path_of("competitions", slug, "releases", release)
        made: answers.ReleaseView = yield from wait_until(
            path, lambda release: release["state"] not in {"waiting", "running"}, see=see
        )
        if made["state"] != "done":
            raise Refused(0, {"title": f"The release could not be made: {made['error'] or made['state']}"})
        return made

    @Method
    def download(self, slug: str, release: str, folder: str | PathLike[str]) -> Operation[list[Path]]:
        """Write the files of a release into a folder, each checked against its SHA-256; returns their paths."""
        path = path_of("competitions", slug, "releases", release)
        made: answers.ReleaseView = yield from get(path)
        paths = []
        for file in made["files"]:
            to = _inside(Path(folder), file["name"])
            names = "/".join(map(segment, file["name"].split("/")))
            yield Download(f"{path}/files/{names}", to, file["sha256"])
            paths.append(to)
        return paths

    @calls("PUT /competitions/{slug}/releases/{release}/handed-out", shown=True)
    def hand_out(self, slug: str, release: str) -> answers.ReleaseView:
        """Make a release public while the final board is published."""

    @calls("PUT /competitions/{slug}/releases/{release}/handed-out", shown=False)
    def take_back(self, slug: str, release: str) -> answers.ReleaseView:
        """Make a release private again."""


def _inside(folder: Path, name: str) -> Path:
    """The path of a file in the folder; ``Refused`` for a name that leads out of it."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise Refused(0, {"title": f"The service names a file outside the folder: {name!a}."})
    return path


class Reviews(Methods[Api]):
    """The review queue: flagged entries, their evidence, and reviews of them."""

    @Method
    def queue(
        self, slug: str, states: Sequence[QueueState] | None = None, limit: int | None = None
    ) -> Operation[list[answers.FlaggedView]]:
        """The flagged entries with their reasons, most decisive first."""
        path = path_of("competitions", slug, "review-queue")
        return all_pages(path, "entries", limit=limit, state=None if states is None else list(states))

    @calls("GET /competitions/{slug}/review-queue")
    def progress(self, slug: str) -> answers.ReviewQueueView:
        """The progress of the review and the agreement of reviewers, with the first page of the queue."""

    @Method
    def claim_next(self, slug: str, skip: int = 0) -> Operation[answers.NextView]:
        """Claim the most decisive entry that you have not reviewed: for some minutes, other reviewers get others."""
        return call("POST", path_of("competitions", slug, "review-queue", "next"), params={"skip": skip})

    @calls("GET /submissions/{submission}/review")
    def get(self, submission: str) -> answers.ReviewEntryView:
        """An entry with all its evidence."""

    @calls("GET /submissions/{submission}/evidence/{track}")
    def evidence(self, submission: str, track: TrackKind) -> answers.EvidenceView:
        """The results of the tests for copying of an entry on a track."""

    @lists("/competitions/{slug}/twins", "twins")
    def twins(self, slug: str) -> list[answers.TwinsView]:
        """Entries of several teams with the same zip or the same images."""

    @calls("POST /submissions/{submission}/reviews")
    def review(
        self, submission: str, label: Label, intent: Intent | None = None, *, note: str = ""
    ) -> answers.OpinionsView:
        """Review an entry. Other reviews are shown once you have given yours."""


class Roles(Methods[Api]):
    """Organizers and reviewers of a competition."""

    @lists("/competitions/{slug}/roles", "roles")
    def all(self, slug: str) -> list[answers.RoleView]:
        """Everybody who has a role or is offered one."""

    @calls("PUT /competitions/{slug}/roles/{handle}")
    def offer(self, slug: str, handle: str, role: CompetitionRole) -> answers.RoleView:
        """Offer somebody a role, which they have once they accept it."""

    @calls("DELETE /competitions/{slug}/roles/{handle}")
    def end(self, slug: str, handle: str) -> None:
        """End somebody's role, or take back its offer."""

    @calls("GET /competitions/{slug}/role")
    def own(self, slug: str) -> answers.RoleView:
        """Your role, or the one that you are offered; ``Refused`` (404) if there is none."""

    @calls("PUT /competitions/{slug}/role")
    def accept(self, slug: str) -> answers.RoleView:
        """Accept the role that you are offered: you can never enter that competition then."""

    @calls("DELETE /competitions/{slug}/role")
    def decline(self, slug: str) -> None:
        """Decline the role that you are offered, or give yours up."""


class Rulings(Methods[Api]):
    """Rulings on entries."""

    @calls("GET /submissions/{submission}/rulings")
    def of(self, submission: str) -> answers.CaseView:
        """The rulings on an entry and the rebuttals against them, newest first."""

    @lists("/submissions/{submission}/rulings/stakes", "stakes")
    def stakes(self, submission: str) -> list[answers.RulingImpact]:
        """What another ruling on an entry would change on the boards."""

    @calls("POST /submissions/{submission}/rulings")
    def rule(
        self, submission: str, kind: RulingKind, reason: str, *, memorising: bool | None = None
    ) -> answers.RulingView:
        """Keep or disqualify an entry, or waive its penalty; the reason is shown to the team."""

    @calls("POST /competitions/{slug}/teams/{team}/rulings")
    def rule_team(self, slug: str, team: int, kind: RulingKind, *, reason: str) -> list[answers.RulingView]:
        """Make the same ruling on all scored entries of a team."""


class ShownTracks(Methods[Api]):
    """Numbers that the board shows in addition to the ranked ones."""

    @lists("/competitions/{slug}/shown-tracks", "shown_tracks")
    def all(self, slug: str) -> list[answers.ShownTrackView]:
        """All shown tracks with their progress, oldest first."""

    @calls("POST /competitions/{slug}/shown-tracks")
    def add(
        self,
        slug: str,
        name: str,
        metric: str,
        *,
        extractor: str,
        reference: TrackKind = "public",
        visibility: Literal["everybody", "organizers"] = "organizers",
        constants: Mapping[str, float] = {},
    ) -> answers.ShownTrackView:
        """Show a metric in an extractor's feature space, against the references of a track, under a name: to everybody
        immediately, or to organizers until the final board is published. All scored entries are measured when no other
        job waits."""

    @calls("DELETE /competitions/{slug}/shown-tracks/{name}")
    def remove(self, slug: str, name: str) -> None:
        """Remove a shown track."""

    @calls("POST /competitions/{slug}/shown-tracks/{name}/measurements")
    def measure_missing(self, slug: str, name: str) -> answers.MissingMeasurementsView:
        """Measure the entries that lack the number because a measurement, or the references' preparation, failed."""


class Submissions(Methods[Api]):
    """Entries, as organizers handle them."""

    @calls("PUT /competitions/{slug}/submissions/{submission}/label")
    def label(self, slug: str, submission: str, label: Label, *, note: str = "") -> answers.LabelView:
        """Decide the label of an entry."""

    @calls("PUT /submissions/{submission}/early-label")
    def label_early(self, submission: str, label: Label) -> answers.EarlyLabelView:
        """Give an entry an early label, which decides nothing: for comparing extractors."""

    @Method
    def ask_for_code(self, submission: str, until: datetime, text: str = "") -> Operation[answers.CodeRequestView]:
        """Ask a team for the code of an entry, which it may attach until then: a time with its zone."""
        body = {"until": until.isoformat(), "text": text}
        return call("PUT", path_of("submissions", submission, "code-request"), json=body)

    @Method
    def download_code(self, submission: str, to: str | PathLike[str]) -> Operation[Path]:
        """Write the attached code of an entry to a file, a zip or a notebook; returns its path."""
        yield Download(path_of("submissions", submission, "code"), Path(to))
        return Path(to)

    @Method
    def submit_benchmark(
        self, slug: str, file: File, name: str, *, file_name: str | None = None, note: str = ""
    ) -> Operation[answers.AcceptedView]:
        """Submit a benchmark: an entry that the board shows under ``name`` and never ranks."""
        params = {"benchmark": name, "file_name": file_name or f"{name}.zip", "note": note}
        with opened(file) as content:
            path = path_of("competitions", slug, "submissions")
            accepted: answers.AcceptedView = yield from send_file("POST", path, content, params=params)
        return accepted


class Teams(Methods[Api]):
    """Teams of a competition, as organizers see them, and messages to them."""

    @lists("/competitions/{slug}/teams", "teams")
    def all(self, slug: str, search: str | None = None) -> list[answers.ListedTeam]:
        """Every team with its members; with ``search``, those that have it in their name or a member's."""

    @lists("/competitions/{slug}/teams/{team}/messages", "messages")
    def messages(self, slug: str, team: int) -> list[answers.MessageView]:
        """What organizers have written to a team."""

    @calls("POST /competitions/{slug}/teams/{team}/messages")
    def write(self, slug: str, team: int, text: str) -> answers.MessageView:
        """Write to a team; the message stays on record."""


class Thresholds(Methods[Api]):
    """Thresholds (tau) of a track. ``manual`` is the method of a given ``tau``."""

    @lists("/competitions/{slug}/tracks/{track}/thresholds", "thresholds")
    def history(self, slug: str, track: TrackKind) -> list[answers.ThresholdView]:
        """The choices of tau, newest first, and what each changed."""

    @lists("/competitions/{slug}/tracks/{track}/thresholds/choices", "choices")
    def choices(self, slug: str, track: TrackKind, alpha: float = 0.0) -> list[answers.Option]:
        """What every automatic method would choose now, or what it lacks; ``alpha`` is the share of legitimate entries
        that may be penalised."""

    @calls("GET /competitions/{slug}/tracks/{track}/thresholds/impact")
    def preview(
        self,
        slug: str,
        track: TrackKind,
        method: ThresholdMethod = "margin",
        *,
        tau: float | None = None,
        alpha: float = 0.0,
    ) -> answers.RetuningView:
        """What a choice would change; changes nothing. Its lists have their first rows; ``impact`` has all."""

    @lists("/competitions/{slug}/tracks/{track}/thresholds/impact/{name}", "entries")
    def impact(
        self,
        slug: str,
        track: TrackKind,
        name: ImpactList,
        *,
        method: ThresholdMethod = "margin",
        tau: float | None = None,
        alpha: float = 0.0,
        limit: int | None = None,
    ) -> list[ImpactRow]:
        """One list of a preview, whole or its first ``limit`` rows."""

    @lists("/competitions/{slug}/tracks/{track}/thresholds/{threshold}/changes", "entries")
    def changes(self, slug: str, track: TrackKind, threshold: int, *, limit: int | None = None) -> list[ImpactRow]:
        """What an earlier choice changed."""

    @calls("POST /competitions/{slug}/tracks/{track}/thresholds")
    def retune(
        self,
        slug: str,
        track: TrackKind,
        method: ThresholdMethod = "margin",
        *,
        tau: float | None = None,
        alpha: float = 0.0,
        reason: str = "",
        after: int | None = None,
    ) -> answers.RetuningView:
        """Choose a track's tau; the answer says what changes. With ``after``, the id of the choice that you have seen,
        it is refused if another one was made since."""

    @calls("POST /competitions/{slug}/tracks/{track}/thresholds/undo")
    def undo(self, slug: str, track: TrackKind, reason: str, *, after: int | None = None) -> answers.RetuningView:
        """Take the newest choice back."""


class Admin(Methods[Api]):
    """Organizers' and admins' methods, by noun: ``client.admin.thresholds.retune("dogs", "public")``. Answers are
    dictionaries whose types are in ``kennel_client.answers``; errors are those of the client."""

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.accounts = Accounts(api)
        self.allowlist = Allowlist(api)
        self.announcements = Announcements(api)
        self.audit_log = AuditLog(api)
        self.campaigns = Campaigns(api)
        self.competitions = Competitions(api)
        self.data_files = DataFiles(api)
        self.jobs = Jobs(api)
        self.private_extractor = PrivateExtractor(api)
        self.publication = Publication(api)
        self.ratings = Ratings(api)
        self.rebuttals = Rebuttals(api)
        self.references = References(api)
        self.releases = Releases(api)
        self.reviews = Reviews(api)
        self.roles = Roles(api)
        self.rulings = Rulings(api)
        self.shown_tracks = ShownTracks(api)
        self.submissions = Submissions(api)
        self.teams = Teams(api)
        self.thresholds = Thresholds(api)
