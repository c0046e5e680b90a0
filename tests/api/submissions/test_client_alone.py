"""``kennel-client`` in a fresh environment, as a participant installs it: its size, its import, its command."""

import json
import os
import subprocess
import venv
from pathlib import Path

import pytest

from tests.api.conftest import Service
from tests.factories import noise_images, with_a_wrong_image, zip_of
from tests.http_server import serve

CLIENT = Path(__file__).parents[3] / "client"
MAX_BYTES = 25_000_000
OF_PIP = ("pip", "pkg_resources", "setuptools", "_distutils_hack", "distutils-precedence.pth")
pytestmark = pytest.mark.usefixtures("one_day")


def test_a_fresh_environment_submits_with_the_client_alone(service: Service, tmp_path: Path) -> None:
    slug = service.competition()
    (tmp_path / "fine.zip").write_bytes(zip_of(noise_images(9)))
    (tmp_path / "receipt.json").write_text('{"receipt": {"issuer": "http://127.0.0.1:9"}, "jws": "a.b.c"}')
    (tmp_path / "keys.json").write_text('{"keys": []}')
    (tmp_path / "wrong.zip").write_bytes(with_a_wrong_image(noise_images(9)))
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    install = ("-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", str(CLIENT))
    run(environment / "bin" / "python", *install, folder=tmp_path)
    (packages,) = environment.glob("lib/python3*/site-packages")
    assert bytes_in(packages) < MAX_BYTES
    assert not list(packages.glob("PIL")), "nothing brings Pillow"

    kennel = environment / "bin" / "kennel"
    assert run(kennel, "--version", folder=tmp_path).stdout.startswith("kennel-client ")
    refused = run(kennel, "up", folder=tmp_path, status=2)
    assert "`kennel up` belongs to the server" in refused.stderr
    program = f"""
from kennel_client import Client
with Client() as client:
    print(client.check({slug!r}, "fine.zip").pixels_decoded, client.submit({slug!r}, "fine.zip").status)
"""
    with serve(service.app) as url:
        login = {"KENNEL_URL": url, "KENNEL_TOKEN": service.tokens["ada"]}
        told = run(environment / "bin" / "python", "-c", program, folder=tmp_path, login=login)
        assert told.stdout == "False received\n"
        entry = json.loads(run(kennel, "submit", slug, "fine.zip", "--json", folder=tmp_path, login=login).stdout)
        faulty = run(kennel, "submit", slug, "wrong.zip", folder=tmp_path, status=1, login=login)
        receipt = run(kennel, "verify", "receipt.json", "--keys", "keys.json", folder=tmp_path, status=2, login=login)
        checked = run(kennel, "check", "fine.zip", "--competition", slug, folder=tmp_path, login=login)
    assert (entry["status"], entry["file_name"]) == ("received", "fine.zip")
    assert "pip install cryptography" in receipt.stderr
    assert "1 of 8 images can't be used." in faulty.stderr
    assert "pixels were not decoded, because Pillow is not installed" in checked.stdout
    assert len(service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]) == 2


def bytes_in(packages: Path) -> int:
    """What the client and all that it needs take, without bytecode and without pip."""
    files = [path for path in packages.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return sum(path.stat().st_size for path in files if not path.relative_to(packages).parts[0].startswith(OF_PIP))


def run(
    command: Path, *arguments: str, folder: Path, login: dict[str, str] | None = None, status: int = 0
) -> subprocess.CompletedProcess[str]:
    """A finished command, in an environment without anything of this one's."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        **{name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP"))},
        **(login or {}),
    }
    done = subprocess.run(
        [command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done
