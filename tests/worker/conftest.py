"""The service of the API's tests, for what a worker does to it."""

from tests.api.conftest import service

__all__ = ["service"]
