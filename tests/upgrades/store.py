"""Stores what a release promises and contains, before it is tagged: `python -m tests.upgrades.store`.

Needs pg_dump on the path, and an empty database of its version in TIEBREAK_TEST_POSTGRESQL_URL.
"""

import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.paths import ROOT
from tests.run import postgresql
from tiebreak import __version__

HERE = Path(__file__).parent


def run(*command: str, url: str, folder: Path) -> str:
    """Run a command on a database; return what it prints."""
    environment = os.environ | {
        "TIEBREAK_DATABASE_URL": url,
        "TIEBREAK_VAR_DIR": str(folder),
        "TIEBREAK_TASKS_EAGER": "true",
    }
    done = subprocess.run(
        [sys.executable, *command],
        check=False,
        cwd=ROOT,
        env=environment,
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def filled(url: str, folder: Path) -> None:
    run("manage.py", "migrate", "-v0", url=url, folder=folder)
    run("-m", "tests.upgrades.contents", "fill", url=url, folder=folder)


def facts(url: str, folder: Path) -> str:
    return run("-m", "tests.upgrades.contents", "facts", url=url, folder=folder)


def main() -> None:
    release = HERE / __version__
    release.mkdir()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = folder / "database.sqlite3"
        filled(f"sqlite:///{database}", folder)
        _write(release / "database.sqlite.gz", database.read_bytes())
        _write(release / "sqlite.json.gz", facts(f"sqlite:///{database}", folder).encode())
        with postgresql() as url:
            assert url, "PostgreSQL is absent."
            filled(url, folder)
            dump = ["pg_dump", "--inserts", "--no-owner", "--no-privileges", f"--dbname={url}"]
            rows = subprocess.run(dump, check=True, stdout=subprocess.PIPE).stdout
            # Lines with a backslash are for psql.
            lines = [line for line in rows.splitlines(keepends=True) if line[:1] != b"\\"]
            _write(release / "database.sql.gz", b"".join(lines))
            _write(release / "postgresql.json.gz", facts(url, folder).encode())
    from tests.upgrades.promises import promises

    (release / "promises.txt").write_text("".join(f"{line}\n" for line in promises()))


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(gzip.compress(content, mtime=0))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    main()
