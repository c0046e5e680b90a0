"""The address on which ``kennel up`` listens: others reach it only where its public address is known."""

from pathlib import Path

import pytest

from deploy.standalone import service
from scorer.errors import Unavailable


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.5"])
def test_an_address_that_others_reach_needs_a_public_url(host: str) -> None:
    with pytest.raises(Unavailable, match="speaks HTTP without TLS") as refused:
        service.require_public_url(host, {})
    assert refused.value.slug == "no-public-url"
    service.require_public_url(host, {"KENNEL_PUBLIC_URL": "https://kennel.example.org"})


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_alone_needs_none(host: str) -> None:
    service.require_public_url(host, {})


@pytest.mark.parametrize(("host", "asked"), [("0.0.0.0", "127.0.0.1"), ("10.0.0.5", "10.0.0.5")])
def test_the_web_process_listens_there_and_is_asked_where_it_can_be(
    host: str, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_is_healthy", lambda url: url == f"http://{asked}:8123/api/v1/ready")
    web = service.service_children({}, tmp_path, 8123, host=host)[0]
    assert web.argv[web.argv.index("--host") + 1] == host
    assert web.ready is not None
    assert web.ready()
