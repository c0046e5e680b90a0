"""Whichever way bytes of strangers come, a limited process reads them: the service hands them on."""

import io
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from scorer.archive import limited_listing
from scorer.evidence import code_uploads
from tests.api.conftest import Service
from tests.api.submissions.tus import ZIP, begun, later, leave_whole, send
from tests.factories import noise_images, zip_of
from worker.maintenance import cleanup

NOTEBOOK = b'{"cells": [], "nbformat": 4}'


@pytest.fixture
def calls(service: Service, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that limited processes are asked to call, by name; this process calls them here."""
    asked: list[str] = []

    def call(
        function: Callable[..., Any], read: Callable[[], Sequence[bytes]], *arguments: Any, purpose: object
    ) -> Any:
        asked.append(function.__name__)
        return function(read(), *arguments)

    for module in (limited_listing, code_uploads):
        monkeypatch.setattr(module, "call_limited", call)
    settings = service.context.settings.model_copy(update={"decoding_processes": 1})
    monkeypatch.setattr(service.app.state, "settings", settings)
    monkeypatch.setattr(service.context, "settings", settings)
    return asked


def test_the_zip_of_an_entry(service: Service, calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition(pending_limit=9)
    assert service.submit("ada", slug, ZIP).status_code == 202
    assert calls == ["check_images_listed"], "sent whole"
    other = zip_of(noise_images(8))
    assert "kennel-submission" in send(service, begun(service, slug, other), 0, other).headers
    assert calls == ["check_images_listed"] * 2, "sent in parts"
    leave_whole(service, slug, monkeypatch)
    later(service, timedelta(minutes=2))
    cleanup.clean_up_uploads(service.context)
    assert calls == ["check_images_listed"] * 3, "left to the sweep"


@pytest.mark.parametrize(("code", "read"), [(ZIP, "check_files_listed"), (NOTEBOOK, "is_notebook")])
def test_the_code_of_an_entry(service: Service, calls: list[str], code: bytes, read: str) -> None:
    entry = service.submit("ada", service.competition(), ZIP).json()["id"]
    calls.clear()
    assert service.call("ada", "PUT", f"/submissions/{entry}/code", content=code).status_code == 200
    assert calls == [read]


def features() -> bytes:
    """A file of features."""
    file = io.BytesIO()
    np.savez(file, features=np.zeros((4, 2), np.float32), m=np.zeros(2), s=np.eye(2))
    return file.getvalue()


@pytest.mark.parametrize(
    ("role", "content", "read"),
    [("train", ZIP, "check_references_listed"), ("public_features", features(), "check_features_listed")],
)
def test_references(service: Service, calls: list[str], role: str, content: bytes, read: str) -> None:
    path = f"/competitions/{service.competition()}/references/{role}"
    service.call("organizer", "PUT", path, content=content, params={"attach": "false"})
    assert calls == [read]
