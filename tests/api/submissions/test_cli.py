"""The ``kennel`` command of participants: every subcommand, every exit status, and JSON for programs."""

import json
import signal
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from kennel_client.cli.exit_codes import ExitCode
from scorer.lifecycle import Status
from tests.api.cli_runner import CliTerminal, terminal, working_worker
from tests.api.conftest import API, Service
from tests.factories import make_zip, noise_images, with_a_wrong_image

__all__ = ["terminal"]
pytestmark = pytest.mark.usefixtures("one_day")
PASSWORD = "correct horse battery"


def write_zip(folder: Path, content: bytes, name: str = "dogs.zip") -> Path:
    """Write a zip to a folder."""
    path = folder / name
    path.write_bytes(content)
    return path


def saved_login(terminal: CliTerminal) -> dict[str, Any]:
    """Return the saved login. Require that only its owner can read it."""
    file = terminal.folder / "config" / "kennel" / "login.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    saved: dict[str, Any] = json.loads(file.read_text())
    return saved


def remembered(terminal: CliTerminal) -> list[Path]:
    """Return the saved state of unfinished uploads."""
    return list((terminal.folder / "state" / "kennel" / "uploads").glob("*"))


def test_an_entry_is_submitted_and_followed_to_its_score(
    terminal: CliTerminal, service: Service, tmp_path: Path
) -> None:
    slug = service.competition(daily_limit=5)
    file = write_zip(tmp_path, make_zip(noise_images(9)))
    with working_worker(service):
        done = terminal.run("submit", slug, file, "--note", "the first", "--watch")
    assert done.status == ExitCode.DONE, done.err
    assert "4 of 5 submissions left today" in done.out
    assert "MiFID" in done.out
    words = (line.split()[0].rstrip(":") for line in done.err.splitlines())
    steps = dict.fromkeys(word for word in words if word in set(Status))  # a busy service may also log
    assert list(steps) == ["received", "checking", "queued", "scoring", "scored"]
    (entry,) = service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    assert f"{terminal.url}/submissions/{entry['id']}" in done.out
    assert (entry["file_name"], entry["note"], entry["status"]) == ("dogs.zip", "the first", "scored")
    assert remembered(terminal) == []

    listed = terminal.run("status", "--json")
    assert [(entry["id"], entry["status"]) for entry in listed.document] == [(entry["id"], "scored")]
    assert entry["id"] in terminal.run("status", "--competition", slug).out
    one = terminal.run("status", entry["id"], "--watch", "--json")
    assert (one.status, one.document["status"]) == (ExitCode.DONE, "scored")
    assert one.document["page"] == f"{terminal.url}/submissions/{entry['id']}"

    assert terminal.run("cancel", entry["id"]).status == ExitCode.REFUSED


def test_a_repeated_zip_is_a_new_entry_and_can_be_cancelled(
    terminal: CliTerminal, service: Service, tmp_path: Path
) -> None:
    slug = service.competition()
    file = write_zip(tmp_path, make_zip(noise_images(9)))
    entry = service.entered("ada", slug, file.read_bytes())
    again = terminal.run("submit", slug, file, "--json")
    assert (again.status, again.document["status"]) == (ExitCode.DONE, "received")
    assert again.document["id"] != entry["id"]
    withdrawn = terminal.run("cancel", again.document["id"], "--json")
    assert (withdrawn.status, withdrawn.document["status"]) == (ExitCode.DONE, "cancelled")
    assert terminal.run("status", again.document["id"]).status == ExitCode.FAULTY


def test_picks_are_chosen_shown_and_cleared(terminal: CliTerminal, service: Service) -> None:
    slug = service.competition()
    entry = service.entered("ada", slug, make_zip(noise_images(9)))
    chosen = terminal.run("pick", slug, entry["id"], "--json")
    assert (chosen.status, chosen.document["submissions"]) == (ExitCode.DONE, [entry["id"]])
    assert "has picked 1" in terminal.run("pick", slug).out
    assert terminal.run("pick", slug, "--clear", "--json").document["chosen"] is False
    assert terminal.run("pick", slug, "--clear", entry["id"]).status == ExitCode.USAGE
    assert terminal.run("pick", slug, "-nothing").status == ExitCode.REFUSED


def test_faults_are_found_before_the_upload(terminal: CliTerminal, service: Service, tmp_path: Path) -> None:
    slug = service.competition()
    few = write_zip(tmp_path, make_zip(noise_images(9, 7)), "few.zip")
    wrong = write_zip(tmp_path, with_a_wrong_image(noise_images(9)))
    plain = terminal.run("submit", slug, wrong)
    assert plain.status == ExitCode.FAULTY
    assert "  - " in plain.err, "the output lists the first faults"
    as_json = terminal.run("submit", slug, wrong, "--json")
    assert (as_json.status, as_json.err) == (ExitCode.FAULTY, "")
    assert as_json.document["problem"]["type"] == "urn:kennel:problem:bad-images"
    assert as_json.document["problem"]["faults"]
    assert terminal.run("submit", slug, few).status == ExitCode.FAULTY
    assert terminal.run("submit", slug, few, "--no-check").status == ExitCode.FAULTY, "the service also refuses the zip"
    assert remembered(terminal) == []
    assert service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"] == []

    with working_worker(service):
        rejected = terminal.run("submit", slug, wrong, "--no-check", "--watch")
    assert rejected.status == ExitCode.FAULTY
    assert "rejected" in rejected.out
    assert "  - " in rejected.out


def test_a_zip_is_checked_for_a_competition_or_a_specification(
    terminal: CliTerminal, service: Service, tmp_path: Path
) -> None:
    slug = service.competition()
    fine = write_zip(tmp_path, make_zip(noise_images(9)), "fine.zip")
    asked = terminal.run("check", fine, "--competition", slug, "--json", who=None)
    assert (asked.status, asked.document["count"], asked.document["size"]) == (ExitCode.DONE, 8, 16)
    assert terminal.run("check", fine, "--count", 8, "--size", 16, who=None).status == ExitCode.DONE
    assert terminal.run("check", fine, "--count", 9, "--size", 16, who=None).status == ExitCode.FAULTY
    assert terminal.run("check", fine, "--competition", "none", who=None).status == ExitCode.REFUSED
    assert terminal.run("check", tmp_path / "gone.zip", who=None).status == ExitCode.USAGE
    assert terminal.run("submit", slug, tmp_path).status == ExitCode.USAGE


def test_refusals_have_exit_statuses_and_suggest_a_fix(terminal: CliTerminal, service: Service, tmp_path: Path) -> None:
    file = write_zip(tmp_path, make_zip(noise_images(9)))
    now = datetime.now(UTC)
    slug = service.competition(daily_limit=1)
    assert terminal.run("submit", slug, file).status == ExitCode.DONE
    full = terminal.run("submit", slug, file)
    assert full.status == ExitCode.LIMIT
    assert "You can submit again at" in full.err
    assert "Try again in" in full.err
    assert terminal.run("submit", slug, file, "--json").document["problem"]["type"].endswith(":daily-limit")

    over = service.competition(closes_at=now - timedelta(minutes=1))
    closed = terminal.run("submit", over, file)
    assert (closed.status, "closed at" in closed.err) == (ExitCode.REFUSED, True)


def test_missing_or_forbidden_things_have_exit_statuses(
    terminal: CliTerminal, service: Service, tmp_path: Path
) -> None:
    file = write_zip(tmp_path, make_zip(noise_images(9)))
    slug = service.competition()
    nobody = terminal.run("submit", slug, file, who=None)
    assert (nobody.status, "kennel login" in nobody.err) == (ExitCode.SIGN_IN, True)
    unknown = terminal.run("status", who="a token of nobody")
    assert (unknown.status, "kennel login" in unknown.err) == (ExitCode.SIGN_IN, True)
    missing = terminal.run("leaderboard", "none")
    assert (missing.status, "kennel competitions" in missing.err) == (ExitCode.REFUSED, True)
    assert terminal.run("status", "none").status == ExitCode.REFUSED
    assert terminal.run("leaderboard", slug, "--private").status == ExitCode.REFUSED
    assert terminal.run("leaderboard").status == ExitCode.USAGE
    gone = terminal.run("status", "--json", url="http://127.0.0.1:9")
    assert gone.status == ExitCode.NO_ANSWER
    assert gone.document["problem"]["type"] == "urn:kennel:problem:no-answer"
    assert terminal.run("competitions", url=f"{terminal.url}/static").status in {ExitCode.REFUSED, ExitCode.NO_ANSWER}
    assert terminal.run("admin", "competition", "update", "none", tmp_path / "gone.toml").status == ExitCode.USAGE


def test_rules_are_shown_and_accepted(terminal: CliTerminal, service: Service, tmp_path: Path) -> None:
    slug = service.competition(rules="Play fair.\x1b[31m\nNo copies.")
    file = write_zip(tmp_path, make_zip(noise_images(9)))
    refused = terminal.run("submit", slug, file)
    assert (refused.status, "kennel rules" in refused.err) == (ExitCode.REFUSED, True)
    result = terminal.run("rules", slug)
    assert result.status == ExitCode.DONE
    assert "No copies." in result.out
    assert "\x1b" not in result.out, "rules cannot control the terminal"
    assert "have not accepted" in result.out
    accepted = terminal.run("rules", slug, "--accept", "--json")
    assert (accepted.status, accepted.document["rules_accepted"]) == (ExitCode.DONE, True)
    assert terminal.run("submit", slug, file).status == ExitCode.DONE
    assert terminal.run("rules", service.competition(), "--accept").status == ExitCode.REFUSED, (
        "the competition has no rules"
    )
    phases = {
        competition["slug"]: competition["phase"] for competition in terminal.run("competitions", "--json").document
    }
    assert phases[slug] == "open"
    listed = terminal.run("competitions", who=None).out
    assert slug in listed
    assert "entries" in listed.splitlines()[0]


def test_the_board_is_printed_as_table_json_and_csv(terminal: CliTerminal, service: Service) -> None:
    slug = service.competition()
    for number, who in enumerate(("ada", "bob", "eve")):
        service.scored(who, slug, noise_images(20 + number))
    board = terminal.run("leaderboard", slug, "--json", who=None)
    teams = [entry["team"] for entry in board.document["entries"]]
    assert len(teams) == 3
    assert board.document["next_after"] is None
    table = terminal.run("leaderboard", slug, who=None).out
    assert all(team in table for team in teams)
    first = terminal.run("leaderboard", slug, "--json", "--limit", 1).document
    assert ([entry["team"] for entry in first["entries"]], first["next_after"]) == (teams[:1], 1)
    leaderboard = terminal.run("leaderboard", slug, "--json", "--search", teams[2].upper()).document
    assert [entry["rank"] for entry in leaderboard["entries"]] == [3]
    as_csv = terminal.run("leaderboard", slug, "--format", "csv").out
    path = f"{terminal.url}{API}/competitions/{slug}/leaderboard?format=csv"
    assert as_csv == httpx.get(path).text
    head, row = terminal.run("leaderboard", slug, "--format", "csv", "--search", teams[1]).out.splitlines()
    assert (head, row.split(",")[:2]) == (as_csv.splitlines()[0], ["2", teams[1]])
    assert terminal.run("leaderboard", slug, "--format", "csv", "--json").status == ExitCode.USAGE


def test_signing_in_with_a_token(terminal: CliTerminal, service: Service) -> None:
    by_token = terminal.run("login", "--token-stdin", who=None, stdin=f"{service.tokens['bob']}\n")
    assert by_token.status == ExitCode.DONE, by_token.err
    assert "Signed in as bob" in by_token.out
    assert service.tokens["bob"] not in by_token.out + by_token.err
    assert saved_login(terminal)["token"] == service.tokens["bob"]
    assert terminal.run("status", "--json", who=None).status == ExitCode.DONE
    elsewhere = terminal.run("status", who=None, url="http://127.0.0.1:9")
    assert elsewhere.status == ExitCode.SIGN_IN, "the token is not sent to other services"
    assert terminal.run("status", who="a token of nobody").status == ExitCode.SIGN_IN, "the environment has priority"
    assert terminal.run("login", "--token-stdin", who=None, stdin="wrong\n").status == ExitCode.SIGN_IN
    assert terminal.run("login", "--token-stdin", who=None, url="gopher://x").status == ExitCode.USAGE
    scarce = terminal.run("login", "--token-stdin", "--organize", who=None, stdin=service.tokens["bob"])
    assert "lacks the scope organize" in scarce.err
    assert "bob is signed out" in terminal.run("logout", who=None).out
    assert terminal.run("status", who=None).status == ExitCode.SIGN_IN
    assert "not signed in" in terminal.run("logout", who=None).out


def test_an_unreadable_login_is_replaced(terminal: CliTerminal, service: Service) -> None:
    broken = terminal.folder / "config" / "kennel" / "login.json"
    broken.parent.mkdir(parents=True, mode=0o700)
    broken.write_text("{")
    assert terminal.run("status", who=None).status == ExitCode.USAGE
    assert terminal.run("login", "--token-stdin", who=None, stdin=service.tokens["eve"]).status == ExitCode.DONE
    assert saved_login(terminal)["handle"] == "eve"


def test_organizers_and_participants_sign_in_the_same_way(terminal: CliTerminal, service: Service) -> None:
    slug = service.competition()
    assert terminal.run("admin", "role", "list", slug, who=None).status == ExitCode.SIGN_IN
    assert terminal.run("login", "--token-stdin", who=None, stdin=service.tokens["organizer"]).status == ExitCode.DONE
    roles = terminal.run("admin", "role", "list", slug, who=None)
    assert (roles.status, "organizer" in roles.out) == (ExitCode.DONE, True), roles.err
    assert terminal.run("admin", "role", "list", slug, who="a token of nobody").status == ExitCode.SIGN_IN


def test_interactive_sign_in_and_acceptance_of_the_rules(
    terminal: CliTerminal, service: Service, tmp_path: Path
) -> None:
    body = {"handle": "grace", "email": "grace@example.org", "password": PASSWORD}
    assert service.call(None, "POST", "/accounts", json=body).status_code == 201
    answers = {"API token": "", "Handle": "grace", "Password": PASSWORD}
    seen = terminal.run_interactively("login", answers, hidden=("API token", "Password"))
    assert "Signed in as grace" in seen
    assert PASSWORD not in seen
    login = saved_login(terminal)
    assert (login["handle"], login["url"]) == ("grace", terminal.url)
    headers = {"Authorization": f"Bearer {login['token']}"}
    (made,) = httpx.get(f"{terminal.url}{API}/tokens", headers=headers).json()["tokens"]
    assert (made["id"], sorted(made["scopes"])) == (login["token_id"], ["read", "submit"])
    assert httpx.get(f"{terminal.url}{API}/sessions", headers=headers).json()["sessions"] == [], (
        "the command ends its session"
    )

    slug = service.competition(rules="No copies.")
    file = write_zip(tmp_path, make_zip(noise_images(9)))
    assert "No copies." in terminal.run_interactively(f"submit {slug} {file}", {"Do you accept": "n"})
    assert service.call("organizer", "GET", f"/competitions/{slug}/submissions").json()["submissions"] == []
    seen = terminal.run_interactively(f"submit {slug} {file}", {"Do you accept": "y"})
    assert "uploading" in seen, "a progress bar"
    (entry,) = service.call("organizer", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    assert (entry["submitted_by"], entry["id"] in seen) == ("grace", True)

    assert terminal.run("logout", who=None).status == ExitCode.DONE
    assert httpx.get(f"{terminal.url}{API}/me", headers=headers).status_code == 401, "the token is revoked"


def test_ctrl_c_does_not_cancel_the_entry(terminal: CliTerminal, service: Service, tmp_path: Path) -> None:
    slug = service.competition()
    file = write_zip(tmp_path, make_zip(noise_images(9)))
    with terminal.started("submit", slug, file, "--watch") as (process, says):
        line = says.readline()
        while line and "received" not in line:
            line = says.readline()
        assert line.startswith("received (position 1")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == ExitCode.INTERRUPTED
        assert "Scoring continues without this command" in says.read()
    (entry,) = service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    assert entry["status"] == "received"
    with working_worker(service):
        assert terminal.run("status", "--watch").status == ExitCode.DONE
    assert service.call("ada", "GET", f"/submissions/{entry['id']}").json()["status"] == "scored"
