"""The pages over the whole application, where a test needs it."""

from tests.api.conftest import service as service  # noqa: PLC0414 - a fixture is found by its name here
