"""Unusable blob stores."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from scorer.blobs import parse_folder
from scorer.settings import Settings


@contextmanager
def unusable_folder(settings: Settings) -> Iterator[None]:
    """Replace the store's folder with a file, so all operations fail, even for root. Restore the folder at the end."""
    folder = parse_folder(settings.blob_url)
    assert folder is not None
    away = folder.with_name("away")
    folder.rename(away)
    folder.touch()
    try:
        yield
    finally:
        folder.unlink()
        away.rename(folder)


@contextmanager
def refusing_s3(status: int, code: str) -> Iterator[str]:
    """The address of an S3 server that responds to every request with an error."""
    body = f"<Error><Code>{code}</Code><Message>No.</Message></Error>".encode()

    class Refusing(BaseHTTPRequestHandler):
        def _refuse(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def __getattr__(self, name: str) -> Callable[[], None]:
            if name.startswith("do_"):
                return self._refuse
            raise AttributeError(name)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
