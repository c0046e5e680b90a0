"""An answer never tells whether a thing of another team exists."""

import pytest

from tests.privacy.crawler import distinguishable_answers
from tests.privacy.environment import Environment


@pytest.mark.parametrize("role", ["visitor", "outsider", "neighbour", "reviewer"])
def test_what_is_anothers_looks_like_nothing(world: Environment, role: str) -> None:
    assert not distinguishable_answers(world, [role])
