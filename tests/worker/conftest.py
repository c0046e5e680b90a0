"""Fixtures for tests of the worker: the service of the API tests, and the substitute for another extractor."""

from collections.abc import Iterator

import pytest
import torch

from tests.api.conftest import service
from tests.worker.substitute_extractor import substitute_extractor

__all__ = ["service", "substitute_extractor"]


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Use one thread, which is fastest for networks this small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
