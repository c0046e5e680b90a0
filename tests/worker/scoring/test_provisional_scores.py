"""Provisional scores in the worker: made if the operator wants them; their failure delays nothing."""

import logging
from dataclasses import replace
from typing import Any

import pytest

from scorer.errors import Unavailable
from scorer.extractors import Extractor, ExtractorOptions, Precision, load
from tests.api.conftest import Service
from tests.factories import noise_images, zip_of
from worker.runtime.context import WorkerContext
from worker.scoring.measure import RawMeasurement, measure


@pytest.fixture
def asked(service: Service, monkeypatch: pytest.MonkeyPatch) -> list[Precision]:
    """Where the operator wants them: the precisions that were asked for, while ``tiny`` passes for a network that
    has both."""
    heard: list[Precision] = []

    def extractor(_: WorkerContext, identity: str, precision: Precision = "float32", **__: bool) -> Extractor:
        heard.append(precision)
        loaded = load(identity, options=ExtractorOptions())
        loaded.provenance["precision"] = precision
        return loaded

    settings = service.context.settings.model_copy(update={"provisional": True})
    service.context = replace(service.context, settings=settings)
    monkeypatch.setattr(WorkerContext, "extractor", extractor)
    return heard


@pytest.fixture
def between(service: Service, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The entry as its team sees it right before each final measurement."""
    seen: list[Any] = []

    def watched(images: Any, extractor: Extractor, *others: Any) -> RawMeasurement:
        newest = service.call("ada", "GET", "/competitions").json()[0]["slug"]
        seen.append(service.call("ada", "GET", f"/competitions/{newest}/submissions").json()["submissions"][0])
        return measure(images, extractor, *others)

    monkeypatch.setattr("worker.scoring.score.measure", watched)
    return seen


def test_a_team_sees_it_only_until_the_final_one_is_there(
    service: Service, asked: list[Precision], between: list[Any]
) -> None:
    final = service.scored("ada", service.competition(), noise_images(10))
    public, private = between
    assert (public["status"], public["measurements"]) == ("scoring", [])
    provisional = public["provisional"]
    assert (provisional["provisional"], provisional["precision"], provisional["copy"]) == (True, "bfloat16", False)
    assert provisional["fid"] == final["measurements"][0]["fid"], "in truth tiny has one precision"
    assert provisional["mifid"] == final["measurements"][0]["mifid"]
    assert (private["status"], private["provisional"], final["provisional"]) == ("scored", None, None)
    assert asked.count("bfloat16") == 1, "the private track has none"


def test_what_goes_wrong_with_it_delays_nothing(
    service: Service, asked: list[Precision], between: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: WorkerContext, identity: str, precision: Precision = "float32", **__: bool) -> Extractor:
        if precision == "bfloat16":
            raise Unavailable("no-bfloat16", "This processor does not have it.")
        return load(identity, options=ExtractorOptions())

    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.WARNING, "worker.scoring.provisional"):
        patch.setattr(WorkerContext, "extractor", refuse)
        final = service.scored("ada", service.competition(), noise_images(10))
    assert final["status"] == "scored"
    assert [each["provisional"] for each in between] == [None, None]
    assert "This processor does not have it." in caplog.text


def test_nobody_gets_one_unasked(service: Service, between: list[Any]) -> None:
    answer = service.submit("ada", service.competition(), zip_of(noise_images(10)))
    assert answer.json()["provisional"] is None
    service.work()
    assert [each["provisional"] for each in between] == [None, None]
