"""The clients for programs and notebooks, and for programs with an event loop."""

from types import TracebackType
from typing import Self

from kennel_client.admin import Admin
from kennel_client.api import ApiClient
from kennel_client.async_api import AsyncApiClient
from kennel_client.credentials import login_for
from kennel_client.operations import Participation


class Client(Participation[ApiClient]):
    """A client of one service. Its methods are for participants, those of ``admin`` for organizers. Errors: ``Refused``
    by the service, ``Unreachable``, ``Unreadable`` for a local file, ``Invalid`` for a zip with faults.

    The default ``url`` and ``token`` are those of KENNEL_URL and KENNEL_TOKEN, else of ``kennel login``. ``api`` sends
    any other request of the API. You can use the client as a context manager.
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        login = login_for(url, token)
        super().__init__(ApiClient(login.url, login.token))
        self.admin = Admin(self.api)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.api.close()


class AsyncClient(Participation[AsyncApiClient]):
    """Like :class:`Client`, for programs with an event loop: await its methods. It reads files and checks zips in
    threads, which also call ``progress``.
    """

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
        await self.api.close()
