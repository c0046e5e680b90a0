"""Where a process that opens untrusted files imports Kennel from: it gets no other variable of the environment."""

import os
from pathlib import Path

from kennel_client import errors

_CLIENT = Path(errors.__file__).parents[1]
_ROOT = Path(__file__).parents[2]
IMPORT_PATH = os.pathsep.join(dict.fromkeys(map(str, (_ROOT, _CLIENT))))
"""``PYTHONPATH`` for the service's modules and for those of the client that they use, from a checkout or installed."""
