"""The files in ``deploy/monitoring``: metrics and labels exist, and the fault that an alert describes raises it."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from scorer.jobs.queue_metrics import METRICS
from scorer.monitoring import instruments
from tests.compose.compose_file import services

FOLDER = Path(__file__).parents[3] / "deploy" / "monitoring"
NAME = re.compile(r"\bkennel[_:][a-z0-9_:]+")
SELECTOR = re.compile(r"\b(kennel[_:][a-z0-9_:]+)\{([^}]*)\}")
GROUPING = re.compile(r"\b(?:by|without) \(([^)]*)\)")
AGGREGATION = re.compile(r"\b(?:sum|min|max|avg|count)\(")
UP = re.compile(r"\bup\b")
PLACEHOLDER = re.compile(r"\{\{ *(?:\$labels\.)?(\w+) *\}\}")
SUFFIXES = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}


def series() -> dict[str, frozenset[str]]:
    """The labels of every series, by name."""
    found = {name: frozenset(labels) for name, labels in METRICS.items()}
    for metric in instruments.REGISTRY._collector_to_names:
        family = next(iter(metric.describe()))  # type: ignore[attr-defined]
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = frozenset(metric._labelnames)  # type: ignore[attr-defined]
        for suffix in SUFFIXES[family.type]:
            found[name + suffix] = labels | ({"le"} if suffix == "_bucket" else frozenset())
    return found


def rules() -> Iterator[Mapping[str, Any]]:
    for name in ("slos.yml", "alerts.yml"):
        for group in yaml.safe_load((FOLDER / name).read_text())["groups"]:
            yield from group["rules"]


def targets() -> list[Mapping[str, Any]]:
    """The dashboard's queries and their legends."""
    dashboard = json.loads((FOLDER / "grafana-dashboard.json").read_text())
    return [target for panel in dashboard["panels"] for target in panel["targets"]]


def expressions() -> list[str]:
    """Every PromQL expression of the rules and the dashboard."""
    return [item["expr"] for item in (*rules(), *targets())]


def known_labels() -> dict[str, frozenset[str]]:
    """The labels of every exported or recorded series, by name."""
    known = series() | {"up": frozenset({"job", "instance"})}
    for rule in rules():
        if "record" in rule:
            known[rule["record"]] = find_answer_labels(rule["expr"], known)
    return known


def find_answer_labels(expression: str, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The labels of an expression's result."""
    if groupings := GROUPING.findall(expression):
        labels = frozenset(re.findall(r"\w+", " ".join(groupings)))
        return labels - {"le"} if "histogram_quantile" in expression else labels
    if AGGREGATION.search(expression):
        return frozenset()
    return find_series_labels(expression, known)


def find_series_labels(expression: str, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The labels of all series that an expression names."""
    return frozenset().union(*(known[name] for name in (*NAME.findall(expression), *UP.findall(expression))))


def argument(expression: str, begin: int) -> str:
    """The text in the first parentheses that open at or after ``begin``."""
    depth = 0
    for end in range(first := expression.index("(", begin), len(expression)):
        depth += {"(": 1, ")": -1}.get(expression[end], 0)
        if depth == 0:
            return expression[first:end]
    raise ValueError(expression)


def test_every_named_metric_exists() -> None:
    known = set(series()) | {rule["record"] for rule in rules() if "record" in rule}
    named = {name for expression in expressions() for name in NAME.findall(expression)}
    assert len(named) > 10
    assert sorted(named - known) == []


def test_every_metric_is_in_the_dashboard_or_a_rule() -> None:
    text = " ".join(expressions())
    unseen = {name for name in series() if name not in text and not name.endswith(("_sum", "_count"))}
    assert sorted(unseen) == []


def test_every_label_in_a_selector_exists() -> None:
    known = known_labels()
    wrong = [
        f"{name}: {label}"
        for expression in expressions()
        for name, selector in SELECTOR.findall(expression)
        for label in re.findall(r"(\w+)(?:=~|!~|!=|=)", selector)
        if label not in known[name]
    ]
    assert wrong == []


def test_expressions_group_by_labels_of_the_grouped_series() -> None:
    known = known_labels()
    groupings = [(expression, found) for expression in expressions() for found in GROUPING.finditer(expression)]
    assert len(groupings) > 10
    wrong = [
        f"{label}: {expression}"
        for expression, found in groupings
        for label in re.findall(r"\w+", found[1])
        if label not in find_series_labels(argument(expression, found.end()), known)
    ]
    assert wrong == []


def test_legends_and_alerts_show_labels_of_the_result() -> None:
    known = known_labels()
    texts = [(target["legendFormat"], target["expr"]) for target in targets()]
    texts += [(rule["annotations"]["summary"], rule["expr"]) for rule in rules() if "alert" in rule]
    named = [(label, expression) for text, expression in texts for label in PLACEHOLDER.findall(text)]
    assert len(named) > 10
    assert [pair for pair in named if pair[0] not in find_answer_labels(pair[1], known)] == []


def test_every_named_bucket_exists() -> None:
    bounds = {bound for text in expressions() for bound in re.findall(r'le="([^"]+)"', text)}
    assert bounds
    assert {float(bound) for bound in bounds} <= set(instruments.REQUEST_BUCKETS)


@pytest.mark.parametrize("rule", list(rules()), ids=lambda rule: rule.get("alert") or rule["record"])
def test_rules_are_complete(rule: Mapping[str, Any]) -> None:
    assert ("alert" in rule) != ("record" in rule)
    assert rule["expr"].count("(") == rule["expr"].count(")")
    if "alert" in rule:
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"]["summary"].endswith(".") or "?" in rule["annotations"]["summary"]


def test_the_example_scrapes_every_process_of_the_compose_file() -> None:
    jobs = {
        job["job_name"]: {target.partition(":")[0] for config in job["static_configs"] for target in config["targets"]}
        for job in yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"]
    }
    workers = {name for name in services({"DOMAIN": "kennel.example.org"}) if name.startswith("worker-")}
    assert jobs == {"kennel-web": {"api"}, "kennel-worker": workers}


RULES = [FOLDER / "slos.yml", FOLDER / "alerts.yml"]
UNIT_TESTS = Path(__file__).with_name("prometheus_rules.yml")

with_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed: it comes with Debian's package prometheus"
)


def promtool(*arguments: str | Path) -> str:
    """The output of promtool, which must succeed."""
    done = subprocess.run(["promtool", *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@with_promtool
def test_rules_and_configuration_are_valid() -> None:
    printed = promtool("check", "rules", "--lint=all", "--lint-fatal", *RULES)
    assert printed.count("SUCCESS") == len(RULES)
    assert "is valid prometheus config file syntax" in promtool("check", "config", "--syntax-only", "prometheus.yml")


@with_promtool
def test_faults_raise_their_alerts() -> None:
    assert "SUCCESS" in promtool("test", "rules", UNIT_TESTS)


def test_every_alert_has_a_case_that_raises_it_and_one_that_does_not() -> None:
    alerts = {rule["alert"] for rule in _alerts()}
    cases = [case for test in yaml.safe_load(UNIT_TESTS.read_text())["tests"] for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case["exp_alerts"]} == alerts
    assert {case["alertname"] for case in cases if not case["exp_alerts"]} == alerts


def _alerts() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    return list(group["rules"])
