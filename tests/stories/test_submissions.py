"""An entry from its upload to both boards."""

import hashlib
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.demo.accounts import new_token
from kennel_client.errors import Refused
from scorer.monitoring.traces import compute_trace_id
from tests.api.kaggle.kaggle_client import KaggleClient, official
from tests.factories import make_zip, noise_images, with_a_wrong_image
from tests.stories import clients
from tests.stories.collector import SeenSpan
from tests.stories.conftest import RunningService, submit, until

__all__ = ["official"]


def test_a_zip_goes_from_the_upload_to_both_boards(live: RunningService) -> None:
    slug, ada = live.competition(), live.person("ada")
    entry = submit(ada, slug, make_zip(noise_images(10)))
    assert entry["status"] in {"received", "checking"}
    scored = live.wait(entry["id"])
    assert [measurement["track"] for measurement in scored["measurements"]] == ["public", "private"]
    own = ada.entry(entry["id"])
    assert [measurement.track for measurement in own.measurements] == ["public"]
    assert [place.team for place in ada.leaderboard(slug).places] == [scored["team"]]
    with pytest.raises(Refused) as refused:
        ada.leaderboard(slug, private=True)
    assert refused.value.status == 403


def test_a_faulty_zip_is_rejected_by_name_and_not_counted(live: RunningService) -> None:
    slug, ada = live.competition(daily_limit=1), live.person("ada")
    rejected = ada.wait(submit(ada, slug, with_a_wrong_image(noise_images(10)))["id"])
    assert rejected.status == "rejected"
    assert "00003.png" in rejected.faults[0]
    assert ada.wait(submit(ada, slug, make_zip(noise_images(10)))["id"]).status == "scored"


@pytest.mark.heavy
@pytest.mark.timeout(600)  # the first run installs two clients from PyPI
def test_five_clients_get_the_same_score_for_the_same_zip(
    live: RunningService, official: KaggleClient, tmp_path: Path
) -> None:
    slug = live.competition()
    content = make_zip(noise_images(10))
    submitting: dict[str, Callable[[clients.Participant], clients.ScoreReader]] = {
        "generated": clients.by_generated_client,
        "kennel-client": clients.by_kennel_client,
        "kaggle": lambda person: clients.by_kaggle_client(person, official),
        "tuspy": clients.by_tuspy,
        "curl": clients.by_curl,
    }
    readers = {}
    for name, submit_as in submitting.items():
        handle = f"{name}-{time.monotonic_ns()}"
        token = new_token(live.settings, handle, "participant", name=handle)
        person = clients.Participant(live.url, slug, handle, token, tmp_path / name)
        person.folder.mkdir()
        person.file.write_bytes(content)
        readers[name] = submit_as(person)
    scores = {name: until(read, f"the score by {name}") for name, read in readers.items()}
    entries = live.admin.api.get(f"/competitions/{slug}/submissions")["submissions"]
    assert [entry["sha256"] for entry in entries] == [hashlib.sha256(content).hexdigest()] * len(submitting)
    (mifid,) = {entry["measurements"][0]["mifid"] for entry in entries}
    assert scores.pop("kaggle") == pytest.approx(mifid, abs=1e-5), "kaggle prints five decimals"
    assert scores == dict.fromkeys(scores, mifid)


def test_an_entry_has_one_trace_from_its_upload_to_its_scores(live: RunningService) -> None:
    slug = live.competition()
    entry = submit(live.person("grace"), slug, make_zip(noise_images(11)))
    live.wait(entry["id"])
    wanted = ["accepted", "wait for check", "check", "wait for score", "score", "wait for score", "score"]

    def spans() -> list[SeenSpan] | None:
        of_entry = live.collector.in_trace(compute_trace_id(entry["id"]))
        names = [span.name for span in of_entry if span.name in wanted]  # evidence may come at any time
        return of_entry if sorted(names) == sorted(wanted) else None

    seen = {span.name: span for span in until(spans, "the spans of an entry")}
    assert {span.attributes["kennel.submission_id"] for span in seen.values()} == {entry["id"]}
    assert (seen["accepted"].service, seen["check"].service) == ("kennel-web", "kennel-worker")
    assert seen["check"].attributes["kennel.outcome"] == "done"
    assert seen["wait for check"].began <= seen["check"].began
    in_request = live.collector.in_trace(*seen["accepted"].links)
    (request,) = (span for span in in_request if "kennel.request_id" in span.attributes)
    assert request.attributes["kennel.submission_id"] == entry["id"]
    assert isinstance(request.attributes["kennel.job_id"], int)
