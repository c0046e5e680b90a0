"""An issuer for the pages that sign in by OpenID Connect."""

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from tests.api.conftest import Service
from tests.web.accounts.oidc_issuer import CLIENT, SECRET, FakeIssuer, configure, running_issuer


@pytest.fixture
def issuer(service: Service) -> Iterator[FakeIssuer]:
    """An issuer that the service knows."""
    with running_issuer() as each:
        configure(
            service,
            public_url="http://testserver",
            oidc_issuer=each.address,
            oidc_client_id=CLIENT,
            oidc_client_secret=SecretStr(SECRET),
            oidc_name="Example ID",
        )
        yield each
