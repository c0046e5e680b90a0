"""A part that prints its process properties and then sleeps."""

import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    pid = os.getpid()
    status = Path("/proc/self/status").read_text().splitlines()
    report = {
        "arguments": sys.argv[1:],
        "command": Path("/proc/self/cmdline").read_bytes().decode().rstrip("\0").split("\0"),
        "environment": dict(os.environ),
        "folder": str(Path.cwd()),
        "input": str(Path("/proc/self/fd/0").readlink()),
        "leads": [os.getsid(0) == pid, os.getpgid(0) == pid],
        "mask": os.umask(0o077),
        "niceness": os.nice(0),
        "parent": os.getppid(),
        "privileges": [line for line in status if line.startswith(("NoNewPrivs", "CapBnd", "Uid", "Sig"))],
    }
    sys.stdout.write(f"{json.dumps(report)}\n")
    sys.stdout.flush()
    time.sleep(600)


if __name__ == "__main__":
    main()
