"""The client for programs and notebooks: the programs of the how-to pages, and ``kennel-client`` installed alone."""

import ast
import asyncio
import json
import os
import subprocess
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from platformdirs import user_state_path

from kennel_client import AsyncClient, Client, Entry, Invalid, Refused, Unreachable
from tests.api.cli_runner import working_worker
from tests.api.conftest import Service
from tests.factories import make_zip, near_copies, noise_images, with_a_wrong_image
from tests.flaky_proxy import FlakyProxy
from tests.http_server import serve

pytestmark = pytest.mark.usefixtures("one_day")
HOW_TO = Path(__file__).parents[3] / "docs" / "how-to"
SUBMIT = HOW_TO / "submit-from-a-notebook.md"


@pytest.fixture
def address(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The service's address, for a user in an empty folder without a login."""
    for name in ("KENNEL_URL", "KENNEL_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    with serve(service.app) as url:
        yield url


def programs(address: str, token: str, how_to: Path) -> list[str]:
    """Return the programs of a how-to, adapted to this service."""
    parts = how_to.read_text().split("```python\n")[1:]
    return [
        part.partition("```")[0].replace("https://kennel.example.org", address).replace("the token", token)
        for part in parts
    ]


def run_cell(program: str, names: dict[str, Any]) -> Any:
    """Run a program like a notebook cell and return the value of its last line."""
    *lines, last = ast.parse(program).body
    if not isinstance(last, ast.Expr):
        lines, shown = [*lines, last], None
    else:
        shown = ast.Expression(last.value)
    exec(compile(ast.Module(lines, []), "a cell", "exec"), names)
    return None if shown is None else eval(compile(shown, "a cell", "eval"), names)


def test_the_how_tos_programs_submit_and_read_the_board(
    service: Service, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    slug = service.competition(slug="dogs")
    Path("entry.zip").write_bytes(make_zip(noise_images(9)))
    first, large, board, with_a_loop = programs(address, service.tokens["ada"], SUBMIT)
    assert len([line for line in first.splitlines() if line]) <= 5
    names: dict[str, Any] = {}
    with working_worker(service):
        entry = run_cell(first, names)
        assert isinstance(entry, Entry)
        assert entry.status == "scored"
        assert f'<a href="{address}/submissions/{entry.id}">entry.zip</a>' in entry._repr_html_()
        assert entry.public is not None
        assert f"<td>{entry.public.mifid:.2f}</td>" in entry._repr_html_()
        run_cell(large, names)
        run_cell(board, names)
        run_cell(with_a_loop, names)
    lines = capsys.readouterr().out.splitlines()
    listed = service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    assert [entry["note"] for entry in listed] == ["second network", "third network", ""]
    (place,) = service.call("ada", "GET", f"/competitions/{slug}/leaderboard").json()["entries"]
    assert lines[0].startswith(f"{place['rank']} {place['team']} ")
    assert lines[2] == f"{entry.id} scored {entry.page}"
    assert lines[3] == f"{listed[0]['id']} scored 1"
    names["client"].close()


def test_a_refused_zip_is_not_an_entry(service: Service, address: str) -> None:
    slug = service.competition(rules="Be fair.")
    Path("fine.zip").write_bytes(make_zip(noise_images(9)))
    Path("wrong.zip").write_bytes(with_a_wrong_image(noise_images(9)))
    Path("one.zip").write_bytes(make_zip(noise_images(9, 1)))
    with Client(address, service.tokens["ada"]) as client:
        assert client.competition(slug).rules_accepted is False
        with pytest.raises(Refused) as unread:
            client.submit(slug, "fine.zip")
        assert unread.value.slug == "rules-not-accepted"
        client.accept_rules(slug)
        assert client.competition(slug).rules_accepted is True
        assert client.check(slug, "fine.zip").pixels_decoded
        with pytest.raises(Invalid) as faulty:
            client.submit(slug, "wrong.zip")
        assert faulty.value.slug == "bad-images"
        only = r"^one.zip: The zip has 1 image \(00000.png\); the competition requires 8.$"
        with pytest.raises(Invalid, match=only):
            client.check(slug, "one.zip")
        with pytest.raises(Refused, match=only):
            client.submit(slug, "one.zip", check=False)
        assert client.entries(slug) == []


def test_the_client_follows_an_entry_to_the_board(service: Service, address: str) -> None:
    slug = service.competition(final_picks=1)
    Path("fine.zip").write_bytes(make_zip(noise_images(9)))
    steps: list[tuple[str, float]] = []
    with Client(address, service.tokens["ada"]) as client:
        assert [competition.slug for competition in client.competitions()] == [slug]
        entry = client.submit(slug, "fine.zip", note="n", progress=lambda *step: steps.append(step))
        assert (entry.status, entry.note, entry.finished) == ("received", "n", False)
        assert dict.fromkeys(stage for stage, _ in steps) == dict.fromkeys(["checking", "uploading"])
        assert steps[-1] == ("uploading", 1.0)
        assert client.pick(slug, [entry.id])["submissions"] == [entry.id]
        service.run_jobs()
        assert client.wait(entry.id).status == client.entry(entry.id).status == "scored"
        assert [place.rank for place in client.leaderboard(slug).places] == [1]
        again = client.submit(slug, "fine.zip", check=False)
        assert again.id != entry.id
        assert client.cancel(again.id).status == "cancelled"
        assert [entry.status for entry in client.entries(slug)] == ["cancelled", "scored"]
        assert client.api.get("/me")["handle"] == "ada"
    assert list((user_state_path("kennel") / "uploads").iterdir()) == [], "no upload is unfinished"


def test_an_asynchronous_upload_survives_lost_connections(service: Service, address: str) -> None:
    slug = service.competition(image_count=40, image_size=128)
    content = make_zip(noise_images(3, 40, 128))
    Path("big.zip").write_bytes(content)
    proxy = FlakyProxy([address], after=len(content) // 3, cuts=2)

    async def submit(url: str) -> Entry:
        async with AsyncClient(url, service.tokens["ada"]) as client:
            return await client.submit(slug, "big.zip")

    with proxy.running() as cutting:
        entry = asyncio.run(submit(cutting))
    assert proxy.cut == 2
    assert proxy.bytes_carried < 2 * len(content), "the upload resumed and did not restart"
    assert (entry.view["bytes"], entry.status) == (len(content), "received")


def test_the_login_of_the_environment_is_not_sent_elsewhere(
    service: Service, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KENNEL_URL", address)
    monkeypatch.setenv("KENNEL_TOKEN", service.tokens["ada"])
    with Client() as client:
        assert client.api.get("/me")["handle"] == "ada"
    monkeypatch.setenv("KENNEL_URL", "http://127.0.0.1:9")
    with Client(address) as client, pytest.raises(Refused) as anonymous:
        client.api.get("/me")
    assert anonymous.value.status == 401
    with Client() as client, pytest.raises(Unreachable):
        client.competitions()


def test_the_how_tos_programs_tune_review_and_publish(
    service: Service, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    slug = service.competition(slug="dogs")
    service.scored("ada", slug, noise_images(10))
    near = service.scored("bob", slug, near_copies())
    code = make_zip(noise_images(1, 1, 8))
    assert service.call("bob", "PUT", f"/submissions/{near['id']}/code", content=code).status_code == 200
    tune, review, publish, with_a_loop = programs(
        address, service.tokens["organizer"], HOW_TO / "organize-from-python.md"
    )
    names: dict[str, Any] = {}
    run_cell(tune.replace("tau=0.1", "tau=1.9"), names)  # also above the distance of noise
    assert capsys.readouterr().out == "penalised then: 1\n"
    run_cell(with_a_loop, names)
    assert capsys.readouterr().out.startswith("1.9 The jury's choice.\n")
    service.close(slug)
    admin = names["admin"]
    ruling = admin.rulings.rule(near["id"], "disqualify", "It copies.")
    body = {"text": "We trained it ourselves."}
    assert service.call("bob", "POST", f"/submissions/{near['id']}/rebuttals", json=body).status_code == 201
    run_cell(review, names)
    assert "We trained it ourselves." in capsys.readouterr().out
    assert (Path("code") / f"{near['id']}.zip").read_bytes() == code
    (rebuttal,) = admin.rulings.of(near["id"])["rebuttals"]
    assert (rebuttal["ruling_id"], rebuttal["answer"]["granted"]) == (ruling["id"], False)
    with working_worker(service):
        run_cell(publish, names)
    assert service.call(None, "GET", f"/competitions/{slug}").json()["phase"] == "final"
    made = admin.releases.all(slug)[0]
    assert (made["shown"], {str(path) for path in names["paths"]}) == (
        True,
        {f"release/{file['name']}" for file in made["files"]},
    )
    assert [path.name for path in Path("release").iterdir() if path.suffix == ".part"] == []
    names["client"].close()


def test_references_people_and_pages(service: Service, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods that the how-to does not show, and a list of several pages."""
    slug = service.competition()
    for who in ("ada", "bob"):
        assert service.submit(who, slug, make_zip(noise_images(9))).status_code == 202
    messages: list[str] = []
    with Client(address, service.tokens["organizer"]) as client:
        admin = client.admin
        Path("extra").mkdir()
        for number, image in enumerate(noise_images(7, 2, 16)):
            Image.fromarray(image).save(f"extra/{number}.png")
        assert admin.references.attach(slug, "private_extra", "extra", attach=False)["role"] == "private_extra"
        Path("extra/1.png").unlink()
        with pytest.raises(Refused, match=r"^extra: There is only 1 image \(0.png\); at least 2 are needed"):
            admin.references.attach(slug, "train", "extra", attach=False)
        with working_worker(service):
            admin.references.prepare(slug, say=messages.append)
        assert messages[-1].endswith("reference images are ready.")
        assert [entry["who"] for entry in admin.allowlist.invite(slug, ["eve"])] == ["eve"]
        admin.allowlist.uninvite(slug, "eve")
        assert admin.allowlist.all(slug) == []
        teams = admin.teams.all(slug)
        admin.teams.write(slug, teams[0]["id"], "Hello.")
        assert [message["text"] for message in admin.teams.messages(slug, teams[0]["id"])] == ["Hello."]
        assert {member["handle"] for team in teams for member in team["members"]} == {"ada", "bob"}
        with pytest.raises(Refused) as damaged:
            admin.rulings.rule("no-such-entry", "keep", "A reason.")
        assert damaged.value.status == 404
        assert len(admin.audit_log.newest(slug, limit=2)) == 2


CLIENT = Path(__file__).parents[3] / "client"
MAX_BYTES = 25_000_000
OF_PIP = ("pip", "pkg_resources", "setuptools", "_distutils_hack", "distutils-precedence.pth")


def test_the_client_alone_submits_in_a_new_environment(service: Service, tmp_path: Path) -> None:
    slug = service.competition()
    (tmp_path / "fine.zip").write_bytes(make_zip(noise_images(9)))
    (tmp_path / "receipt.json").write_text('{"receipt": {"issuer": "http://127.0.0.1:9"}, "jws": "a.b.c"}')
    (tmp_path / "keys.json").write_text('{"keys": []}')
    (tmp_path / "wrong.zip").write_bytes(with_a_wrong_image(noise_images(9)))
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    install = ("-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", str(CLIENT))
    run(environment / "bin" / "python", *install, folder=tmp_path)
    (packages,) = environment.glob("lib/python3*/site-packages")
    assert bytes_in(packages) < MAX_BYTES
    assert not list(packages.glob("PIL")), "no dependency installs Pillow"

    kennel = environment / "bin" / "kennel"
    assert run(kennel, "--version", folder=tmp_path).stdout.startswith("kennel-client ")
    refused = run(kennel, "up", folder=tmp_path, status=2)
    assert "`kennel up` needs the server" in refused.stderr
    program = f"""
from kennel_client import Client
with Client() as client:
    print(client.check({slug!r}, "fine.zip").pixels_decoded, client.submit({slug!r}, "fine.zip").status)
"""
    with serve(service.app) as url:
        login = {"KENNEL_URL": url, "KENNEL_TOKEN": service.tokens["ada"]}
        done = run(environment / "bin" / "python", "-c", program, folder=tmp_path, login=login)
        assert done.stdout == "False received\n"
        entry = json.loads(run(kennel, "submit", slug, "fine.zip", "--json", folder=tmp_path, login=login).stdout)
        faulty = run(kennel, "submit", slug, "wrong.zip", folder=tmp_path, status=1, login=login)
        receipt = run(kennel, "verify", "receipt.json", "--keys", "keys.json", folder=tmp_path, status=2, login=login)
        checked = run(kennel, "check", "fine.zip", "--competition", slug, folder=tmp_path, login=login)
    assert (entry["status"], entry["file_name"]) == ("received", "fine.zip")
    assert "pip install cryptography" in receipt.stderr
    assert "1 of 8 images can't be used." in faulty.stderr
    assert "pixels were not decoded, because Pillow is not installed" in checked.stdout
    assert len(service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]) == 2


def bytes_in(packages: Path) -> int:
    """Return the size of the client and its dependencies, without bytecode and pip."""
    files = [path for path in packages.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return sum(path.stat().st_size for path in files if not path.relative_to(packages).parts[0].startswith(OF_PIP))


def run(
    command: Path, *arguments: str, folder: Path, login: dict[str, str] | None = None, status: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run a command in a clean environment and return the finished process."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        **{name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP"))},
        **(login or {}),
    }
    done = subprocess.run(
        [command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done
