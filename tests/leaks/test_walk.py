"""Nothing private leaks: every route, every role, every planted value."""

from tests.leaks.walk import walk
from tests.leaks.world import World


def test_no_route_tells_what_is_hidden(world: World) -> None:
    found = walk(world)
    assert not found.broken
    assert not found.unused, "nobody could use these: say in tests/leaks/calls.py how they are called"
    assert not [str(each) for each in found.leaks]
