#!/usr/bin/env python
"""Django's command line for Tiebreak."""

import os
import sys
from io import TextIOWrapper

READER_GONE = 141  # as shells say it of a program that SIGPIPE ended


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line  # noqa: PLC0415
    from django.db import DatabaseError  # noqa: PLC0415

    # A terminal of Latin-1 has no quotation marks of ours.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except (UnicodeEncodeError, DatabaseError) as error:
        from jobs.commands import said_of  # noqa: PLC0415

        if "--traceback" in sys.argv or not (said := said_of(error)):
            raise
        sys.exit(said)
    except BrokenPipeError:
        # What was done is done. Without a file to write to, Python would complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(READER_GONE)


if __name__ == "__main__":
    main()
