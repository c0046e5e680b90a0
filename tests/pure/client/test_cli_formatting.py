"""Output of the participants' commands, and their exit statuses."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kennel_client.cli import submissions
from kennel_client.cli.exit_codes import (
    EXIT_CODE_TEXTS,
    ExitCode,
    build_problem,
    choose_exit_code,
    exit_codes_help,
    format_error,
)
from kennel_client.cli.formatting import (
    format_duration,
    format_time,
    terminal_safe,
    terminal_safe_lines,
)
from kennel_client.errors import Refused, Unreachable, Unreadable
from kennel_client.results import format_number
from kennel_client.waiting import EventReader
from scorer.errors import Invalid

QUIET = {"stage": None, "stage_in_words": None, "fraction": None, "queue_position": None, "estimate_seconds": None}


def refused(status: int, slug: str = "x") -> Refused:
    return Refused(status, {"type": f"urn:kennel:problem:{slug}", "title": "No."})


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Invalid("bad-images", "Bad."), ExitCode.FAULTY),
        (Unreachable("Gone."), ExitCode.NO_ANSWER),
        (refused(500), ExitCode.NO_ANSWER),
        (refused(0), ExitCode.FAULTY),
        (Unreadable("No file."), ExitCode.USAGE),
        (refused(401, "bad-token"), ExitCode.SIGN_IN),
        (refused(403, "wrong-scope"), ExitCode.SIGN_IN),
        (refused(403, "rules-not-accepted"), ExitCode.REFUSED),
        (refused(404), ExitCode.REFUSED),
        (refused(409, "closed"), ExitCode.REFUSED),
        (refused(422), ExitCode.REFUSED),
        (refused(429, "daily-limit"), ExitCode.LIMIT),
    ],
)
def test_each_kind_of_failure_has_its_exit_status(error: Refused | Invalid, status: ExitCode) -> None:
    assert choose_exit_code(error) is status


def test_an_invalid_upload_has_the_status_of_a_faulty_zip() -> None:
    assert {choose_exit_code(refused(status), uploading=True) for status in (413, 422)} == {ExitCode.FAULTY}
    assert choose_exit_code(refused(409, "closed"), uploading=True) is ExitCode.REFUSED


def test_every_status_is_explained() -> None:
    assert set(EXIT_CODE_TEXTS) == set(ExitCode)
    assert all(f"{status.value}: " in exit_codes_help() for status in ExitCode)


def test_errors_of_the_client_and_of_the_service_read_alike() -> None:
    local = Invalid("bad-images", "Two are wrong.", faults=["a.png: too small", "b.png: grey"], fault_count=2)
    remote = Refused(422, build_problem(local))
    assert format_error(local) == format_error(remote) == "Two are wrong.\n  - a.png: too small\n  - b.png: grey"
    assert remote.slug == "bad-images"
    assert build_problem(remote)["fault_count"] == 2


@given(st.text())
def test_no_terminal_control_character_remains(text: str) -> None:
    assert all(
        character.isprintable() or character in "\u200c\u200d\u00a0\u3000" or character.isspace()
        for character in terminal_safe(text)
    )
    assert not set(terminal_safe(text)) & set("\x1b\x07\r\n\x9b\u202e")
    assert "\x1b" not in terminal_safe_lines(text)


def test_times_and_numbers() -> None:
    spans = {0.2: "1 s", 89: "89 s", 90: "2 min", 240: "4 min", 3599: "1 h 0 min", 18_720: "5 h 12 min", 2e5: "2 d"}
    assert {seconds: format_duration(seconds) for seconds in spans} == spans
    assert format_time("2026-03-14T13:00:00+01:00") == "2026-03-14 12:00 UTC"
    assert (format_time(None), format_number(None), format_number(1.236), format_number(0.12345, 4)) == (
        "-",
        "-",
        "1.24",
        "0.1235",
    )


def test_a_state_is_one_line() -> None:
    def line(status: str, **changes: object) -> str:
        return submissions.event_text({"status": status, **QUIET, **changes})

    assert line("queued", queue_position=3, estimate_seconds=240) == "queued (position 3, about 4 min)"
    assert line("queued", queue_position=3) == "queued (position 3)"
    features = {"stage": "features", "stage_in_words": "features"}
    assert line("scoring", **features, fraction=0.624, estimate_seconds=50) == "scoring: features 62 %"
    assert line("scored") == "scored"


def test_events_are_read_line_by_line() -> None:
    first, last = (json.dumps({"status": status, "over": status == "scored"}) for status in ("queued", "scored"))
    lines = ["retry: 2000", "", ": still here", "", "id: 7", f"data: {first}", "", f"data:{last}", "id:8", "", "id: 9"]
    seen: list[tuple[str, object]] = []
    reader = EventReader(lambda state: seen.append((reader.last_id, state["status"])))
    assert [reader.read(line) for line in lines].index(True) == len(lines) - 2
    assert seen == [("7", "queued"), ("8", "scored")]
