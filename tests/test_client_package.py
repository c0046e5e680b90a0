"""The client is a separate package with the server's version and licence, and both are installed from files."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import kennel_client

ROOT = Path(__file__).parents[1]
SERVER = tomllib.loads((ROOT / "pyproject.toml").read_text())
CLIENT = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text())


def test_server_and_client_have_one_version_and_one_licence() -> None:
    (required,) = [line for line in SERVER["project"]["dependencies"] if line.startswith("kennel-client")]
    assert required == f"kennel-client=={CLIENT['project']['version']}"
    assert CLIENT["project"]["version"] == SERVER["project"]["version"]
    assert f"\nversion: {SERVER['project']['version']}\n" in (ROOT / "CITATION.cff").read_text()
    assert (ROOT / "client" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_server_and_client_have_the_same_urls_and_classifiers() -> None:
    """Both have no URLs while there is no public address."""
    server, client = (document["project"] for document in (SERVER, CLIENT))
    assert server.get("urls") == client.get("urls")
    assert all(address.startswith("https://") for address in server.get("urls", {}).values())
    assert "example" not in str(server.get("urls"))
    shared = {
        classifier
        for classifier in client["classifiers"]
        if classifier.startswith(("Programming Language", "Development", "Typing"))
    }
    assert shared <= set(server["classifiers"])
    assert server["keywords"]
    assert client["keywords"]


def test_the_client_sets_no_upper_version_limits() -> None:
    """People install it in their training environment, so it accepts all versions from a minimum."""
    lines = [*CLIENT["project"]["dependencies"], *CLIENT["project"]["optional-dependencies"]["verify"]]
    specifiers = [specifier for line in lines for specifier in Requirement(line).specifier]
    assert [str(specifier) for specifier in specifiers if specifier.operator != ">="] == []


def test_the_server_is_always_installed_with_the_client() -> None:
    """Otherwise pip looks the client up in a registry, where anybody may own its name. The images use two wheels."""
    (editable,) = [line for line in (ROOT / "Makefile").read_text().splitlines() if "-e '.[" in line]
    assert " -e ./client " in editable
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text().splitlines()
    (wheels,) = [line for line in dockerfile if "pip wheel" in line]
    assert wheels.startswith("RUN pip wheel --no-deps ")
    assert wheels.endswith(" ./client .")
    installs = {line.removeprefix("RUN pip install ") for line in dockerfile if "pip install" in line}
    from_files = {f"--require-hashes -r requirements/{name}.txt" for name in ("build", "api", "worker")}
    assert installs == {*from_files, "--no-deps /wheels/*.whl"}


def test_the_reader_of_zips_loads_neither_http_nor_arrays() -> None:
    """Processes that decode untrusted images load the reader. Only the check loads Pillow."""
    code = (
        "import sys, kennel_client.archive, kennel_client.errors;"
        "print(sorted({'httpx', 'typer', 'rich', 'numpy', 'PIL'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "client", capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_package_has_exactly_its_public_names() -> None:
    assert all(getattr(kennel_client, name) is not None for name in kennel_client.__all__)
    assert dir(kennel_client) == sorted(kennel_client.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = kennel_client.Nothing
