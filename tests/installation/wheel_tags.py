"""``python -m tests.installation.wheel_tags``: the tags of the wheels that PyPI has of each pinned version, as JSON.

This is a separate program because tests in pytest's process cannot reach another machine."""

import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from tests.documents import ROOT

INDEX = "https://pypi.org/simple"
PIN = re.compile(r"^([\w.-]+)==([\w.+!-]+)", re.MULTILINE)


def wheel_tags() -> dict[str, list[str]]:
    """The tags by package, for every pin in deploy/constraints.txt."""
    pins: dict[str, str] = {canonicalize_name(name): version for name, version in PIN.findall(_constraints())}
    with httpx.Client(headers={"Accept": "application/vnd.pypi.simple.v1+json"}, timeout=60) as http:

        def fetch_tags(name: str) -> list[str]:
            files = http.get(f"{INDEX}/{name}/").raise_for_status().json()["files"]
            return sorted({tag for file in files for tag in _tags(file["filename"], pins[name])})

        with ThreadPoolExecutor(8) as pool:
            return dict(zip(pins, pool.map(fetch_tags, pins), strict=True))


def _constraints() -> str:
    return (ROOT / "deploy" / "constraints.txt").read_text()


def _tags(filename: str, version: str) -> set[str]:
    try:
        _, found, _, tags = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return set()
    return {str(tag) for tag in tags} if str(found) == version else set()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(wheel_tags()))
