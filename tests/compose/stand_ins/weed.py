"""moto's S3 server on SeaweedFS's port, with SeaweedFS's health check at ``/status``."""

from collections.abc import Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

store = DomainDispatcherApplication(create_backend_app)


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """The store, except for ``/status``."""
    if environ["PATH_INFO"] == "/status":
        start_response("200 OK", [])
        return [b""]
    answer: Iterable[bytes] = store(environ, start_response)
    return answer


run_simple("0.0.0.0", 8333, application, threaded=True)
