"""The version of this installation, shown by pages, responses, workers, backups and webhooks."""

from functools import cache
from importlib.metadata import version

DISTRIBUTION = "kennel-server"
"""The name of the server's distribution. The command and the packages have other names."""


@cache
def product_version() -> str:
    return version(DISTRIBUTION)
