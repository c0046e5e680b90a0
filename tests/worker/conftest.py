"""The service of the API's tests, for the worker's part in it."""

from collections.abc import Iterator

import pytest
import torch

from tests.api.conftest import service

__all__ = ["service"]


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """One thread, on which networks this small are fastest."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
