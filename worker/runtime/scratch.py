"""The check of the scratch folder, in its own module because ``kennel up`` uses it without Celery."""

import os
from pathlib import Path
from tempfile import TemporaryFile

from scorer.confinement.privileges import account_name
from scorer.errors import Unavailable


def require_scratch(folder: Path) -> None:
    """Raise ``Unavailable`` in one sentence if this account cannot write to the folder ``KENNEL_SCRATCH``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise Unavailable(
            "scratch-unwritable",
            f"The account {account_name(os.geteuid())} cannot write to the folder {folder} ({error.strerror}). "
            "Set KENNEL_SCRATCH to a folder of that account, or make that account the folder's owner.",
        ) from None
