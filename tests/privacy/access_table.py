"""The table of routes: the statuses that each role gets, for its own things and for others'.

It is computed from the application. The test fails if a route is missing in ``tests/privacy/access_table.md``.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from tests.privacy.canaries import ROLES

FILE = Path(__file__).with_name("access_table.md")
Statuses = Mapping[str, Mapping[str, Sequence[int]]]
"""By route and role, the status of each request."""
HEADER = """# Who may use which route

Statuses, as `tests/privacy/test_every_route_and_role.py` records them. If a route is called for several things, the
insider's own come first, then another team's. Equal statuses appear once. `-`: not called, because each request hashes
a password.

The requests name things of the insider, who competes here. An outsider competes here in another team. A visitor has no
account. A neighbour organizes another competition and has no role here. A reviewer and an organizer have these roles
here. An admin has no role here and may do everything.

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
"""Routes that change something for visitors: signing up, signing in, and requests with the secret of a link."""
FOR_ORGANIZERS = frozenset(
    {
        "POST /api/v1/admin/invitations",
        "POST /api/v1/competitions",
        *(f"{method} /new-competition" for method in ("GET", "HEAD", "POST")),
    }
)
"""Routes for everybody who organizes any competition."""


NOT_AUDITED: Mapping[str, str] = {
    "POST /api/v1/competitions/{slug}/review-queue/next": "only selects the next case",
    "POST /api/v1/competitions/{slug}/tracks/{kind}/thresholds": "is only a preview here",
    "PUT /api/v1/competitions/{slug}/role": "is called by people who have already accepted the role",
    "POST /competitions/{slug}/role": "the same",
    "POST /api/v1/ratings/{study_id}/items": "belongs to a rater and is stored as a rating",
    "POST /ratings/{study_id}": "the same",
}
"""Privileged requests that leave no entry in the audit log, and why."""


def render_table(statuses: Statuses) -> str:
    """The table as Markdown."""
    lines = [f"| route | {' | '.join(ROLES)} |", f"|---|{'---|' * len(ROLES)}"]
    for route in sorted(statuses, key=lambda row: tuple(reversed(row.split(" ", 1)))):
        cells = [_cell(statuses[route].get(role, ())) for role in ROLES]
        lines.append(f"| `{route}` | {' | '.join(cells)} |")
    return HEADER + "\n".join(lines) + "\n"


def _cell(statuses: Sequence[int]) -> str:
    return "/".join(map(str, dict.fromkeys(statuses))) or "-"


def broken_rules(statuses: Statuses) -> list[str]:
    """Violations that no table may have, even an approved one."""
    return [line for route, by_role in statuses.items() for line in _broken(route, by_role)]


def _broken(route: str, by_role: Mapping[str, Sequence[int]]) -> Iterator[str]:
    method, path = route.split(" ", 1)
    changes = method not in {"GET", "HEAD", "OPTIONS"}
    if changes and route not in OPEN_TO_VISITORS and _succeeds(by_role.get("visitor", ())):
        yield f"visitors change something: {route}"
    if path.startswith(("/admin", "/api/v1/admin")):
        others = set(ROLES) - {"admin"} - ({"organizer", "neighbour"} if route in FOR_ORGANIZERS else set())
        for role in sorted(others):
            if _succeeds(by_role.get(role, ())) and not _redirects_to_sign_in(role, method, by_role[role]):
                yield f"{role} uses a route for admins: {route}"
    is_alone = not _succeeds(by_role.get("outsider", ())) and route not in FOR_ORGANIZERS
    if is_alone and _succeeds(by_role.get("neighbour", ())):
        yield f"an organizer of another competition may do more than a participant: {route}"
    for role, seen in by_role.items():
        if any(status >= 500 and status != 503 for status in seen):
            yield f"{role} breaks {route}"


def privileged_routes(statuses: Statuses) -> set[str]:
    """The routes that change something and that only reviewers, organizers or admins could use."""
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


def _redirects_to_sign_in(role: str, method: str, statuses: Collection[int]) -> bool:
    """Whether a page redirects a visitor to sign in."""
    return role == "visitor" and method in {"GET", "HEAD"} and set(statuses) == {303}
