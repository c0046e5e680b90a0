"""The path from which a process that opens untrusted files imports Kennel: the only variable it gets from outside."""

import os
from pathlib import Path

from kennel_client import errors

_CLIENT = Path(errors.__file__).parents[1]
_ROOT = Path(__file__).parents[2]
IMPORT_PATH = os.pathsep.join(dict.fromkeys(map(str, (_ROOT, _CLIENT))))
"""``PYTHONPATH`` for the service's modules and the client's modules that they use, from a checkout or installed."""
