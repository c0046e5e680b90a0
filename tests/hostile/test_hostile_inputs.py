"""Hundreds and thousands of hostile zips, PNGs and ONNX files are refused by name or accepted correctly."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.hostile import run
from tests.hostile.__main__ import INPUTS, PAGE, RESULTS
from tests.hostile.input import Fate, HostileInput
from tests.hostile.judge import judge_zip
from tests.hostile.onnx_models import CHANGES as ONNX_CHANGES
from tests.hostile.pngs import CHANGES as PNG_CHANGES
from tests.hostile.report import count, render_page
from tests.hostile.run import REPOSITORY, Judged, judge_inputs
from tests.hostile.zips import CHANGES as ZIP_CHANGES
from tests.hostile.zips import WHOLE, hostile_zip


@pytest.mark.parametrize(("sort", "number"), [("zip", 210), ("onnx", 90)])
def test_hundreds_of_hostile_inputs_are_refused_by_name_or_are_valid(sort: str, number: int) -> None:
    counted = count(sort, judge_inputs(sort, number, first=1_000_000))
    assert counted.inputs == number
    assert counted.faults == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("sort", "number"), INPUTS.items())
def test_ten_thousand_hostile_inputs(sort: str, number: int) -> None:
    counted = count(sort, judge_inputs(sort, number))
    assert counted.inputs == number
    assert counted.faults == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("sort", ["zip", "onnx"])
def test_inputs_grown_by_coverage_are_refused_by_name_or_read(sort: str) -> None:
    pytest.importorskip("atheris", reason="needs atheris, which is installed separately")
    command = (sys.executable, "-m", "tests.hostile.fuzz", sort, "20000")
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]


def test_the_same_seed_makes_the_same_input() -> None:
    for seed in range(20):
        assert hostile_zip(seed).content == hostile_zip(seed).content


def test_the_judge_finds_wrong_outcomes() -> None:
    sound = next(hostile for hostile in map(hostile_zip, range(1000)) if hostile.kind == "zip: unchanged")
    assert judge_zip(sound).wrong == ""
    assert judge_zip(HostileInput(sound.kind, sound.content, Fate.REFUSED)).wrong == "accepted"
    other = HostileInput(sound.kind, sound.content, Fate.ACCEPTED, 255 - sound.truth)
    assert judge_zip(other).wrong == "accepted as other images"
    cut = HostileInput(sound.kind, sound.content[:-30], Fate.ACCEPTED, sound.truth)
    assert judge_zip(cut).wrong.startswith("refused")


def test_wrong_slow_large_and_escaping_inputs_are_faults() -> None:
    usual = {"seed": 7, "kind": "zip: bomb", "outcome": "zip-bomb", "wrong": "", "seconds": 0.1, "reached": []}
    assert count("zip", [usual]).faults == []
    for change in ({"wrong": "accepted"}, {"reached": ["open /etc/passwd"]}, {"seconds": 9.0}, {"grown": 1 << 30}):
        assert len(count("zip", [usual | change]).faults) == 1


def test_the_report_counts_10000_inputs_of_all_kinds_and_no_escape() -> None:
    document = json.loads(RESULTS.read_text())
    assert PAGE.read_text() == render_page(document)
    assert re.fullmatch("[0-9a-f]{10}", document["machine"]["commit"]), (
        "a committed version, which everybody can check out"
    )
    sorts = document["sorts"]
    assert {sort: counts["inputs"] for sort, counts in sorts.items()} == INPUTS
    assert sum(INPUTS.values()) == 10_000
    for sort, counts in sorts.items():
        assert counts["wrong"] == counts["escapes"] == 0
        assert counts["faults"] == []
        assert sum(sum(seen.values()) for seen in counts["outcomes"].values()) == INPUTS[sort]
    kinds = {kind for counts in sorts.values() for kind in counts["outcomes"]}
    assert {*ZIP_CHANGES, *WHOLE, *PNG_CHANGES, *ONNX_CHANGES} <= kinds


def test_an_input_that_ends_its_process_is_named_and_others_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = {"kind": "zip: unchanged", "outcome": "accepted", "wrong": "", "reached": []}

    def process_that_ends_at_seed_3(_kind: str, first: int, number: int) -> Iterator[Judged]:
        for seed in range(first, first + number):
            if seed == 3:
                return
            yield {"seed": seed, **usual}

    monkeypatch.setattr(run, "_judge_in_one_process", process_that_ends_at_seed_3)
    judged = list(run.judge_inputs("zip", 6))
    assert [judgement["seed"] for judgement in judged] == [0, 1, 2, 3, 4, 5]
    assert [judgement["seed"] for judgement in judged if judgement["wrong"]] == [3]
