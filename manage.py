#!/usr/bin/env python
"""Django's command line for Tiebreak."""

import os
import sys
from io import TextIOWrapper

NOT_UTF8 = "not_utf8: An argument has bytes that are no text in UTF-8. Type it again."
READER_GONE = 141  # as shells say it of a program that SIGPIPE ended


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line  # noqa: PLC0415

    if isinstance(
        sys.stdout, TextIOWrapper
    ):  # a terminal of Latin-1 has no quotation marks of ours
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except UnicodeEncodeError:
        sys.exit(NOT_UTF8)
    except (
        BrokenPipeError
    ):  # what was done is done; without a file, Python would complain at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(READER_GONE)


if __name__ == "__main__":
    main()
