"""No secret is in the repository: every file that git knows is searched for keys and tokens of the known forms."""

import re
import subprocess

import pytest

from tests.documents import ROOT

FORMS = {
    "private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "key of AWS": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "token of GitHub": r"\bgh[pousr]_[A-Za-z0-9]{36,}\b",
    "token of GitLab": r"\bglpat-[\w-]{20,}",
    "token of Slack": r"\bxox[abposr]-[\w-]{10,}",
    "key of Google": r"\bAIza[\w-]{35}\b",
    "key of Stripe": r"\b[sr]k_live_[0-9A-Za-z]{20,}",
    "token of PyPI": r"\bpypi-AgEIcHlwaS5vcmc[\w-]{20,}",
    "token of npm": r"\bnpm_[A-Za-z0-9]{36}\b",
    "JSON web token": r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",
    "password in an address": r"\b[a-z][a-z0-9+.-]{2,}://[^\s/:@'\"{}<>$]{1,40}:[^\s/:@'\"{}<>$]{12,}@",
}
"""Regular expressions by what they find. Passwords of under twelve characters in addresses are examples."""
SAMPLES = {
    "private key": "-----BEGIN " + "EC PRIVATE KEY-----",
    "key of AWS": "AKIA" + "Q" * 16,
    "token of GitHub": "ghp_" + "a1" * 18,
    "token of GitLab": "glpat-" + "a1" * 10,
    "token of Slack": "xoxb-" + "1" * 12,
    "key of Google": "AIza" + "b" * 35,
    "key of Stripe": "sk_live_" + "c" * 24,
    "token of PyPI": "pypi-AgEIcHlwaS5vcmc" + "d" * 20,
    "token of npm": "npm_" + "e" * 36,
    "JSON web token": "eyJ" + "f" * 10 + ".eyJ" + "g" * 10 + "." + "h" * 10,
    "password in an address": "postgresql://kennel:" + "i" * 12 + "@host/kennel",
}


def secrets_in(text: str) -> list[str]:
    """What is found, by its kind and its beginning."""
    return [f"{kind}: {found.group()[:12]}..." for kind, form in FORMS.items() for found in re.finditer(form, text)]


@pytest.mark.parametrize("kind", FORMS)
def test_a_secret_would_be_found(kind: str) -> None:
    assert [each.partition(":")[0] for each in secrets_in(f"x = '{SAMPLES[kind]}'")] == [kind]


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
