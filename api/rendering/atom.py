"""Announcements as an Atom feed (RFC 4287)."""

from collections.abc import Sequence
from datetime import UTC, datetime
from xml.etree.ElementTree import Element, SubElement, tostring

from scorer.db.tables import Announcement, Competition

NAMESPACE = "http://www.w3.org/2005/Atom"


def feed_of(site: str, competition: Competition, announcements: Sequence[Announcement]) -> bytes:
    """The feed of a competition on the site with this address; newest first."""
    here = f"{site}/competitions/{competition.slug}"
    updated = announcements[0].created_at if announcements else competition.created_at
    feed = Element("feed", xmlns=NAMESPACE)
    _add(feed, "id", f"{here}/announcements")
    _add(feed, "title", f"{competition.title}: announcements")
    _add(feed, "updated", _time(updated))
    SubElement(SubElement(feed, "author"), "name").text = competition.title
    SubElement(feed, "link", rel="self", href=f"{here}/announcements.atom")
    SubElement(feed, "link", rel="alternate", href=f"{here}/announcements")
    for each in announcements:
        entry = SubElement(feed, "entry")
        _add(entry, "id", f"{here}/announcements#a{each.id}")
        _add(entry, "title", each.title)
        _add(entry, "updated", _time(each.created_at))
        SubElement(entry, "link", rel="alternate", href=f"{here}/announcements#a{each.id}")
        _add(entry, "content", each.text, type="text")
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + tostring(feed)


def _add(parent: Element, name: str, text: str, **attributes: str) -> None:
    SubElement(parent, name, attributes).text = text


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")
