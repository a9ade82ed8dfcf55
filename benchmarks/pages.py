"""The researcher's pages of a study with a million ratings: `make bench-pages [RATINGS=1000000]`.

Starts PostgreSQL, then `benchmarks.pages_runs` in a process that uses it.
"""

import os
import subprocess
import sys

from benchmarks.servers import ROOT, postgresql


def main() -> int:
    with postgresql() as database:
        database.run("CREATE DATABASE pages")
        environment = {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "TIEBREAK_DATABASE_URL": database.url("pages"),
            # Nothing is sent: the report is stored before a page asks for it.
            "TIEBREAK_BROKER_URL": "memory://",
        }
        command = [sys.executable, "-m", "benchmarks.pages_runs"]
        return subprocess.call(command, cwd=ROOT, env={**os.environ, **environment})


if __name__ == "__main__":
    sys.exit(main())
