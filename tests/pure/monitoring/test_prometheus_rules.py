"""Prometheus reads the files in ``deploy/monitoring``, and each alert is raised by what it speaks of and no less."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.documents import ROOT

FOLDER = ROOT / "deploy" / "monitoring"
RULES = [FOLDER / "slos.yml", FOLDER / "alerts.yml"]
UNIT_TESTS = Path(__file__).with_name("prometheus_rules.yml")

with_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed: it comes with Debian's package prometheus"
)


def promtool(*arguments: str | Path) -> str:
    """What promtool prints; it must end well."""
    done = subprocess.run(["promtool", *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@with_promtool
def test_rules_and_configuration_are_read() -> None:
    printed = promtool("check", "rules", "--lint=all", "--lint-fatal", *RULES)
    assert printed.count("SUCCESS") == len(RULES)
    assert "is valid prometheus config file syntax" in promtool("check", "config", "--syntax-only", "prometheus.yml")


@with_promtool
def test_alerts_are_raised_by_what_they_speak_of() -> None:
    assert "SUCCESS" in promtool("test", "rules", UNIT_TESTS)


def test_every_alert_has_a_case_that_raises_it_and_one_that_does_not() -> None:
    alerts = {rule["alert"] for rule in _alerts()}
    cases = [case for test in yaml.safe_load(UNIT_TESTS.read_text())["tests"] for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case["exp_alerts"]} == alerts
    assert {case["alertname"] for case in cases if not case["exp_alerts"]} == alerts


def _alerts() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    return list(group["rules"])
