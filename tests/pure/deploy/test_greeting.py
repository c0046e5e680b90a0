"""What ``kennel up`` prints when it runs."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deploy.standalone.run import print_greeting


@pytest.mark.parametrize("terminal", [True, False])
def test_the_first_token_is_shown_on_a_terminal_and_in_no_log(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    running: Any = SimpleNamespace(url="http://kennel", new_admin_token="first-token")
    print_greeting(running, Path("/data"))
    printed = capsys.readouterr().out
    assert ("first-token" in printed) is terminal
    assert ("kennel admin account token admin --data /data" in printed) is not terminal
