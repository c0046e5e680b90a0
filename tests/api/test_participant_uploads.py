"""Handing in by the ``kennel`` command over a network that cuts, and after the command itself was killed."""

import time
from pathlib import Path

from deploy.exits import Exit
from tests.api.commanding import Terminal, terminal
from tests.api.conftest import Service
from tests.factories import noise, zipped
from tests.proxy import Proxy

__all__ = ["terminal"]
COUNT, SIZE = 40, 256


def test_an_upload_survives_cuts_and_a_killed_command(terminal: Terminal, service: Service, tmp_path: Path) -> None:
    slug = service.competition(image_count=COUNT, image_size=SIZE)
    file = tmp_path / "big.zip"
    file.write_bytes(zipped(noise(3, COUNT, SIZE)))
    length = file.stat().st_size

    cutting = Proxy([terminal.url], after=length // 4, cuts=2)
    with cutting.running() as address:
        cut = terminal.run("submit", slug, file, "--json", url=address)
    assert (cut.status, cutting.cut) == (Exit.DONE, 2), cut.err
    assert cut.document["bytes"] == length
    assert cutting.carried < 2 * length

    memory = terminal.folder / "state" / "kennel" / "uploads"
    slow = Proxy([terminal.url], after=length, cuts=0, pause=0.02)
    with slow.running() as address:
        with terminal.start("submit", slug, file, "--no-check", url=address) as process:
            while slow.carried < length / 2:
                assert process.poll() is None
                time.sleep(0.01)
            process.kill()
        assert len(list(memory.iterdir())) == 1, "the upload is remembered"
        other_note = terminal.run("submit", slug, file, "--note", "another", "--json", url=address)
        assert "Going on" not in other_note.err, "with another note it is another entry"
        before = slow.carried
        slow.pause = 0
        resumed = terminal.run("submit", slug, file, "--json", url=address)
    assert resumed.status == Exit.DONE, resumed.err
    assert "Going on with an upload begun earlier" in resumed.err
    assert slow.carried - before < 0.8 * length, "it went on, it did not begin again"
    assert list(memory.iterdir()) == []
    entries = service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    assert [each["id"] for each in entries] == [each.document["id"] for each in (resumed, other_note, cut)]
    assert len({each["sha256"] for each in entries}) == 1
