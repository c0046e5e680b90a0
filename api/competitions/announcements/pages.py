"""Announcements of a competition: the public page with the organizers' form, and the Atom feed (RFC 4287)."""

from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from fastapi.responses import Response

from api.http.dependencies import ActingOrganizer, ActingVisitor, AppSettings, CurrentViewer, SignedIn, Viewer
from api.http.etags import compute_etag
from api.http.forms import FormFields, refusal_on, text
from api.http.routing import Router
from api.rendering.formatting import machine
from api.rendering.templates import render_page, see_other
from scorer.acting import Acting
from scorer.competitions import announcements
from scorer.competitions.competition_state import load_state
from scorer.db.tables import Account, Announcement, Competition
from scorer.leaderboard.standings import visible_state

router = Router(prefix="/competitions/{slug}", include_in_schema=False)


@router.api_route("/announcements", methods=["GET", "HEAD"])
def show_announcements(slug: str, acting: ActingVisitor, viewer: CurrentViewer, done: str = "") -> Response:
    return _page(acting, slug, viewer, done="Announcement sent to all participants." if done else None)


def _page(acting: Acting[Account | None], slug: str, viewer: Viewer | None, **outcome: Any) -> Response:
    state = visible_state(acting, slug)
    return render_page(
        "competitions/announcements/show.html",
        viewer=viewer,
        state=state,
        announcements=announcements.list_announcements(acting.session, state),
        limits=(announcements.MAX_TITLE_LENGTH, announcements.MAX_TEXT_LENGTH),
        now=acting.now,
        **outcome,
    )


@router.post("/announcements")
def announce(slug: str, fields: FormFields, acting: ActingOrganizer, viewer: SignedIn) -> Response:
    title = text(fields, "title", max_length=announcements.MAX_TITLE_LENGTH)
    body = text(fields, "text", max_length=announcements.MAX_TEXT_LENGTH)
    with refusal_on(_page, acting, slug, viewer, typed={"title": title, "text": body}):
        announcements.announce(acting, load_state(acting.session, slug, acting.now), title, text=body)
    return see_other(f"/competitions/{slug}/announcements?done=announced")


@router.api_route("/announcements.atom", methods=["GET", "HEAD"])
def show_feed(slug: str, acting: ActingVisitor, settings: AppSettings) -> Response:
    state = visible_state(acting, slug)
    body = render_feed(settings.public_url, state.competition, announcements.list_announcements(acting.session, state))
    headers = {"Cache-Control": "private, no-cache", "ETag": compute_etag(body)}
    return Response(body, media_type="application/atom+xml", headers=headers)


NAMESPACE = "http://www.w3.org/2005/Atom"


def render_feed(site: str, competition: Competition, announcements: Sequence[Announcement]) -> bytes:
    """``site`` is the address of the service; ``announcements`` are newest first."""
    here = f"{site}/competitions/{competition.slug}"
    updated = announcements[0].created_at if announcements else competition.created_at
    feed = Element("feed", xmlns=NAMESPACE)
    _add(feed, "id", f"{here}/announcements")
    _add(feed, "title", f"{competition.title}: announcements")
    _add(feed, "updated", machine(updated))
    SubElement(SubElement(feed, "author"), "name").text = competition.title
    SubElement(feed, "link", rel="self", href=f"{here}/announcements.atom")
    SubElement(feed, "link", rel="alternate", href=f"{here}/announcements")
    for announcement in announcements:
        entry = SubElement(feed, "entry")
        _add(entry, "id", f"{here}/announcements#a{announcement.id}")
        _add(entry, "title", announcement.title)
        _add(entry, "updated", machine(announcement.created_at))
        SubElement(entry, "link", rel="alternate", href=f"{here}/announcements#a{announcement.id}")
        _add(entry, "content", announcement.text, type="text")
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + tostring(feed)


def _add(parent: Element, name: str, text: str, **attributes: str) -> None:
    SubElement(parent, name, attributes).text = text
