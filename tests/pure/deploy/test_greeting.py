"""What ``kennel up`` prints when it runs."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deploy.standalone import service
from deploy.standalone.run import print_greeting


@pytest.mark.parametrize("terminal", [True, False])
def test_a_link_to_sign_in_is_shown_on_a_terminal_and_in_no_log(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setattr(service, "sign_in_address", lambda _settings, handle: f"http://kennel/link-of-{handle}")
    running: Any = SimpleNamespace(url="http://kennel", settings=None)
    print_greeting(running, Path("/data"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Kennel is running at http://kennel"
    if terminal:
        assert lines[1:] == [
            "Sign in as admin: http://kennel/link-of-admin",
            "Data: /data (log: /data/kennel.log)",
            "Press Ctrl-C to stop.",
        ]
    else:
        assert lines[1:] == ["For a link to sign in: kennel admin account reset-link admin --data /data"]
