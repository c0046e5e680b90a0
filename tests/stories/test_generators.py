"""Generators as entries, in a browser, by command and with the kaggle client: from the upload to both boards."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from deploy.demo.accounts import new_token
from scorer.confinement.import_path import IMPORT_PATH
from tests.api.kaggle.kaggle_client import KaggleClient, official
from tests.linear_generators import honest_generator
from tests.stories import clients
from tests.stories.conftest import ADDRESS, RunningService, until
from tests.stories.conftest import Browser as Account
from tests.web.browser import LOAD_IMAGES, publish_board, take_pictures, visit
from tests.web.conftest import browser, browser_and_loop

__all__ = ["browser", "browser_and_loop", "official"]
SIZE, DIMENSION = 16, 12
ALL_DRAWS_SECONDS = 300
"""Each check and each draw starts a process of its own."""
KENNEL = str(Path(sys.executable).with_name("kennel"))


def kennel(person: clients.Participant, *arguments: str) -> str:
    """The output of a ``kennel`` command."""
    return person.run(KENNEL, *arguments, PYTHONPATH=IMPORT_PATH)


@contextmanager
def signed_in(browser: Browser, account: Account, address: str) -> Iterator[Page]:
    """The account's tab at this address. No script in it may fail."""
    cookie = {"name": "kennel", "value": account.http.cookies["kennel"], "domain": ADDRESS, "path": "/", "expires": -1}
    state = {"cookies": [{**cookie, "httpOnly": True, "secure": False, "sameSite": "Lax"}], "origins": []}
    with visit(browser, address, storage_state=state) as tab:
        yield tab.page
        assert tab.console_messages == []


def upload(page: Page, file: Path) -> str:
    """Follow the link of the competition's page and submit the file. Returns the entry's ID."""
    page.get_by_role("link", name="Submit an entry").click()
    page.get_by_label("Latent dimension").fill(str(DIMENSION))
    page.get_by_label("Distribution").select_option("normal")
    take_pictures(page, "submit")
    page.set_input_files("#file", file)
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/submissions/*")
    take_pictures(page, "pending")
    return page.url.rpartition("/")[2]


def require_board(page: Page, people: list[clients.Participant]) -> None:
    """Require that the board ranks these people's teams, and nobody else."""
    teams = page.locator("table.board tbody:not(.pinned) th.team bdi")
    expect(teams).to_have_count(len(people))
    assert set(teams.all_inner_texts()) == {person.handle for person in people}


def publish_both_boards(live: RunningService, browser: Browser, slug: str) -> None:
    organizer = live.browser("organizer")
    live.admin.admin.roles.offer(slug, organizer.handle, "organizer")
    organizer.call("PUT", f"/competitions/{slug}/role")
    with signed_in(browser, organizer, f"{live.url}/competitions/{slug}/publication") as page:
        take_pictures(page, "publication")
        publish_board(page, "provisional")
        page.goto(f"{live.url}/competitions/{slug}/publication")
        publish_board(page, "final")


@pytest.mark.heavy
@pytest.mark.timeout(600)  # the first run installs the kaggle client from PyPI
def test_generators_go_from_the_upload_to_both_boards_and_are_verified(
    live: RunningService, official: KaggleClient, browser: Browser, tmp_path: Path
) -> None:
    slug = live.competition(entries="generator", draws={"public": 1, "private": 1})
    accounts = {way: live.browser(way) for way in ("browser", "command", "kaggle")}
    people = []
    for seed, (way, account) in enumerate(accounts.items()):
        token = new_token(live.settings, account.handle, "participant")
        (folder := tmp_path / way).mkdir()
        person = clients.Participant(live.url, slug, account.handle, token, folder, "g.onnx")
        person.file.write_bytes(honest_generator(seed, SIZE, DIMENSION))
        people.append(person)
    by_browser, by_command, by_kaggle = people

    with signed_in(browser, accounts["browser"], f"{live.url}/competitions/{slug}") as page:
        entry = upload(page, by_browser.file)
        printed = kennel(by_command, "submit", slug, "g.onnx", "--latent", str(DIMENSION), "--distribution", "normal")
        assert "g.onnx" in printed
        kaggle_score = clients.by_kaggle_client(by_kaggle, official)
        entries = [found["id"] for found in live.admin.api.get(f"/competitions/{slug}/submissions")["submissions"]]
        assert len(entries) == len(people)
        until(lambda: all(live.is_scored(found) for found in entries), "all scores", patience=ALL_DRAWS_SECONDS)
        assert kaggle_score()
        page.get_by_role("heading", name="Public score").wait_for()
        page.evaluate(LOAD_IMAGES)
        expect(page.get_by_role("img", name=re.compile("images side by side"))).to_be_visible()
        take_pictures(page, "entry")
        page.goto(f"{live.url}/competitions/{slug}")
        require_board(page, people)
        take_pictures(page, "public-board")

        live.close(slug)
        publish_both_boards(live, browser, slug)
        for track in ("public", "private"):
            page.goto(f"{live.url}/competitions/{slug}?track={track}")
            require_board(page, people)
            take_pictures(page, f"final-{track}-board")

    (by_browser.folder / "receipt.json").write_text(kennel(by_browser, "receipt", entry))
    lines = kennel(by_browser, "verify", "receipt.json", "--generator", "g.onnx", "--threads", "1").splitlines()
    note = "  note: threads: 2 then, 1 now"
    assert lines[-4:] == ["public draw 1: equal, bit for bit", note, "private draw 1: equal, bit for bit", note]
