"""The service of the API tests, for tests of the worker."""

from collections.abc import Iterator

import pytest
import torch

from tests.api.conftest import service

__all__ = ["service"]


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Use one thread, which is fastest for networks this small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
