"""Output to a terminal with an encoding that lacks characters, and cells that no spreadsheet runs."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.cli import main
from kennel_client.cli.connection import exit_on_error
from kennel_client.cli.formatting import escape_formula
from kennel_client.cli.output import Answer, Format, Listing, columns
from tests.pure.archive.broken_files import pngs, zipped

TEAM = "🏆 Équipe 贝叶斯"
LISTING = Listing([{"team": TEAM, "score": 1.5}], columns("team", "score"), "There are no teams.")


@contextmanager
def windows_pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.BytesIO]:
    """Redirect standard output as Python does on Windows; return the stream that receives the bytes."""
    written = io.BytesIO()
    with monkeypatch.context() as patch:
        stream = io.TextIOWrapper(written, encoding="cp1252", newline="")
        patch.setattr(sys, "stdout", stream)
        yield written
        stream.flush()


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_a_list_with_unencodable_characters_is_printed(form: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    with windows_pipe(monkeypatch) as written:
        with exit_on_error():
            LISTING.print(form)
        sys.stdout.flush()
        printed = written.getvalue()
    match form:
        case "table":
            assert r"\U0001f3c6 Équipe \u8d1d\u53f6\u65af" in printed.decode("cp1252")
        case "csv":
            assert printed.decode() == f"team,score\n{TEAM},1.5\n"
        case "json":
            assert printed.decode().startswith('[{"team": "\\ud83c\\udfc6 ')


def test_a_text_with_unencodable_characters_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    with windows_pipe(monkeypatch) as written:
        with exit_on_error():
            Answer({}, TEAM).print("table")
        sys.stdout.flush()
        assert written.getvalue().decode("cp1252") == "\\U0001f3c6 Équipe \\u8d1d\\u53f6\\u65af\n"


def test_a_command_prints_any_file_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"{TEAM}.zip"
    path.write_bytes(zipped(pngs(1)).getvalue())
    monkeypatch.setattr(sys, "argv", ["kennel", "check", str(path), "--count", "1", "--size", "8"])
    with windows_pipe(monkeypatch) as written:
        with pytest.raises(SystemExit) as end:
            main.main()
        sys.stdout.flush()
        assert end.value.code in {None, 0}
        assert rb"\u8d1d\u53f6\u65af.zip: 1 images of 8x8" in written.getvalue()


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20A"]
)
def test_a_cell_that_begins_like_a_formula_is_escaped(cell: str) -> None:
    assert escape_formula(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "Alpha = Beta", "a-b", "'quoted"])
def test_any_other_cell_is_not_changed(cell: str) -> None:
    assert escape_formula(cell) == cell
