"""CSV files of results: parsing, the order of entries, and reports of faults."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.errors import Invalid
from scorer.import_export.results_csv import LABELS, NUMBER_COLUMNS, read_results_csv

HEADER = "submission_id,public_score,private_score,FID_public,FID_private,distance_public,distance_private,labels"
ROW = "7,10.5,999999,10.5,20.25,0.3,0.4,non-mem"
names = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=8)
amounts = st.floats(0, 1e6)
shares = st.floats(0, 2)


def refused(text: str, **named: str) -> Invalid:
    with pytest.raises(Invalid) as error:
        read_results_csv(text.splitlines(keepends=True), named)
    return error.value


def test_a_line_is_an_entry() -> None:
    (line,) = read_results_csv([HEADER + "\n", ROW + "\n"]).lines
    assert (line.at, line.submission_id, line.team) == (2, "7", "Entry 7")
    assert line.numbers == (10.5, 20.25, 0.3, 0.4)
    assert (line.public_score, line.private_score) == (10.5, 999_999.0)
    assert (line.label, line.label_text) == ("legitimate", "non-mem")


def test_headers_are_recognised_and_can_be_named() -> None:
    text = ["\ufeffSubmission ID,fid-public,FID Private,d1,Distance_Private,who,unused\n", "a,1,2,0.5,1,Ada & Bob,x\n"]
    sheet = read_results_csv(text, {"distance_public": "d1", "team": "who"})
    (line,) = sheet.lines
    assert (line.team, line.numbers, line.label) == ("Ada & Bob", (1.0, 2.0, 0.5, 1.0), None)
    assert sheet.ignored == ["unused"]


def test_entries_are_sorted_by_id_as_numbers_if_all_are_numbers() -> None:
    def order(*ids: str) -> list[str]:
        rows = [f"{submission_id},1,1,1,1,1,1,\n" for submission_id in ids]
        return [line.submission_id for line in read_results_csv([HEADER + "\n", *rows]).lines]

    assert order("10", "9", "11") == ["9", "10", "11"]
    assert order("10", "9", "x") == ["10", "9", "x"]


@given(st.lists(st.tuples(amounts, amounts, shares, shares, st.sampled_from(sorted(LABELS))), min_size=1, max_size=9))
def test_numbers_are_read_exactly(rows: list[tuple[float, float, float, float, str]]) -> None:
    header = ",".join(["submission_id", *NUMBER_COLUMNS, "labels"])
    text = [header, *(f"{place},{','.join(map(repr, row[:4]))},{row[4]}" for place, row in enumerate(rows))]
    sheet = read_results_csv(f"{line}\r\n" for line in text)
    assert [(line.numbers, line.label) for line in sheet.lines] == [(row[:4], LABELS[row[4]]) for row in rows]


def test_faults_name_line_and_column() -> None:
    rows = [
        "1,1,1,abc,2,0.3,0.4,",
        "1,1,1,-1,nan,2.5,,maybe",
        ",1,1,1,1,0.3,0.4",
    ]
    error = refused("\n".join([HEADER, *rows]))
    assert error.slug == "bad-rows"
    assert error.message == "9 cells of the table are invalid. Nothing was imported."
    assert list(error.faults) == [
        "line 2, FID_public: 'abc' is not a number",
        "line 3, submission_id: '1' is already in line 2",
        "line 3, FID_public: -1 is not a number of at least 0",
        "line 3, FID_private: nan is not a number of at least 0",
        "line 3, distance_public: 2.5 is not a distance, which is at most 2",
        "line 3, distance_private: is empty",
        "line 3, labels: 'maybe' is not a label. Use one of 'non-mem', 'legitimate', 'mgan', 'sup', 'ae', 'aug',"
        " 'other', or leave the cell empty",
        "line 4, submission_id: is empty",
        "line 4, labels: is missing because the line is too short",
    ]


@pytest.mark.parametrize(
    ("text", "named", "slug", "message"),
    [
        ("", {}, "missing-columns", "The file is empty"),
        ("a,b\n1,2", {}, "missing-columns", "lacks the columns submission_id, fid_public, fid_private"),
        (HEADER, {}, "no-table", "no rows below its header"),
        (f"{HEADER},team,Team\n", {}, "repeated-column", "'team' 2 times"),
        (f"{HEADER}\n", {"team": "group"}, "missing-columns", "no column 'group'"),
        (f"{HEADER}\n", {"teams": "labels"}, "unknown-column", "no column 'teams'. Use one of"),
        (f'{HEADER}\n"1', {}, "no-table", "not valid CSV in line 2"),
    ],
)
def test_an_invalid_table_is_refused_with_the_reason(text: str, named: dict[str, str], slug: str, message: str) -> None:
    error = refused(text, **named)
    assert error.slug == slug
    assert message in error.message
