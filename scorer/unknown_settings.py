"""Environment variables that look like settings and are none: a misspelt setting would change nothing in silence."""

import logging
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from scorer.setting_types import is_secret
from scorer.settings import FILE_SUFFIX, Settings, variable_of

log = logging.getLogger(__name__)

PREFIX: Final = "KENNEL_"
OF_CLIENTS: Final = ("KENNEL_URL", "KENNEL_TOKEN")
"""What the commands of participants read."""
OF_DEPLOYMENTS: Final = ("KENNEL_MODE",)
"""What docker-compose.yml reads."""


def warn_of_unknown_settings(environ: Iterable[str]) -> None:
    """Log a warning for each variable that no part of the service reads, with the setting that may be meant."""
    for name, meant in unknown_settings(environ).items():
        log.warning("%s is no setting%s", name, f": is {meant} meant?" if meant else "")


def unknown_settings(environ: Iterable[str]) -> Mapping[str, str | None]:
    """The variables of an environment that begin like settings and are none, each with the most similar setting."""
    known = {*OF_CLIENTS, *OF_DEPLOYMENTS, *map(variable_of, Settings.model_fields)}
    known |= {f"{variable_of(name)}{FILE_SUFFIX}" for name, field in Settings.model_fields.items() if is_secret(field)}
    unknown = sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
    return {name: next(iter(get_close_matches(name, known, 1)), None) for name in unknown}
