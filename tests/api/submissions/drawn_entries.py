"""A small generator competition, and its entries."""

from typing import Any

import numpy as np

from tests.api.conftest import Service

SIZE, COUNT, DIMENSION = 16, 8, 6
TERMS = {"public": 1, "private": 2}


def directions(seed: int) -> Any:
    return np.random.default_rng(seed).normal(0.0, 0.3, (DIMENSION, 3, SIZE, SIZE))


def generators(service: Service, **changes: Any) -> str:
    return service.competition(entries="generator", draws=TERMS, image_count=COUNT, image_size=SIZE, **changes)


def drawn(service: Service, slug: str, content: bytes, who: str = "ada", **params: str) -> Any:
    """Submit a generator, run all jobs and return the submission as its owner sees it."""
    answer = service.submit(who, slug, content, file_name="g.onnx", **params)
    assert answer.status_code == 202, answer.text
    service.run_jobs(evidence=True)
    return service.call(who, "GET", f"/submissions/{answer.json()['id']}").json()
