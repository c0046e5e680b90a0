"""An issuer for the pages that sign in with OpenID Connect."""

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from tests.api.conftest import Service
from tests.web.accounts.oidc_issuer import CLIENT, SECRET, FakeIssuer, configure, running_issuer


@pytest.fixture
def issuer(service: Service) -> Iterator[FakeIssuer]:
    """An issuer that the service is configured for."""
    with running_issuer() as running:
        configure(
            service,
            public_url="http://testserver",
            oidc_issuer=running.address,
            oidc_client_id=CLIENT,
            oidc_client_secret=SecretStr(SECRET),
            oidc_name="Example ID",
        )
        yield running
