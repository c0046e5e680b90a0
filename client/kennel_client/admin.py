"""Methods for organizers and admins, with either client: ``client.admin.thresholds.retune(...)``."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypedDict, Unpack, get_args

from kennel_client import answers
from kennel_client.api import build_path, open_file, segment, send_file
from kennel_client.archive.zip_writing import zip_folder
from kennel_client.errors import Refused, naming
from kennel_client.methods import Api, Method, Methods, calls, lists
from kennel_client.names import ThresholdMethod, TrackKind
from kennel_client.resumable import DeclaredLatent
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
"""A path, or a seekable file opened for reading bytes."""
UNDER_WAY = frozenset({"preparing", "measuring"})
"""Unfinished states of campaigns and comparisons."""


@contextmanager
def opened(file: File) -> Iterator[BinaryIO]:
    """Open a path and close it at the end; pass an open file through. Raises ``Unreadable`` if it cannot be opened."""
    with open_file(Path(file)) if isinstance(file, str | PathLike) else nullcontext(file) as content:
        yield content


class Accounts(Methods[Api]):
    """Accounts of the installation, for admins; invitations also for organizers."""

    @lists("/admin/accounts", "accounts")
    def all(self, search: str = "") -> list[answers.AccountSummary]:
        """All accounts, oldest first; with ``search``, those with this text in their handle or name."""

    @calls("POST /admin/invitations")
    def invite(self, email: str | None = None) -> answers.InvitationView:
        """Create a link that lets one person sign up, and mail it to ``email`` if that is given."""

    @calls("PUT /admin/accounts/{handle}/suspension", suspended=True)
    def suspend(self, handle: str, reason: str = "") -> answers.AccountView:
        """Stop an account from signing in, and end its sessions, tokens and webhooks."""

    @calls("PUT /admin/accounts/{handle}/suspension", suspended=False)
    def reinstate(self, handle: str, reason: str = "") -> answers.AccountView:
        """Let a suspended account sign in again."""

    @calls("DELETE /admin/accounts/{handle}/credentials")
    def sign_out(self, handle: str) -> None:
        """End all sessions, tokens and webhooks of an account. Its owner can sign in again."""


class Allowlist(Methods[Api]):
    """The allowlist of an invitation-only competition."""

    @lists("/competitions/{slug}/allowlist", "allowlist")
    def all(self, slug: str) -> list[answers.AllowlistEntryView]:
        """All people who are invited."""

    @Method
    def invite(self, slug: str, who: Sequence[str]) -> Operation[list[answers.AllowlistEntryView]]:
        """Invite people by handle or email address; returns everybody who is invited."""
        path = build_path("competitions", slug, "allowlist")
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
        """Send an announcement (Markdown) to all participants, by notice, mail and webhook, and show it on the page."""


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
        """The newest actions, newest first, in a competition or, for admins, in all. ``action``, ``subject`` and
        ``actor`` filter them. ``limit`` None: all.
        """
        path = "/admin/audit" if slug is None else build_path("competitions", slug, "audit")
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
        """Measure all scored entries, or those with the given IDs, again when no other jobs are waiting. Optionally use
        another extractor, or corrected references: role and SHA-256 of what ``references.attach(..., attach=False)``
        stored. Boards don't change until the switch.
        """

    @calls("GET /competitions/{slug}/rescoring/{campaign}")
    def get(self, slug: str, campaign: int) -> answers.CampaignView:
        """The current state of a campaign."""

    @Method
    def wait(
        self, slug: str, campaign: int, *, see: Callable[[answers.CampaignView], object] = ignore
    ) -> Operation[answers.CampaignView]:
        """Wait until a campaign is measured, paused or over; ``see`` gets its states before that."""
        path = build_path("competitions", slug, "rescoring", campaign)
        return wait_until(path, lambda campaign: campaign["state"] not in UNDER_WAY, see=see)

    @calls("GET /competitions/{slug}/rescoring/{campaign}/preview")
    def preview(self, slug: str, campaign: int, tau: float | None = None) -> answers.SwitchPreview:
        """Which ranks the campaign's measurements would change."""

    @calls("POST /competitions/{slug}/rescoring/{campaign}/decisions")
    def decide(
        self, slug: str, campaign: int, decision: CampaignAct, *, reason: str = "", tau: float | None = None
    ) -> answers.CampaignView:
        """Pause, resume or cancel a campaign, apply its measurements (``switch``, optionally with another ``tau``), or
        ``undo`` that.
        """


class ImportOptions(TypedDict, total=False):
    """Options of an import of results; the service has defaults for omitted options. Times are ISO 8601."""

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
    """Names of columns in this table: ``{"fid_public": "FID"}``."""


class Competitions(Methods[Api]):
    """Methods for setting up competitions."""

    @Method
    def create(self, spec: answers.CompetitionSpec) -> Operation[answers.CompetitionView]:
        """Create a draft; ``missing`` in the response lists what it lacks before it can open."""
        return call("POST", "/competitions", json=spec)

    @Method
    def change(self, slug: str, changes: answers.CompetitionChanges) -> Operation[answers.CompetitionView]:
        """Change a competition: all fields of a draft; in an open one, only changes that harm no participant."""
        return call("PATCH", build_path("competitions", slug), json=changes)

    @calls("DELETE /competitions/{slug}")
    def delete_draft(self, slug: str) -> None:
        """Delete a draft without entries."""

    @calls("GET /competitions/{slug}/storage")
    def storage(self, slug: str) -> answers.StorageView:
        """How much storage a competition's zips use, and which teams use the most."""

    @Method
    def import_results(
        self, slug: str, table: str | Path, options: ImportOptions | None = None
    ) -> Operation[answers.ImportView]:
        """Import a CSV of results from a competition held elsewhere. Importing the same table again adds nothing."""
        params: dict[str, Any] = {**(options or {}), "file_name": Path(table).name}
        params["column"] = [f"{name}={called}" for name, called in params.pop("columns", {}).items()]
        with opened(table) as content:
            path = build_path("competitions", slug, "imports")
            report: answers.ImportView = yield from send_file("POST", path, content, media="text/csv", params=params)
        return report


class DataFiles(Methods[Api]):
    """Files that participants of a competition can download."""

    @lists("/competitions/{slug}/data", "files")
    def all(self, slug: str) -> list[answers.DataFileView]:
        """All offered files."""

    @Method
    def offer(self, slug: str, file: str | Path, name: str | None = None) -> Operation[answers.DataFileView]:
        """Offer a file under its own or another name; replaces an earlier file with that name."""
        with opened(file) as content:
            path = build_path("competitions", slug, "data", name or Path(file).name)
            offered: answers.DataFileView = yield from send_file("PUT", path, content)
        return offered

    @Method
    def offer_training_images(self, slug: str, name: str = "train.zip") -> Operation[answers.DataFileView]:
        """Offer the attached training images."""
        return call("PUT", build_path("competitions", slug, "data", name), params={"source": "train"})

    @calls("DELETE /competitions/{slug}/data/{name}")
    def withdraw(self, slug: str, name: str) -> None:
        """Stop offering a file."""


class Jobs(Methods[Api]):
    """Queues and pauses of the installation, for admins. You can pause a queue, a competition or a worker."""

    @calls("GET /admin/jobs")
    def unfinished(self) -> answers.UnfinishedJobs:
        """Waiting, running and failed jobs, with the reasons for failures."""

    @calls("POST /admin/jobs/requeue")
    def requeue(self, job: int | None = None) -> answers.RequeuedView:
        """Restart a failed job, a running job, or all failed jobs."""

    @calls("POST /admin/jobs/pauses", paused=True)
    def pause(
        self,
        *,
        queue: str | None = None,
        competition: str | None = None,
        worker: str | None = None,
        reason: str = "",
    ) -> list[answers.ListedPause]:
        """Pause a queue, a competition or a worker: no more of its jobs start. Returns all pauses."""

    @calls("POST /admin/jobs/pauses", paused=False)
    def resume(
        self, *, queue: str | None = None, competition: str | None = None, worker: str | None = None, reason: str = ""
    ) -> list[answers.ListedPause]:
        """End a pause; returns all remaining pauses."""


class PrivateExtractor(Methods[Api]):
    """The extractor of the private track, compared with others and chosen."""

    @calls("GET /competitions/{slug}/private-extractor")
    def get(self, slug: str) -> answers.PrivateExtractorView:
        """The extractor, the progress of its scoring, and the newest comparison."""

    @calls("POST /competitions/{slug}/private-extractor/comparisons")
    def compare(self, slug: str, extractors: Sequence[str], *, early_labels: bool = False) -> answers.ComparisonStatus:
        """Start a comparison of extractors with the current one on labelled entries; with ``early_labels``, also on
        entries that have only an early label.
        """

    @Method
    def wait(
        self, slug: str, *, see: Callable[[answers.PrivateExtractorView], object] = ignore
    ) -> Operation[answers.PrivateExtractorView]:
        """Wait until the newest comparison has measured all entries, and return the result of :meth:`get`; ``see`` gets
        the results before that.
        """
        return wait_until(build_path("competitions", slug, "private-extractor"), _is_compared, see=see)

    @calls("PUT /competitions/{slug}/private-extractor")
    def choose(
        self, slug: str, extractor: str, reason: str, *, tau: float | None = None
    ) -> answers.PrivateExtractorView:
        """Change the private track's extractor to one that was compared, and score all entries again. The default
        ``tau`` is half the memorization distance of the held-out images.
        """


def _is_compared(extractor: answers.PrivateExtractorView) -> bool:
    compared = extractor["comparison"]["extractors"]
    return not any(other["state"] in UNDER_WAY for other in compared if not other["present"])


class Publication(Methods[Api]):
    """The publication of a competition's final board, or of its provisional one with ``final=False``. Pass the
    checklist's ``version`` as ``after`` to fail if the board has changed since.
    """

    @calls("GET /competitions/{slug}/publication")
    def checklist(self, slug: str, *, final: bool = True) -> answers.ChecklistView:
        """The open items before the publication."""

    @calls("POST /competitions/{slug}/publication", published=True)
    def publish(
        self, slug: str, reason: str, *, final: bool = True, override: str | None = None, after: str | None = None
    ) -> answers.PublicationView:
        """Publish the board; the reason is shown to all participants. Fails while there are open items, unless
        ``override`` gives a reason.
        """

    @calls("POST /competitions/{slug}/publication", published=False, override=None)
    def withdraw(
        self, slug: str, reason: str, *, final: bool = True, after: str | None = None
    ) -> answers.PublicationView:
        """Withdraw the published board."""

    @calls("POST /competitions/{slug}/publication/requeue")
    def requeue(self, slug: str) -> answers.RequeuedView:
        """Restart the failed jobs of the competition's private track."""


class Ratings(Methods[Api]):
    """Studies of human ratings."""

    @lists("/competitions/{slug}/ratings", "studies")
    def all(self, slug: str) -> list[answers.StudyView]:
        """All studies, newest first."""

    @Method
    def start(self, slug: str, spec: answers.StudySpec) -> Operation[answers.StudyView]:
        """Start a study; a worker prepares its images."""
        return call("POST", build_path("competitions", slug, "ratings"), json=spec)

    @calls("GET /competitions/{slug}/ratings/{study}")
    def get(self, slug: str, study: int) -> answers.StudyView:
        """A study: its progress, the agreement of raters, and the mean of each entry."""

    @calls("POST /competitions/{slug}/ratings/{study}/raters")
    def invite(self, slug: str, study: int, name: str) -> answers.InvitedView:
        """Create a link that lets one person rate without an account."""

    @calls("PUT /competitions/{slug}/ratings/{study}/ended")
    def end(self, slug: str, study: int) -> answers.StudyView:
        """End a study, so that it accepts no more ratings."""


class Rebuttals(Methods[Api]):
    """Rebuttals of teams against a disqualification or a penalty."""

    @lists("/competitions/{slug}/rebuttals", "rebuttals")
    def unanswered(self, slug: str) -> list[answers.RebuttalView]:
        """The rebuttals without an answer."""

    @calls("POST /rebuttals/{rebuttal}/answer")
    def grant(self, rebuttal: int, ruling: Literal["keep", "waive"], answer: str) -> answers.AnswerView:
        """Grant a rebuttal with a new ruling."""

    @calls("POST /rebuttals/{rebuttal}/answer", ruling=None)
    def refuse(self, rebuttal: int, answer: str) -> answers.AnswerView:
        """Refuse a rebuttal."""


class References(Methods[Api]):
    """Reference sets of a competition by role, and the preparation of its tracks."""

    @Method
    def attach(
        self, slug: str, role: ReferenceRole, images: File, *, attach: bool = True
    ) -> Operation[answers.ReferenceView]:
        """Attach a zip or folder of images, or a numpy archive of features. With ``attach=False`` the service only
        stores it, for a rescoring campaign.
        """
        ignored: str | None = None
        with ExitStack() as stack, naming(images):
            if isinstance(images, str | PathLike) and (folder := Path(images)).is_dir():
                content: BinaryIO = stack.enter_context(tempfile.TemporaryFile())
                ignored = yield LocalWork(lambda: zip_folder(folder, content))
            else:
                content = stack.enter_context(opened(images))
            path, params = build_path("competitions", slug, "references", role), {"attach": str(attach).lower()}
            attached: answers.ReferenceView = yield from send_file("PUT", path, content, params=params)
        return attached if ignored is None else {**attached, "ignored": ignored}

    @Method
    def prepare(
        self, slug: str, *, say: Callable[[str], None] = ignore, every: float | None = None
    ) -> Operation[dict[TrackKind, answers.PreparationView]]:
        """Prepare both tracks and wait until they are ready. ``say`` gets a line for each stage; ``every`` is the
        polling interval in seconds. Raises ``Refused`` if it fails.
        """
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
    return build_path("competitions", slug, "tracks", track, "preparation")


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
        """Start a release without images, with images of ranked entries, or with all images; ``new_names`` draws new
        pseudonyms.
        """

    @calls("GET /competitions/{slug}/releases/{release}")
    def get(self, slug: str, release: str) -> answers.ReleaseView:
        """The current state of a release."""

    @Method
    def wait(
        self, slug: str, release: str, *, see: Callable[[answers.ReleaseView], object] = ignore
    ) -> Operation[answers.ReleaseView]:
        """Wait until a release is complete; ``see`` gets its states before that. Raises ``Refused`` if it failed."""
        path = build_path("competitions", slug, "releases", release)
        made: answers.ReleaseView = yield from wait_until(
            path, lambda release: release["state"] not in {"waiting", "running"}, see=see
        )
        if made["state"] != "done":
            raise Refused(0, {"title": f"The release could not be created: {made['error'] or made['state']}"})
        return made

    @Method
    def download(self, slug: str, release: str, folder: str | PathLike[str]) -> Operation[list[Path]]:
        """Write the files of a release into a folder and check each against its SHA-256; returns their paths."""
        path = build_path("competitions", slug, "releases", release)
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
        """Publish a release. Everybody can download it while the final board is published."""

    @calls("PUT /competitions/{slug}/releases/{release}/handed-out", shown=False)
    def take_back(self, slug: str, release: str) -> answers.ReleaseView:
        """Withdraw a release, so that only organizers can download it."""


def _inside(folder: Path, name: str) -> Path:
    """The path of a file in the folder; raises ``Refused`` for a name that leads out of it."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise Refused(0, {"title": f"The service sent a file name outside the folder: {name!a}."})
    return path


class Reviews(Methods[Api]):
    """The review queue: flagged entries, their evidence, and reviews of them."""

    @Method
    def queue(
        self, slug: str, states: Sequence[QueueState] | None = None, limit: int | None = None
    ) -> Operation[list[answers.FlaggedView]]:
        """The flagged entries with their reasons, highest priority first."""
        path = build_path("competitions", slug, "review-queue")
        return all_pages(path, "entries", limit=limit, state=None if states is None else list(states))

    @calls("GET /competitions/{slug}/review-queue")
    def progress(self, slug: str) -> answers.ReviewQueueView:
        """The progress of the review and the agreement of reviewers, with the first page of the queue."""

    @Method
    def claim_next(self, slug: str, skip: int = 0) -> Operation[answers.NextView]:
        """Claim the first entry in the queue that you have not reviewed. For 10 minutes, others get other entries
        first."""
        return call("POST", build_path("competitions", slug, "review-queue", "next"), params={"skip": skip})

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
        """Everybody with a role or an open offer."""

    @calls("PUT /competitions/{slug}/roles/{handle}")
    def offer(self, slug: str, handle: str, role: CompetitionRole) -> answers.RoleView:
        """Offer somebody a role. They get it when they accept the offer."""

    @calls("DELETE /competitions/{slug}/roles/{handle}")
    def end(self, slug: str, handle: str) -> None:
        """End somebody's role, or withdraw its offer."""

    @calls("GET /competitions/{slug}/role")
    def own(self, slug: str) -> answers.RoleView:
        """Your role, or the role offered to you; raises ``Refused`` (404) if there is none."""

    @calls("PUT /competitions/{slug}/role")
    def accept(self, slug: str) -> answers.RoleView:
        """Accept the role offered to you. After that, you can never enter the competition."""

    @calls("DELETE /competitions/{slug}/role")
    def decline(self, slug: str) -> None:
        """Decline the role offered to you, or resign from yours."""


class Rulings(Methods[Api]):
    """Rulings on entries."""

    @calls("GET /submissions/{submission}/rulings")
    def of(self, submission: str) -> answers.CaseView:
        """The rulings on an entry and the rebuttals against them, newest first."""

    @lists("/submissions/{submission}/rulings/stakes", "stakes")
    def stakes(self, submission: str) -> list[answers.RulingImpact]:
        """How the boards would change with another ruling on an entry."""

    @calls("POST /submissions/{submission}/rulings")
    def rule(
        self, submission: str, kind: RulingKind, reason: str, *, memorising: bool | None = None
    ) -> answers.RulingView:
        """Keep an entry as scored, disqualify it, or waive its penalty; the reason is shown to the team."""

    @calls("POST /competitions/{slug}/teams/{team}/rulings")
    def rule_team(self, slug: str, team: int, kind: RulingKind, *, reason: str) -> list[answers.RulingView]:
        """Make the same ruling on all scored entries of a team."""


class ShownTracks(Methods[Api]):
    """Additional metrics on the board, which do not affect the ranking."""

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
        """Show a metric in an extractor's feature space against the references of a track: to everybody immediately, or
        to organizers until the final board is published. All scored entries are measured when no other job waits.
        """

    @calls("DELETE /competitions/{slug}/shown-tracks/{name}")
    def remove(self, slug: str, name: str) -> None:
        """Remove a shown track."""

    @calls("POST /competitions/{slug}/shown-tracks/{name}/measurements")
    def measure_missing(self, slug: str, name: str) -> answers.MissingMeasurementsView:
        """Measure the entries that have no value, after a failed measurement or preparation."""


class Submissions(Methods[Api]):
    """Organizers' methods for entries."""

    @calls("PUT /competitions/{slug}/submissions/{submission}/label")
    def label(self, slug: str, submission: str, label: Label, *, note: str = "") -> answers.LabelView:
        """Set the decided label of an entry."""

    @calls("POST /submissions/{submission}/generator")
    def audit_generator(self, submission: str) -> answers.GeneratorView:
        """Audit a submission that is a generator, unless that was done."""

    @calls("PUT /submissions/{submission}/early-label")
    def label_early(self, submission: str, label: Label) -> answers.EarlyLabelView:
        """Give an entry an early label, which only serves to compare extractors."""

    @Method
    def ask_for_code(self, submission: str, until: datetime, text: str = "") -> Operation[answers.CodeRequestView]:
        """Request an entry's code from its team, which can attach it until the given time (with time zone)."""
        body = {"until": until.isoformat(), "text": text}
        return call("PUT", build_path("submissions", submission, "code-request"), json=body)

    @Method
    def download_code(self, submission: str, to: str | PathLike[str]) -> Operation[Path]:
        """Write the attached code of an entry, a zip or a notebook, to a file; returns its path."""
        yield Download(build_path("submissions", submission, "code"), Path(to))
        return Path(to)

    @Method
    def submit_benchmark(
        self,
        slug: str,
        file: File,
        name: str,
        *,
        file_name: str | None = None,
        note: str = "",
        **latent: Unpack[DeclaredLatent],
    ) -> Operation[answers.AcceptedView]:
        """Submit a benchmark: the board shows it under ``name`` and never ranks it. ``latent``, ``distribution`` and
        ``classes`` declare a generator's latent space."""
        declared = {key: value for key, value in latent.items() if value is not None}
        params = {"benchmark": name, "file_name": file_name or name, "note": note, **declared}
        with opened(file) as content:
            path = build_path("competitions", slug, "submissions")
            accepted: answers.AcceptedView = yield from send_file("POST", path, content, params=params)
        return accepted


class Teams(Methods[Api]):
    """Teams of a competition, and messages to them."""

    @lists("/competitions/{slug}/teams", "teams")
    def all(self, slug: str, search: str | None = None) -> list[answers.ListedTeam]:
        """All teams with their members; with ``search``, those with this text in their name or a member's name."""

    @lists("/competitions/{slug}/teams/{team}/messages", "messages")
    def messages(self, slug: str, team: int) -> list[answers.MessageView]:
        """Messages of organizers to a team."""

    @calls("POST /competitions/{slug}/teams/{team}/messages")
    def write(self, slug: str, team: int, text: str) -> answers.MessageView:
        """Send a message to a team. The message stays on record."""


class Thresholds(Methods[Api]):
    """Thresholds (tau) of a track. The method ``manual`` uses the given ``tau``."""

    @lists("/competitions/{slug}/tracks/{track}/thresholds", "thresholds")
    def history(self, slug: str, track: TrackKind) -> list[answers.ThresholdView]:
        """The choices of tau, newest first, with their changes."""

    @lists("/competitions/{slug}/tracks/{track}/thresholds/choices", "choices")
    def choices(self, slug: str, track: TrackKind, alpha: float = 0.0) -> list[answers.Option]:
        """The tau that each automatic method would choose now, or why it cannot choose one. ``alpha`` is the largest
        share of legitimate entries to penalise.
        """

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
        """What a choice would change. The lists are truncated; ``impact`` returns them whole."""

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
        """The changes of an earlier choice."""

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
        """Choose a track's tau; the response says what changes. Pass the ID of the newest choice that you know as
        ``after`` to fail if another one was made since.
        """

    @calls("POST /competitions/{slug}/tracks/{track}/thresholds/undo")
    def undo(self, slug: str, track: TrackKind, reason: str, *, after: int | None = None) -> answers.RetuningView:
        """Undo the latest choice."""


class Admin(Methods[Api]):
    """Organizers' and admins' methods, by noun: ``client.admin.thresholds.retune("dogs", "public")``. They return
    dictionaries with types from ``kennel_client.answers``, and raise the client's errors.
    """

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
