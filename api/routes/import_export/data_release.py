"""Data releases: starting, listing, handing out and downloading them."""

from fastapi import Request, Response

from api.actions.data_releases import start_data_release
from api.actions.paging import Paging
from api.http import ranges
from api.http.dependencies import BlobStore, DbSession, Now, Organizer, Visitor
from api.http.ranges import BlobPart, Content
from api.openapi.files import FILE
from api.routing import Router
from api.schemas.import_export import FileView, HandOut, NewRelease, ReleasePage, ReleaseView
from scorer.accounts.roles import is_organizer
from scorer.blobs import Blobs
from scorer.competitions import competition_state
from scorer.db.tables import Account
from scorer.import_export import data_release
from scorer.import_export.data_release import IMAGES_IN, ReleaseStatus
from scorer.leaderboard import standings
from scorer.lifecycle import JobState

router = Router(prefix="/competitions/{slug}/releases", tags=["releases"])


@router.post("", status_code=202)
def start(slug: str, body: NewRelease, session: DbSession, author: Organizer, now: Now) -> ReleaseView:
    """Have a worker make a data release. Organizers only."""
    state = competition_state.state_of(session, slug, now)
    release = start_data_release(session, state, body.images, new_names=body.new_names, author=author, now=now)
    return release_view(data_release.find_release(session, state, release.id, author), author)


@router.get("")
def index(slug: str, session: DbSession, account: Visitor, now: Now, wanted: Paging) -> ReleasePage:
    """The data releases that you may download: everybody those that are handed out, while the final board is
    published; organizers all."""
    state = standings.visible_state(session, slug, account, now)
    page = wanted.of_all(data_release.visible_releases(session, state, account))
    return ReleasePage(releases=[release_view(each, account) for each in page.rows], next_after=page.next_after)


@router.get("/{release_id}")
def show(slug: str, release_id: str, session: DbSession, account: Visitor, now: Now) -> ReleaseView:
    """One data release: how far it is, and its files."""
    state = standings.visible_state(session, slug, account, now)
    return release_view(data_release.find_release(session, state, release_id, account), account)


@router.put("/{release_id}/handed-out")
def hand_out(slug: str, release_id: str, body: HandOut, session: DbSession, author: Organizer, now: Now) -> ReleaseView:
    """Make a release available to everybody while the final board is published, or undo that. Organizers only."""
    state = competition_state.state_of(session, slug, now)
    data_release.hand_out(session, state, release_id, shown=body.shown, author=author, now=now)
    return release_view(data_release.find_release(session, state, release_id, author), author)


@router.get("/{release_id}/files/{name}", response_class=Response, responses=FILE)
def download(
    slug: str,
    release_id: str,
    name: str,
    request: Request,
    session: DbSession,
    store: BlobStore,
    account: Visitor,
    now: Now,
) -> Response:
    """One file of a release, or a range of it: `tables.zip` (all but images), a table, `README.md`,
    `manifest.json`."""
    state = standings.visible_state(session, slug, account, now)
    return _file(data_release.find_release(session, state, release_id, account), name, request, store)


@router.get("/{release_id}/files/images/{name}", response_class=Response, responses=FILE)
def download_images(
    slug: str,
    release_id: str,
    name: str,
    request: Request,
    session: DbSession,
    store: BlobStore,
    account: Visitor,
    now: Now,
) -> Response:
    """The images of one entry, `SUBMISSION.zip`, or a range of it."""
    state = standings.visible_state(session, slug, account, now)
    return _file(data_release.find_release(session, state, release_id, account), f"{IMAGES_IN}{name}", request, store)


def _file(status: ReleaseStatus, name: str, request: Request, store: Blobs) -> Response:
    key, file = data_release.file_of(status, name)
    release = status.release
    file_name = f"{release.competition.slug}-{release.id}-{name.replace('/', '-')}"
    modified = release.finished_at or release.created_at
    content = Content(file_name, [BlobPart(key, file["bytes"])], file["sha256"], modified)
    return ranges.range_response(request, content, store)


def release_view(status: ReleaseStatus, account: Account | None) -> ReleaseView:
    """A release as this person may see it; errors are for organizers."""
    release = status.release
    job = status.job
    shows_error = is_organizer(account, release.competition_id) and status.state != JobState.DONE
    return ReleaseView(
        id=release.id,
        state=status.state,
        stage=job.stage if job else None,
        fraction=job.fraction if job else None,
        error=job.error if job and shows_error else None,
        images=release.images,
        shown=status.shown,
        sha256=release.sha256,
        created_at=release.created_at,
        finished_at=release.finished_at,
        files=[FileView(**each) for each in release.files or ()],
    )
