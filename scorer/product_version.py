"""The version of this installation, told by pages, answers, workers, backups and webhooks."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "kennel-server"
"""The name under which the server is installed. The command and the packages are named otherwise."""
FORMER_DISTRIBUTION = "kennel"
"""The name up to 0.1, which is somebody else's at PyPI: environments that are older keep it until they are renewed."""


@cache
def product_version() -> str:
    """The version of the server's distribution, such as ``0.2.0``; of the former one where that alone is installed.

    Raises ``importlib.metadata.PackageNotFoundError`` where neither is.
    """
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return version(FORMER_DISTRIBUTION)
