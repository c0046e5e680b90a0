"""Searches every tracked file for keys and tokens of known formats."""

import re
import subprocess

import pytest

from tests.documents import ROOT

FORMS = {
    "private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "AWS key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{36,}\b",
    "GitLab token": r"\bglpat-[\w-]{20,}",
    "Slack token": r"\bxox[abposr]-[\w-]{10,}",
    "Google key": r"\bAIza[\w-]{35}\b",
    "Stripe key": r"\b[sr]k_live_[0-9A-Za-z]{20,}",
    "PyPI token": r"\bpypi-AgEIcHlwaS5vcmc[\w-]{20,}",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "JSON web token": r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",
    "password in an address": r"\b[a-z][a-z0-9+.-]{2,}://[^\s/:@'\"{}<>$]{1,40}:[^\s/:@'\"{}<>$]{12,}@",
}
"""Regular expressions by kind of secret. URL passwords of fewer than 12 characters are examples."""
SAMPLES = {
    "private key": "-----BEGIN " + "EC PRIVATE KEY-----",
    "AWS key": "AKIA" + "Q" * 16,
    "GitHub token": "ghp_" + "a1" * 18,
    "GitLab token": "glpat-" + "a1" * 10,
    "Slack token": "xoxb-" + "1" * 12,
    "Google key": "AIza" + "b" * 35,
    "Stripe key": "sk_live_" + "c" * 24,
    "PyPI token": "pypi-AgEIcHlwaS5vcmc" + "d" * 20,
    "npm token": "npm_" + "e" * 36,
    "JSON web token": "eyJ" + "f" * 10 + ".eyJ" + "g" * 10 + "." + "h" * 10,
    "password in an address": "postgresql://kennel:" + "i" * 12 + "@host/kennel",
}


def secrets_in(text: str) -> list[str]:
    """The kind and the first 12 characters of each secret."""
    return [f"{kind}: {found.group()[:12]}..." for kind, form in FORMS.items() for found in re.finditer(form, text)]


@pytest.mark.parametrize("kind", FORMS)
def test_a_secret_would_be_found(kind: str) -> None:
    assert [found.partition(":")[0] for found in secrets_in(f"x = '{SAMPLES[kind]}'")] == [kind]


def test_no_file_has_a_secret() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("needs git and a clone: " + listed.stderr)
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert len(files) > 1000
    found = {
        file.relative_to(ROOT).as_posix(): secrets_in(file.read_bytes().decode("utf-8", "replace"))
        for file in files
        if file.is_file()
    }
    assert {name: secrets for name, secrets in found.items() if secrets} == {}
