"""The version of this installation, told by pages, answers, workers, backups and webhooks."""

from functools import cache
from importlib.metadata import version

DISTRIBUTION = "kennel-server"
"""The name under which the server is installed. The command and the packages are named otherwise."""


@cache
def product_version() -> str:
    """The version of the server's distribution, such as ``0.2.0``."""
    return version(DISTRIBUTION)
