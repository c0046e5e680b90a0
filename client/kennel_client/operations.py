"""What both clients offer, step by step."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kennel_client.api import open_file, segment
from kennel_client.archive import ZipCheck
from kennel_client.errors import Refused
from kennel_client.results import Board, Competition, Entry
from kennel_client.resumable_state import ResumableUpload, resumable_upload_of
from kennel_client.retries import Retries
from kennel_client.steps import LocalWork, Operation, Pause, call, get
from kennel_client.submit import StageProgress, begin_upload, check_images, finish_upload

PAGE_SIZE = 1000
"""Places of a board that one request asks for at most."""
POLL_SECONDS = 2.0
"""Between two looks at an entry that is waited for."""
MAX_NAME_LENGTH = 200
View = dict[str, Any]


def competitions() -> Operation[list[Competition]]:
    """All competitions."""
    views = yield from get("/competitions")
    return [Competition.of(view) for view in views]


def competition(slug: str) -> Operation[Competition]:
    """One competition."""
    return Competition.of((yield from get(f"/competitions/{segment(slug)}")))


def accept_rules(slug: str) -> Operation[None]:
    """Accept the rules of a competition as they stand."""
    accepted = yield from competition(slug)
    yield from accept_rules_of(accepted.slug, accepted.rules_sha256)


def accept_rules_of(slug: str, rules_sha256: str | None) -> Operation[None]:
    """Accept rules by their hash; the service refuses if they have changed since."""
    path = f"/competitions/{segment(slug)}/rules-acceptance"
    yield from call("PUT", path, json={"rules_sha256": rules_sha256 or "0" * 64})


def board_view(slug: str, *, private: bool, late: bool, search: str, limit: int) -> Operation[View]:
    """A board with the first ``limit`` places whose team name contains ``search``."""
    path = f"/competitions/{segment(slug)}/leaderboard"
    params = {"track": "private" if private else "public", "late": late}
    page = yield from get(path, **params, limit=PAGE_SIZE if search else min(limit, PAGE_SIZE))
    board: View = page
    entries = _matching_places(page["entries"], search)
    while page["next_after"] is not None and len(entries) < limit:
        page = yield from get(path, **params, after=page["next_after"], limit=PAGE_SIZE)
        entries += _matching_places(page["entries"], search)
    more = page["next_after"] is not None or len(entries) > limit
    first = entries[:limit]
    others = {name: _matching_places(board[name], search) for name in ("benchmarks", "copies")}
    return board | others | {"entries": first, "next_after": first[-1]["rank"] if more and first else None}


def _matching_places(places: list[View], search: str) -> list[View]:
    return [each for each in places if search.casefold() in each["team"].casefold()]


def leaderboard(slug: str, *, private: bool, late: bool, limit: int) -> Operation[Board]:
    """The first places of a board."""
    return Board.of((yield from board_view(slug, private=private, late=late, search="", limit=limit)))


def entries(slug: str, url: str, limit: int) -> Operation[list[Entry]]:
    """The team's newest entries."""
    page = yield from get(f"/competitions/{segment(slug)}/submissions", limit=limit)
    return [Entry.of(view, url) for view in page["submissions"]]


def entry(submission: str, url: str) -> Operation[Entry]:
    """One entry."""
    return Entry.of((yield from get(f"/submissions/{segment(submission)}")), url)


def wait(submission: str, url: str) -> Operation[Entry]:
    """An entry in its last state, which is waited for as long as it takes."""
    retries = Retries()
    while True:
        try:
            current = yield from entry(submission, url)
            retries.reset()
            if current.finished:
                return current
            yield Pause(POLL_SECONDS)
        except Refused as refusal:
            yield Pause(retries.seconds_after(refusal))


def check(slug: str, path: Path, progress: StageProgress) -> Operation[ZipCheck]:
    """Check a zip by a competition's specification, without sending it."""
    with open_file(path) as file:
        return (yield from check_images(slug, file, progress))


def submit(slug: str, path: Path, url: str, note: str, progress: StageProgress, *, check: bool) -> Operation[Entry]:
    """Hand in a zip: the upload begun earlier with the same bytes, name and note goes on."""
    with open_file(path) as file:
        name = path.name[-MAX_NAME_LENGTH:]
        resumable: ResumableUpload = yield LocalWork(
            lambda: resumable_upload_of(url, slug, file, file_name=name, note=note)
        )
        state = yield from begin_upload(resumable)
        submission = yield from finish_upload(resumable, state, file, progress, check=check)
        return (yield from entry(submission, url))


def cancel(submission: str, url: str) -> Operation[Entry]:
    """Take an entry back before its scoring begins."""
    return Entry.of((yield from call("POST", f"/submissions/{segment(submission)}/cancel")), url)


def pick(slug: str, submissions: Sequence[str]) -> Operation[View]:
    """Pick the entries by which the team will be ranked in the end; the service's answer."""
    path = f"/competitions/{segment(slug)}/picks"
    picks: View = yield from call("PUT", path, json={"submissions": list(submissions)})
    return picks
