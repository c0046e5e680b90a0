"""What organizers do with one entry: label it, ask for its code, hand in a benchmark."""

from datetime import datetime
from os import PathLike
from pathlib import Path

from kennel_client.admin.arguments import File, Label, opened
from kennel_client.answers.results import CodeRequestView
from kennel_client.answers.shared import GuessView, LabelView, SubmissionView
from kennel_client.api import path_of, send_file
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Download, Operation, call


class Submissions(Methods[Api]):
    """Entries, as organizers handle them."""

    @Method
    def label(self, slug: str, submission: str, label: Label, note: str = "") -> Operation[LabelView]:
        """Decide the label of an entry."""
        path = path_of("competitions", slug, "submissions", submission, "label")
        return call("PUT", path, json={"label": label, "note": note})

    @Method
    def guess(self, submission: str, label: Label) -> Operation[GuessView]:
        """Give an entry an early label, which decides nothing: for comparing extractors."""
        return call("PUT", path_of("submissions", submission, "coarse-label"), json={"label": label})

    @Method
    def ask_for_code(self, submission: str, until: datetime, text: str = "") -> Operation[CodeRequestView]:
        """Ask a team for the code of an entry, which it may attach until then: a time with its zone."""
        body = {"until": until.isoformat(), "text": text}
        return call("PUT", path_of("submissions", submission, "code-request"), json=body)

    @Method
    def download_code(self, submission: str, to: str | PathLike[str]) -> Operation[Path]:
        """Write the attached code of an entry to a file, a zip or a notebook; returns its path."""
        yield Download(path_of("submissions", submission, "code"), Path(to))
        return Path(to)

    @Method
    def submit_benchmark(
        self, slug: str, file: File, name: str, *, file_name: str | None = None, note: str = ""
    ) -> Operation[SubmissionView]:
        """Hand in a benchmark: an entry that the board shows under ``name`` and never ranks."""
        params = {"benchmark": name, "file_name": file_name or f"{name}.zip", "note": note}
        with opened(file) as content:
            path = path_of("competitions", slug, "submissions")
            accepted: SubmissionView = yield from send_file("POST", path, content, params=params)
        return accepted
