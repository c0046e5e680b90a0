"""Five clients. Each function submits a zip, and returns a function that reads its public score later."""

import csv
import io
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
from tusclient.client import TusClient

from kennel_client import Client
from tests.api.kaggle.kaggle_client import KaggleClient
from tests.tool_environments import make_cached, new_environment

ROOT = Path(__file__).parents[2]
GENERATOR = "openapi-python-client==0.29.1"
HOW_TO = ROOT / "docs" / "how-to" / "generate-a-client.md"
READING = """
from kennel_api.api.submissions import submissions_get
for measurement in submissions_get.sync("ID", client=client).measurements:
    print(measurement.mifid)
"""
ScoreReader = Callable[[], float | None]


@dataclass(frozen=True)
class Participant:
    """A person with a token, and a folder with the entry's file."""

    url: str
    slug: str
    handle: str
    token: str
    folder: Path
    file_name: str = "submission.zip"

    @property
    def file(self) -> Path:
        """The entry's file."""
        return self.folder / self.file_name

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def run(self, *command: str, **variables: str) -> str:
        """Run a command in the folder, with the service in its environment, and return its output."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= {"KENNEL_URL": self.url, "KENNEL_TOKEN": self.token} | variables
        output: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(command, cwd=self.folder, env=environment, check=False, **output)
        assert done.returncode == 0, done.stdout
        return str(done.stdout)


def by_generated_client(person: Participant) -> ScoreReader:
    """The client that openapi-python-client generates from the OpenAPI document, with the how-to's program.

    The generator has its own environment, because it restricts the versions of other packages.
    """
    generator = make_cached(GENERATOR, lambda folder: new_environment(folder, GENERATOR))
    python = str(generator / "bin" / "python")
    document = httpx.get(f"{person.url}/api/v1/openapi.json", timeout=60, trust_env=False)
    (person.folder / "openapi.json").write_bytes(document.content)
    generated = person.run(
        *(python, "-m", "openapi_python_client", "generate", "--path", "openapi.json", "--meta", "none"),
        *("--output-path", "kennel_api"),
    )
    assert generated.count("Endpoint will not be generated") == 2, generated
    program = HOW_TO.read_text().partition("```python\n")[2].partition("```")[0].replace('"dogs"', f'"{person.slug}"')
    assert "leaderboard_get" in program
    submission = person.run(python, "-c", program).split()[0]
    reading = program.partition("zip_file = ")[0] + READING.replace("ID", submission)

    def score() -> float | None:
        printed = person.run(python, "-c", reading).split()
        return float(printed[0]) if printed else None

    return score


def by_kennel_client(person: Participant) -> ScoreReader:
    """The library of ``kennel-client``."""
    with Client(person.url, person.token) as client:
        entry = client.submit(person.slug, person.file)

    def score() -> float | None:
        with Client(person.url, person.token) as client:
            measurement = client.wait(entry.id).public
        return measurement.mifid if measurement else None

    return score


def by_kaggle_client(person: Participant, official: KaggleClient) -> ScoreReader:
    """The unmodified ``kaggle`` command."""

    def kaggle(*arguments: str) -> str:
        done = official.run(
            "competitions",
            *arguments,
            home=person.folder,
            KAGGLE_USERNAME=person.handle,
            KAGGLE_KEY=person.token,
            KAGGLE_API_ENVIRONMENT="LOCALHOST",
            http_proxy=person.url,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return str(done.stdout)

    kaggle("submit", "-f", person.file.name, "-m", "by kaggle", person.slug)

    def score() -> float | None:
        (row,) = csv.DictReader(io.StringIO(kaggle("submissions", person.slug, "--csv")))
        return float(row["publicScore"]) if row["publicScore"] else None

    return score


def by_tuspy(person: Participant) -> ScoreReader:
    """A third-party tus client, and the API for the score."""
    client = TusClient(f"{person.url}/api/v1/competitions/{person.slug}/uploads", headers=dict(person.headers))
    with person.file.open("rb") as file:
        uploader = client.uploader(file_stream=file, metadata={"filename": "submission.zip"})
        uploader.upload()
    headers = {**person.headers, "Tus-Resumable": "1.0.0"}
    upload = httpx.head(urljoin(person.url, uploader.url or ""), headers=headers, timeout=60, trust_env=False)
    address = f"{person.url}/api/v1/submissions/{upload.headers['kennel-submission']}"
    return lambda: _score_in(httpx.get(address, headers=dict(person.headers), timeout=60, trust_env=False).json())


def by_curl(person: Participant) -> ScoreReader:
    """The command ``curl``."""

    def curl(*arguments: str) -> Any:
        authorized = ("-H", f"Authorization: Bearer {person.token}")
        return json.loads(person.run("curl", "--fail-with-body", "--silent", "--noproxy", "*", *authorized, *arguments))

    api = f"{person.url}/api/v1"
    entry = curl("-X", "POST", "-T", "submission.zip", f"{api}/competitions/{person.slug}/submissions")
    return lambda: _score_in(curl(f"{api}/submissions/{entry['id']}"))


def _score_in(view: Mapping[str, Any]) -> float | None:
    return next((measurement["mifid"] for measurement in view["measurements"]), None)
