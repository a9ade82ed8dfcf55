"""Jobs on real workers that are killed and take turns: `make bench-jobs [ONLY=scaling,chaos,…]`.

Starts PostgreSQL and Redis, then the runs of `benchmarks.jobs_runs` in a process that uses them.
"""

import os
import subprocess
import sys

from benchmarks.servers import ROOT, postgresql, redis


def main() -> int:
    with postgresql() as database, redis() as broker:
        database.run("CREATE DATABASE jobs")
        environment = {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "TIEBREAK_DATABASE_URL": database.url("jobs"),
            "TIEBREAK_BROKER_URL": broker,
            # Short, so that a dead worker's part is free again and turns end within a run.
            "TIEBREAK_JOB_LEASE_SECONDS": "4",
            "TIEBREAK_JOB_TURN_SECONDS": "1",
        }
        command = [sys.executable, "-m", "benchmarks.jobs_runs"]
        return subprocess.call(command, cwd=ROOT, env={**os.environ, **environment})


if __name__ == "__main__":
    sys.exit(main())
