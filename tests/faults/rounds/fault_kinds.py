"""Every kind of fault by its name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tests.faults.rounds import broker_faults, clock_faults, process_faults, race_faults, storage_faults
from tests.faults.rounds.situation import Situation

Fault = Callable[[Situation], None]
KINDS: Mapping[str, Fault] = MappingProxyType(
    {
        **process_faults.KINDS,
        **broker_faults.KINDS,
        **storage_faults.KINDS,
        **clock_faults.KINDS,
        **race_faults.KINDS,
    }
)
BEFORE = ("two-beats", "two-versions")
"""Kinds that begin before the teams and let the teams begin."""
SECOND = ("kill-web", "kill-worker", "kill-job-process", "kill-redis", "kill-postgres", "broker-flushed")
"""Kinds that a round may have in addition to its first."""
SECOND_SHARE = 0.25
"""The share of rounds with a second fault."""
