"""The client for programs and notebooks."""

from types import TracebackType
from typing import Self

from kennel_client.admin.admin import Admin
from kennel_client.api import ApiClient
from kennel_client.credentials import login_for
from kennel_client.operations import Participation


class Client(Participation[ApiClient]):
    """A client of one service: its methods are what participants do, those of ``admin`` what organizers do. Errors:
    ``Refused`` by the service, ``Unreachable``, ``Unreadable`` for a local file, ``Invalid`` for a zip with faults.

    Without ``url`` and ``token`` they are those of KENNEL_URL and KENNEL_TOKEN, else of ``kennel login``. ``api`` sends
    any other request of the API. Usable as a context manager, and without.
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
        """Close the connections."""
        self.api.close()
