"""The methods of organizers against a running service: the programs are those of the how-to."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from kennel_client import Client, Refused
from tests.api.cli_runner import working_worker
from tests.api.conftest import Service
from tests.api.review.test_review import near_copies
from tests.api.submissions.test_client import address, programs, run_cell
from tests.api.teams.test_final_picks_and_code import close
from tests.factories import noise_images, zip_of

__all__ = ["address"]
pytestmark = pytest.mark.usefixtures("one_day")
HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "organize-from-python.md"


def test_the_programs_of_the_how_to_tune_review_and_publish(
    service: Service, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    slug = service.competition(slug="dogs")
    service.scored("ada", slug, noise_images(10))
    near = service.scored("bob", slug, near_copies())
    code = zip_of(noise_images(1, 1, 8))
    assert service.call("bob", "PUT", f"/submissions/{near['id']}/code", content=code).status_code == 200
    tune, review, publish, with_a_loop = programs(address, service.tokens["organizer"], HOW_TO)
    names: dict[str, Any] = {}
    run_cell(tune.replace("tau=0.1", "tau=1.9"), names)  # above the distance of noise, too
    assert capsys.readouterr().out == "penalised then: 1\n"
    run_cell(with_a_loop, names)
    assert capsys.readouterr().out.startswith("1.9 The jury's choice.\n")
    close(service, slug)
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
    assert (made["shown"], {str(each) for each in names["paths"]}) == (
        True,
        {f"release/{file['name']}" for file in made["files"]},
    )
    assert [each.name for each in Path("release").iterdir() if each.suffix == ".part"] == []
    names["client"].close()


def test_references_people_and_pages(service: Service, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the how-to does not show; a list that has several pages."""
    slug = service.competition()
    for who in ("ada", "bob"):
        assert service.submit(who, slug, zip_of(noise_images(9))).status_code == 202
    said: list[str] = []
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
            admin.references.prepare(slug, say=said.append)
        assert said[-1].endswith("reference images are ready.")
        assert [each["who"] for each in admin.allowlist.invite(slug, ["eve"])] == ["eve"]
        admin.allowlist.uninvite(slug, "eve")
        assert admin.allowlist.all(slug) == []
        teams = admin.teams.all(slug)
        admin.teams.write(slug, teams[0]["id"], "Hello.")
        assert [each["text"] for each in admin.teams.messages(slug, teams[0]["id"])] == ["Hello."]
        assert {member["handle"] for team in teams for member in team["members"]} == {"ada", "bob"}
        with pytest.raises(Refused) as damaged:
            admin.rulings.rule("no-such-entry", "keep", "A reason.")
        assert damaged.value.status == 404
        assert len(admin.audit_log.newest(slug, limit=2)) == 2
