"""The table of routes: which role gets which status, for its own things and for others'.

It is made from the application (``tests/privacy/access_table.md``): a new route is not in it, and the test says so.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from tests.privacy.canaries import ROLES

FILE = Path(__file__).with_name("access_table.md")
Statuses = Mapping[str, Mapping[str, Sequence[int]]]
"""By route and role: the status of each request."""
HEADER = """# Who may use which route

Statuses, as `tests/privacy/test_every_route_and_role.py` sees them. Where a route is asked about several things, the
insider's own come first and another team's after them; equal statuses stand once. `-`: not asked, because each request
hashes a password.

A visitor has no account. An outsider competes here, in another team than the insider, whose things the requests name. A
neighbour organizes another competition and has no role here; reviewer and organizer have that role here. An admin has
no role here and may do everything.

"""
OPEN_TO_VISITORS = frozenset(
    {
        "POST /api/v1/accounts",
        "POST /api/v1/email-confirmations",
        "POST /api/v1/password-resets",
        "POST /api/v1/password-resets/completion",
        "POST /api/v1/rate/items",
        "POST /api/v1/security.OAuthService/IntrospectToken",
        "POST /api/v1/session",
        "POST /confirm",
        "POST /new-password",
        "POST /rate",
        "POST /rate/link",
        "POST /reset",
        "POST /signin",
        "POST /signin/link",
        "POST /signup",
    }
)
"""What changes something for somebody who is not signed in: signing up and in, and what needs a link's secret."""
FOR_ORGANIZERS = frozenset(
    {
        "POST /api/v1/admin/invitations",
        "POST /api/v1/competitions",
        *(f"{method} /new-competition" for method in ("GET", "HEAD", "POST")),
    }
)
"""What everybody may do who organizes a competition, whichever."""


NOT_WRITTEN_DOWN: Mapping[str, str] = {
    "POST /api/v1/competitions/{slug}/review-queue/next": "decides nothing: which case comes next",
    "POST /api/v1/competitions/{slug}/tracks/{kind}/thresholds": "is called for a preview; the form of the page is not",
    "PUT /api/v1/competitions/{slug}/role": "is called by who has accepted the role before",
    "POST /competitions/{slug}/role": "likewise",
    "POST /api/v1/ratings/{study_id}/items": "is a rater's, and kept as a rating",
    "POST /ratings/{study_id}": "likewise",
}
"""Requests of offices that leave no entry in the audit log, and why."""


def table_of(statuses: Statuses) -> str:
    """The table as Markdown."""
    lines = [f"| route | {' | '.join(ROLES)} |", f"|---|{'---|' * len(ROLES)}"]
    for route in sorted(statuses, key=lambda each: tuple(reversed(each.split(" ", 1)))):
        cells = [_cell(statuses[route].get(role, ())) for role in ROLES]
        lines.append(f"| `{route}` | {' | '.join(cells)} |")
    return HEADER + "\n".join(lines) + "\n"


def _cell(statuses: Sequence[int]) -> str:
    return "/".join(map(str, dict.fromkeys(statuses))) or "-"


def broken_rules(statuses: Statuses) -> list[str]:
    """The rows that no table may have, whoever has approved it."""
    return [line for route, by_role in statuses.items() for line in _broken(route, by_role)]


def _broken(route: str, by_role: Mapping[str, Sequence[int]]) -> Iterator[str]:
    method, path = route.split(" ", 1)
    changes = method not in {"GET", "HEAD", "OPTIONS"}
    if changes and route not in OPEN_TO_VISITORS and _succeeds(by_role.get("visitor", ())):
        yield f"visitors change something: {route}"
    if path.startswith(("/admin", "/api/v1/admin")):
        others = set(ROLES) - {"admin"} - ({"organizer", "neighbour"} if route in FOR_ORGANIZERS else set())
        for role in sorted(others):
            if _succeeds(by_role.get(role, ())) and not _leads_to_the_door(role, method, by_role[role]):
                yield f"{role} does what is the admins': {route}"
    is_alone = not _succeeds(by_role.get("outsider", ())) and route not in FOR_ORGANIZERS
    if is_alone and _succeeds(by_role.get("neighbour", ())):
        yield f"who organizes elsewhere does more than a participant: {route}"
    for role, seen in by_role.items():
        if any(status >= 500 and status != 503 for status in seen):
            yield f"{role} breaks {route}"


def acts_of_office(statuses: Statuses) -> set[str]:
    """The routes that change something, and that only who organizes, reviews or administers has used."""
    office, others = ("reviewer", "organizer", "admin"), ("visitor", "outsider", "insider")

    def can(by_role: Mapping[str, Sequence[int]], roles: Collection[str]) -> bool:
        return any(_succeeds(by_role.get(role, ())) for role in roles)

    return {
        route
        for route, by_role in statuses.items()
        if not route.startswith(("GET", "HEAD", "OPTIONS")) and can(by_role, office) and not can(by_role, others)
    }


def _succeeds(statuses: Collection[int]) -> bool:
    return any(status < 400 for status in statuses)


def _leads_to_the_door(role: str, method: str, statuses: Collection[int]) -> bool:
    """Whether a visitor who reads a page is sent to sign in."""
    return role == "visitor" and method in {"GET", "HEAD"} and set(statuses) == {303}
