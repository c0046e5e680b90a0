"""An account: created on the page, used with a password and a token, and deleted."""

import pytest

from kennel_client.errors import Refused
from tests.stories.conftest import PASSWORD, RunningService


def test_a_person_signs_up_creates_a_token_and_leaves(live: RunningService) -> None:
    grace = live.browser("grace")
    assert grace.handle in grace.http.get("/account").text
    client = live.client(grace.call("POST", "/tokens", {"name": "laptop"})["token"])
    assert client.api.get("/me")["handle"] == grace.handle
    grace.call("POST", "/me/deletion", {"handle": grace.handle, "password": PASSWORD})
    with pytest.raises(Refused) as refused:
        client.api.get("/me")
    assert refused.value.status == 401
