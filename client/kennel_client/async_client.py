"""The client for programs with an event loop."""

from types import TracebackType
from typing import Self

from kennel_client.admin.admin import Admin
from kennel_client.async_api import AsyncApiClient
from kennel_client.credentials import login_for
from kennel_client.operations import Participation


class AsyncClient(Participation[AsyncApiClient]):
    """What :class:`kennel_client.Client` is, for programs with an event loop: its methods are awaited. Files are read
    and zips checked in threads, from which ``progress`` is called, too."""

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        login = login_for(url, token)
        super().__init__(AsyncApiClient(login.url, login.token))
        self.admin = Admin(self.api)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self.api.close()
