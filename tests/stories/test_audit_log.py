"""The audit log: the acts of each person, with the previous values."""

import pytest

from kennel_client.errors import Refused
from tests.stories.conftest import RunningService


def test_an_organizers_act_is_listed_with_the_previous_values(live: RunningService) -> None:
    slug, ada = live.competition(), live.person("ada")
    live.admin.admin.competitions.change(slug, {"title": "Dogs"})
    entry = live.admin.admin.audit_log.newest(slug)[0]
    assert (entry["actor"], entry["before"], entry["after"]) == ("admin", {"title": "A competition"}, {"title": "Dogs"})
    with pytest.raises(Refused) as refused:
        ada.api.get(f"/competitions/{slug}/audit")
    assert refused.value.status == 403
