"""The 2019 Generative Dog Images competition, imported from its released table and read through the API.

Expected numbers were computed from the table before this service existed.
"""

import csv
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from deploy.standalone.ephemeral import Servers
from tests.api.conftest import Service, running_service
from tests.conftest import fresh_settings
from tests.pure.oracles import TABLE

SLUG = "dogs-2019"
TRACKS = ("public", "private")
SEALED = 999_999.0


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    """The released table."""
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def service(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A separate service for this module."""
    with fresh_settings(servers, tmp_path_factory.mktemp("replay")) as settings, running_service(settings) as started:
        yield started


@pytest.fixture(scope="module", autouse=True)
def done(rows: list[dict[str, str]], service: Service) -> Any:
    """The import's report. No test in this module changes the competition."""
    answer = imported(service)
    assert answer.status_code == 201, answer.text
    return answer.json()


def imported(service: Service) -> Any:
    """Import the table with the competition's thresholds."""
    params = {"tau_public": 0.10, "tau_private": 0.25}
    content = TABLE.read_bytes()
    return service.call("organizer", "POST", f"/competitions/{SLUG}/imports", content=content, params=params)


def figure(
    service: Service, name: str, label: str = "all", track: str = "public", who: str | None = "organizer"
) -> Any:
    """Return a figure's data."""
    params = {"track": track, "label": label}
    answer = service.call(who, "GET", f"/competitions/{SLUG}/insights/{name}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def column(data: Any, name: str) -> list[Any]:
    """Return a column of a figure's data."""
    place = data["columns"].index(name)
    return [row[place] for row in data["rows"]]


def preview(service: Service, track: str, **body: Any) -> Any:
    """Preview the tau that a method chooses from all labels. Nothing is recorded."""
    path = f"/competitions/{SLUG}/tracks/{track}/thresholds"
    answer = service.call("organizer", "POST", path, json={"preview": True, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def errors(confusion: Any) -> tuple[int, int, int]:
    """Return the numbers of caught, missed and wrongly penalised entries."""
    return confusion["true_positives"], confusion["false_negatives"], confusion["false_positives"]


def test_every_row_is_an_entry(service: Service, rows: list[dict[str, str]], done: Any) -> None:
    counted = {name: done[name] for name in ("created", "rows", "added", "known", "labelled", "disqualified")}
    assert counted == {
        "created": True, "rows": 1666, "added": 1666, "known": 0, "labelled": 995, "disqualified": 495,
    }  # fmt: skip
    data = figure(service, "distances")
    labels = Counter(column(data, "label"))
    assert labels == {"mgan": 366, "sup": 70, "aug": 52, "ae": 10, "legitimate": 497, None: 671}
    in_time = sorted(rows, key=lambda row: int(row["submission_id"]))
    assert column(data, "team") == [f"Entry {row['submission_id']}" for row in in_time], (
        "the order is that of submission_id"
    )
    assert column(data, "distance") == [float(row["distance_public"]) for row in in_time]


def test_the_same_table_again_adds_nothing(service: Service) -> None:
    again = imported(service)
    assert (again.status_code, again.json()["added"], again.json()["known"]) == (200, 0, 1666)
    history = service.call("organizer", "GET", f"/competitions/{SLUG}/tracks/private/thresholds").json()["thresholds"]
    assert [threshold["tau"] for threshold in history] == [0.25]


@pytest.mark.parametrize("track", TRACKS)
def test_every_score_is_reproduced(service: Service, rows: list[dict[str, str]], done: Any, track: str) -> None:
    data = figure(service, "distances", track=track)
    seen = dict(
        zip(column(data, "team"), zip(column(data, "score"), column(data, "penalised"), strict=True), strict=True)
    )
    rows_by_team = {f"Entry {row['submission_id']}": row for row in rows}
    off = []
    penalised = 0
    for team, (score, is_penalised) in seen.items():
        row = rows_by_team[team]
        stated = float(row[f"{track}_score"])
        if stated == SEALED:
            continue
        # In the authors' code, the penalty of an unpenalised entry is 1 / (1 + 1e-15); here it is exactly 1.
        off.append(abs(score - stated) / stated)
        penalised += is_penalised
    assert (len(off), penalised) == {"public": (1666, 3), "private": (1171, 1)}[track]
    assert max(off) < 2e-15
    reproduced = done["reproduced"][track]
    assert reproduced["compared"] == len(off)
    assert reproduced["largest_relative_difference"] < 2e-15


def test_sealed_entries_are_penalised_or_labelled(service: Service, rows: list[dict[str, str]]) -> None:
    sealed = [row for row in rows if float(row["private_score"]) == SEALED]
    assert Counter(row["labels"] for row in sealed) == {"mgan": 366, "sup": 70, "aug": 52, "ae": 7}
    data = figure(service, "distances", "memorising", "private")
    assert Counter(column(data, "penalised")) == {True: 446, False: 52}
    assert sum(column(figure(service, "distances", "legitimate", "private"), "penalised")) == 0


@pytest.mark.parametrize(
    ("track", "tau", "interval", "counts"),
    [
        ("public", 0.15140, (0.15106381815389758, 0.15172746456042174), (447, 51, 0)),
        ("private", 0.24943, (0.24863552551922136, 0.2502234994489345), (446, 52, 0)),
    ],
)
def test_margin_penalises_no_legitimate_entry(
    service: Service, track: str, tau: float, interval: tuple[float, float], counts: tuple[int, int, int]
) -> None:
    proposal = preview(service, track, method="margin")
    assert proposal["tau"] == pytest.approx(tau, abs=5e-6)
    assert (proposal["choice"]["interval"]["low"], proposal["choice"]["interval"]["high"]) == interval
    assert errors(proposal["choice"]["confusion"]) == counts


@pytest.mark.parametrize(
    ("track", "method", "tau", "counts"),
    [
        # (caught, missed, wrongly penalised)
        ("public", "accuracy", 0.19829, None),
        ("private", "accuracy", 0.35277, None),
        ("public", "paper", 0.16802, (459, 39, 7)),
        ("private", "paper", 0.31481, (462, 36, 9)),
        ("public", "otsu", 0.16594, None),
        ("private", "otsu", 0.30577, None),
        ("public", "manual", 0.10, (3, 495, 0)),
        ("private", "manual", 0.25, (446, 52, 0)),
    ],
)
def test_the_threshold_of_every_method(
    service: Service, track: str, method: str, tau: float, counts: tuple[int, int, int] | None
) -> None:
    option = figure(service, "distances", "labelled", track)["statistics"]["methods"][method]
    assert option["tau"] == pytest.approx(tau, abs=5e-6)
    if counts is not None:
        assert errors(option["confusion"]) == counts
    if method == "accuracy":
        _, missed, wrong = errors(option["confusion"])
        assert missed + wrong == {"public": 43, "private": 29}[track]
    if method == "otsu":
        values = np.array(column(figure(service, "distances", "labelled", track), "distance"))
        parts = values[values < option["tau"]], values[values >= option["tau"]]
        within = sum(((part - part.mean()) ** 2).sum() for part in parts)
        assert within == pytest.approx({"public": 0.1913, "private": 0.4058}[track], abs=5e-5)


@pytest.mark.parametrize(
    ("track", "margins", "spread", "separation"),
    [
        ("public", (2.7937, 11.5168), 0.0996, (4.635, 0.99254)),
        ("private", (8.9015, 31.9084), 0.0904, (5.571, 0.99685)),
    ],
)
def test_the_separation_by_each_extractor(
    service: Service, track: str, margins: tuple[float, float], spread: float, separation: tuple[float, float]
) -> None:
    labelled, everyone = (figure(service, "distances", label, track)["statistics"] for label in ("labelled", "all"))
    assert labelled["memorization_margin"] == pytest.approx(margins[0], abs=5e-5)
    assert everyone["memorization_margin"] == pytest.approx(margins[1], abs=5e-5)
    assert labelled["relative_variance"] == pytest.approx(spread, abs=5e-5)
    for statistics in (labelled, everyone):
        assert statistics["cohens_d"] == pytest.approx(separation[0], abs=5e-4)
        assert statistics["auc"] == pytest.approx(separation[1], abs=5e-6)


def test_correlations(service: Service) -> None:
    for track, expected, top in (("public", 0.964151, 0.957898), ("private", 0.955111, 0.972089)):
        statistics = figure(service, "fid-distance", "legitimate", track)["statistics"]
        assert statistics["pearson"] == pytest.approx(expected, abs=5e-7)
        assert statistics["pearson_of_the_lowest_100_fids"] == pytest.approx(top, abs=5e-7)
    for label, spearman in (("all", 0.935254), ("legitimate", 0.590953)):
        correlation = figure(service, "public-private", label)["statistics"]["spearman"]
        assert correlation == pytest.approx(spearman, abs=5e-7)


@pytest.mark.parametrize(("label", "difference", "leaders"), [("all", 122.16927, 0), ("legitimate", 94.66398, 1)])
def test_rank_differences(service: Service, label: str, difference: float, leaders: int) -> None:
    statistics = figure(service, "ranks", label)["statistics"]
    assert statistics["mean_rank_difference"] == pytest.approx(difference, abs=5e-6)
    assert statistics["leaders_in_common"] == leaders


def test_quantiles_of_the_classes(service: Service) -> None:
    expected = {
        "public": {"memorising": (0.1004, 0.1085, 0.2059), "legitimate": (0.1617, 0.2190, 0.2378)},
        "private": {"memorising": (0.1688, 0.2139, 0.3716), "legitimate": (0.2936, 0.4095, 0.4281)},
    }
    whole = {}
    for track, classes in expected.items():
        groups = {group["label"]: group for group in figure(service, "distances", "labelled", track)["groups"]}
        for name, quantiles in classes.items():
            percentiles = [groups[name][quantile] for quantile in ("percent_1", "median", "percent_99")]
            assert percentiles == pytest.approx(quantiles, abs=5.1e-5)
        whole[track] = groups
    gaps = {track: groups["legitimate"]["mean"] - groups["memorising"]["mean"] for track, groups in whole.items()}
    assert gaps == pytest.approx({"public": 0.0973, "private": 0.1781}, abs=5e-5)


def test_the_range_of_the_private_extractor_is_wider(service: Service) -> None:
    groups = {track: figure(service, "distances", "labelled", track)["groups"] for track in TRACKS}
    public, private = ({group["label"]: group for group in groups[track]}["labelled"] for track in TRACKS)

    def ratio(low: str, high: str) -> float:
        return float((private[high] - private[low]) / (public[high] - public[low]))

    assert ratio("least", "most") == pytest.approx(1.18, abs=5e-3)
    assert ratio("percent_1", "percent_99") == pytest.approx(1.94, abs=5e-3)
    assert private["deviation"] / public["deviation"] == pytest.approx(1.79, abs=5e-3)
    inner = [
        np.percentile(column(figure(service, "distances", "labelled", track), "distance"), [5, 95]) for track in TRACKS
    ]
    assert np.ptp(inner[1]) / np.ptp(inner[0]) == pytest.approx(1.70, abs=5e-3)


@pytest.mark.parametrize(("track", "below", "above"), [("public", 0.09571, 0.10024), ("private", 0.18244, 0.25022)])
def test_the_released_scores_bracket_the_threshold(
    service: Service, rows: list[dict[str, str]], track: str, below: float, above: float
) -> None:
    unsealed = {f"Entry {row['submission_id']}" for row in rows if float(row[f"{track}_score"]) != SEALED}
    data = figure(service, "distances", track=track)
    sides: dict[bool, list[float]] = {True: [], False: []}
    columns = (column(data, name) for name in ("team", "distance", "penalised"))
    for team, distance, is_penalised in zip(*columns, strict=True):
        if team in unsealed:
            sides[is_penalised].append(distance)
    assert max(sides[True]) == pytest.approx(below, abs=5e-6)
    assert min(sides[False]) == pytest.approx(above, abs=5e-6)


def test_the_reported_winning_fid_is_in_the_table(service: Service) -> None:
    data = figure(service, "public-private")
    place = column(data, "team").index("Entry 12029018")
    fids = column(data, "fid_public")[place], column(data, "fid_private")[place]
    assert fids == pytest.approx((31.06345, 60.14912), abs=5e-6)
