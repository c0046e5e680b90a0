"""Competitions: creating, reading and changing them, their rules and their reference sets."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, BinaryIO

from fastapi import Query, Request, Response
from sqlalchemy.orm import Session

from api.competitions.views import (
    Acceptance,
    AcceptanceView,
    CompetitionPage,
    CompetitionView,
    PreparationView,
    ReferenceView,
    TrackView,
)
from api.http.dependencies import (
    ActingCompetitionCreator,
    ActingOrganizer,
    ActingSubmitter,
    ActingVisitor,
    AppResponseCache,
    AppSettings,
    BlobStore,
    Now,
    Organizer,
    Transaction,
    Transactions,
)
from api.http.etags import compute_etag, is_known
from api.http.paging import Paging
from api.http.received_blobs import declared_bytes, find_unused_key, reads_limited, receive_blob, require_clean
from api.http.request_bodies import streamed_body
from api.http.routing import ApiRouter
from api.openapi.files import UNCHANGED, file_body
from scorer.accounts import roles
from scorer.acting import Acting
from scorer.archive.limited_listing import require_features, require_references
from scorer.blobs import ReceivedBlob, require_bytes
from scorer.competitions import (
    allowlist,
    appeal_windows,
    competition_state,
    draw_secrets,
    preparations,
    reference_sets,
    rules,
    setup,
    worker_weights,
)
from scorer.competitions.competition_state import CompetitionState
from scorer.competitions.reference_sets import FEATURES_ROLES, ReferenceRole
from scorer.competitions.spec import CompetitionChanges, CompetitionSpec
from scorer.db import tuning
from scorer.db.tables import Account, ReferenceSet, Threshold
from scorer.lifecycle import JobState, TrackKind
from scorer.settings import Settings

router = ApiRouter(prefix="/competitions", tags=["competitions"])
LIST_HEADERS = {"Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie"}


@router.post("", status_code=201)
def create(body: CompetitionSpec, acting: ActingCompetitionCreator, settings: AppSettings) -> CompetitionView:
    """Create a competition with a public and a private track."""
    setup.create(acting, body, draw_key=settings.draw_key)
    state = competition_state.load_state(acting.session, body.slug, acting.now)
    return _view(acting, state, settings)


@router.get("", response_model=CompetitionPage, responses=UNCHANGED)
def index(
    request: Request, acting: ActingVisitor, cache: AppResponseCache, settings: AppSettings, wanted: Paging
) -> Response:
    """List the competitions, newest first. Only organizers and reviewers see drafts."""
    page = wanted.slice_all(competition_state.visible_competitions(acting))

    def body() -> bytes:
        states = competition_state.load_states(
            acting.session, [competition.id for competition in page.rows], acting.now
        )
        view = CompetitionPage(competitions=_views(acting, states, settings), next_after=page.next_after)
        return view.model_dump_json().encode()

    if acting.actor is not None:
        return Response(body(), media_type="application/json", headers=LIST_HEADERS)
    # The version depends on thresholds that visitors can't see, so their ETag comes from the content alone.
    version = compute_etag(
        "competitions", page.next_after, *competition_state.list_version(acting.session, page.rows, acting.now)
    )
    content = cache.answer(acting.session, version, body)
    headers = LIST_HEADERS | {"ETag": compute_etag(content)}
    if is_known(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="application/json", headers=headers)


@router.get("/{slug}")
def show(slug: str, acting: ActingVisitor, settings: AppSettings) -> CompetitionView:
    """Get a competition."""
    return _view(acting, competition_state.visible_state(acting, slug), settings)


@router.patch("/{slug}")
def change(slug: str, body: CompetitionChanges, acting: ActingOrganizer, settings: AppSettings) -> CompetitionView:
    """Change the given fields. In a draft, you can change all fields. Later, some are fixed: a request that changes
    them fails with 409 `fixed-by-now`, which names them. Participants and people who have accepted the rules are
    notified. Organizers only."""
    setup.change(acting, slug, body, draw_key=settings.draw_key)
    state = competition_state.load_state(acting.session, body.slug or slug, acting.now)
    return _view(acting, state, settings)


@router.delete("/{slug}", status_code=204)
def delete_draft(slug: str, acting: ActingOrganizer) -> None:
    """Delete a draft that nobody has entered. Organizers only."""
    setup.delete_draft(acting, slug)


def _view(acting: Acting[Account | None], state: CompetitionState, settings: Settings) -> CompetitionView:
    return _views(acting, [state], settings)[0]


def _views(
    acting: Acting[Account | None], states: Sequence[CompetitionState], settings: Settings
) -> list[CompetitionView]:
    session, account = acting.session, acting.actor
    rows = [state.competition for state in states]
    shown_secrets = draw_secrets.load_shown(session, states, settings.draw_key)
    thresholds = tuning.newest_thresholds(session, [track.id for state in states for track in state.tracks.values()])
    accepted = None if account is None else rules.accepted_in(session, rows, account)
    invited = None if account is None else allowlist.may_enter(session, rows, account)

    def view(state: CompetitionState) -> CompetitionView:
        competition = state.competition
        window = appeal_windows.compute_window(state)
        fields = {
            "phase": state.phase,
            "tracks": _track_views(state, account, thresholds),
            "draw_secrets": shown_secrets.get(competition.id, {}),
            "rebuttals_from": window.begins,
            "rebuttals_until": window.ends,
            "rules_sha256": rules.compute_rules_version(competition),
            "rules_accepted": None if accepted is None else competition.id in accepted,
            "invited": None if invited is None else competition.id in invited,
            "missing": list(state.missing) if roles.is_organizer(account, competition.id) else None,
        }
        return CompetitionView.of(competition, **fields)

    return [view(state) for state in states]


def _track_views(
    state: CompetitionState, account: Account | None, thresholds: Mapping[int, Threshold]
) -> list[TrackView]:
    visible = [
        track
        for kind, track in sorted(state.tracks.items(), reverse=True)
        if kind == "public" or competition_state.may_see_private(state, account)
    ]
    return [
        TrackView(
            kind=track.kind,
            extractor=track.extractor,
            epsilon=track.epsilon,
            tau=thresholds[track.id].tau if track.id in thresholds else None,
        )
        for track in visible
    ]


@router.put("/{slug}/rules-acceptance")
def accept_rules(slug: str, body: Acceptance, acting: ActingSubmitter) -> AcceptanceView:
    """Accept the version of the rules that you have read. You need to accept the rules to enter. The request fails with
    409 if the rules have changed since then."""
    state = competition_state.visible_state(acting, slug)
    accepted = rules.accept_rules(acting, state, body.rules_sha256)
    return AcceptanceView.model_validate(accepted)


@router.put("/{slug}/references/{role}", openapi_extra=file_body("The zip of images, or the file of features."))
async def attach(
    slug: str,
    role: ReferenceRole,
    request: Request,
    begin: Transactions,
    store: BlobStore,
    settings: AppSettings,
    author: Organizer,
    now: Now,
    attach: Annotated[bool, Query(description="`false` only stores the file, for a rescoring campaign.")] = True,
) -> ReferenceView:
    """Attach reference images or features with a role. The request body is the file itself.

    Images are a zip of PNG, JPEG or WebP files of any size. Participants train on the images with the role `train`.
    Images with the role `held_out` are real images that belong to no reference set. Images with the role
    `private_extra` belong only to the private track's reference set.

    Features are a numpy archive with `features`, their mean `m` and their covariance `s`. Their role is
    `public_features` or `private_features`. They replace the features of the track's images until the track's extractor
    changes.

    A file is stored and prepared only once, even if several competitions use it.
    """
    limit = settings.max_upload_bytes
    require_bytes(declared_bytes(request), limit)

    def accept(received: ReceivedBlob, _: datetime) -> tuple[ReferenceView, str | None]:
        require_clean(store, received, settings)
        with store.open(received.key) as file:
            ignored = _require_readable(file, role, limited=reads_limited(settings))
        images = _attach(slug, role, received, begin=begin, author=author, now=now, attach=attach)
        view = ReferenceView(role=role, sha256=images.sha256, bytes=images.bytes, ignored=ignored)
        return view, find_unused_key(received, images.blob_key)

    key = f"references/{secrets.token_hex(16)}.{'npz' if role in FEATURES_ROLES.values() else 'zip'}"
    return await receive_blob(store, key, streamed_body(request, author.id), limit=limit, accept=accept)


def _require_readable(file: BinaryIO, role: ReferenceRole, *, limited: bool) -> str | None:
    if role in FEATURES_ROLES.values():
        require_features(file, limited=limited)
        return None
    # Images of other roles are in no statistic, or only together with the training images.
    return require_references(file, limited=limited, two=role == "train")


def _attach(
    slug: str,
    role: ReferenceRole,
    received: ReceivedBlob,
    *,
    begin: Transaction,
    author: Account,
    now: datetime,
    attach: bool,
) -> ReferenceSet:
    accept = reference_sets.attach_reference_set if attach else reference_sets.store_reference_set
    with begin() as session:
        state = competition_state.load_state(session, slug, now)
        return accept(Acting(session, author, now), state, role, received=received)


@router.post("/{slug}/tracks/{kind}/preparation", status_code=202)
def prepare(slug: str, kind: TrackKind, acting: ActingOrganizer, settings: AppSettings) -> PreparationView:
    """Queue the preparation of a track's references: features, statistics, held-out distance and first tau."""
    state = competition_state.load_state(acting.session, slug, acting.now)
    preparations.prepare(acting, state, kind, weights=settings.weights_sha256)
    return _preparation(acting.session, state, kind)


@router.get("/{slug}/tracks/{kind}/preparation")
def preparation(slug: str, kind: TrackKind, acting: ActingOrganizer) -> PreparationView:
    """Get the progress of preparing a track's references."""
    return _preparation(acting.session, competition_state.load_state(acting.session, slug, acting.now), kind)


def _preparation(session: Session, state: CompetitionState, kind: TrackKind) -> PreparationView:
    track = competition_state.find_track(state, kind)
    weights = None
    if not competition_state.is_prepared(track):
        weights = worker_weights.missing_weights(track.extractor, worker_weights.preparing_workers(session))
    if track.preparation is None:
        return PreparationView(state="none", missing_weights=weights)
    job = preparations.job_for(session, track)
    # Read this row after the job, because a finished job has written its numbers there.
    session.refresh(track.preparation)
    unfinished = job.state if job else "none"
    return PreparationView(
        state=JobState.DONE if track.preparation.finished_at else unfinished,
        stage=job.stage if job else None,
        fraction=job.fraction if job else None,
        error=job.error if job else None,
        missing_weights=weights,
        images=track.preparation.count,
        held_out_distance=track.preparation.held_out_distance,
    )
