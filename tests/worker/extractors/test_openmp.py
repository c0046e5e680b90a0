"""OpenMP threads wait without spinning when networks run. The setting has an effect only before torch is loaded."""

import os
import subprocess
import sys
from pathlib import Path

PROBE = """
import os, sys, types

def seen(*_, **__):
    print(os.environ.get("OMP_WAIT_POLICY"), "torch" in sys.modules)
    raise SystemExit(0)
"""
COMMANDS = {
    "score": ["g.zip", "--reference", "t.zip", "--extractor", "tiny"],
    "rescore": ["x"],
    "recover": ["g.onnx", "--train", "t.zip", "--held-out", "h.zip", "--latent", "8"],
}
IMPORTED = {
    "score": ("score", ["EvidenceOptions", "score_files"]),
    "rescore": ("rescore", ["rescore_submission", "track_lines"]),
    "recover": ("recovery.files", ["EntryFiles", "recover_files", "report_lines", "write_pairs"]),
}
"""By command: the module of ``deploy.cli`` and the names that the command imports from it."""


def printed(code: str, **environment: str) -> str:
    """The output of a new interpreter."""
    inherited = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    command = [sys.executable, "-c", PROBE + code]
    return subprocess.run(command, env=inherited | environment, capture_output=True, text=True, check=True).stdout


def test_commands_that_run_networks_wait_passively() -> None:
    """One interpreter calls all commands. None of them may load torch before it sets the policy."""
    code = f"""
from deploy.cli import main
for command, (module, names) in {IMPORTED!r}.items():
    fake = types.ModuleType(f"deploy.cli.{{module}}")
    vars(fake).update(dict.fromkeys(names, seen))
    sys.modules[fake.__name__] = fake
    sys.argv = ["kennel", command, *{COMMANDS!r}[command]]
    for policy in (None, "ACTIVE"):
        os.environ.pop("OMP_WAIT_POLICY", None)
        if policy:
            os.environ["OMP_WAIT_POLICY"] = policy
        try:
            main.main()
        except SystemExit:
            pass
"""
    assert printed(code).splitlines() == ["PASSIVE False", "ACTIVE False"] * len(COMMANDS), (
        "an operator's choice is kept"
    )


def test_workers_wait_passively(tmp_path: Path) -> None:
    """Containers, `kennel up` and Kubernetes start workers from this module."""
    addresses = {
        "DATABASE_URL": "postgresql+psycopg2://nobody@127.0.0.1:1/none",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "BLOB_URL": tmp_path.as_uri(),
    }
    assert printed("import worker.app\nseen()", **addresses) == "PASSIVE False\n"
