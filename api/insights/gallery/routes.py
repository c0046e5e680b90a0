"""For organizers: images of submissions at some ranks of a board, and submissions that several teams share."""

from fastapi import Request, Response

from api.http.dependencies import ActingOrganizer, BlobStore, DbSession, Organizer
from api.http.etags import compute_etag, picture_response
from api.http.paging import Paging
from api.http.routing import ApiRouter
from api.insights.views import ExhibitPage, ExhibitView, Seed, TwinsPage, TwinsView
from api.openapi.files import PICTURE
from scorer.competitions.competition_state import load_state
from scorer.insights import gallery
from scorer.lifecycle import TrackKind
from scorer.submissions import access, files

router = ApiRouter(prefix="/competitions/{slug}", tags=["insights"])


@router.get("/gallery")
def index(
    slug: str, acting: ActingOrganizer, wanted: Paging, track: TrackKind = "public", seed: Seed = 0
) -> ExhibitPage:
    """List the submissions at ranks 1, 2, 3, 5, 10, 50 and 100 of a board, with 10 images each. Organizers only."""
    page = wanted.slice_all(
        gallery.gallery_entries(
            acting.session, load_state(acting.session, slug, acting.now), track, account=acting.actor
        )
    )
    views = [ExhibitView.from_entry(slug, entry, seed) for entry in page.rows]
    return ExhibitPage(entries=views, next_after=page.next_after)


@router.get("/gallery/{submission_id}", response_class=Response, responses=PICTURE)
def images(
    slug: str,
    submission_id: str,
    request: Request,
    session: DbSession,
    store: BlobStore,
    viewer: Organizer,
    seed: Seed = 0,
) -> Response:
    """Get 10 images of a submission side by side in one PNG, chosen at random with `seed`. Organizers only."""
    entry = access.find_submission(session, submission_id, viewer)
    if entry.competition.slug != slug:
        raise access.unknown_submission(submission_id)
    key = files.sprite_key(entry)
    return picture_response(request, compute_etag(key, seed), lambda: gallery.build_strip(store.read(key), entry, seed))


@router.get("/twins")
def twins(slug: str, acting: ActingOrganizer, wanted: Paging) -> TwinsPage:
    """List submissions of different teams that have the same zip, or the same images under other names. Organizers
    only."""
    page = wanted.slice_all(
        gallery.load_shared_submissions(acting.session, load_state(acting.session, slug, acting.now))
    )
    views = [TwinsView.model_validate(shared) for shared in page.rows]
    return TwinsPage(twins=views, next_after=page.next_after)
