"""`manage.py import_table`: imports a plain table, all or nothing."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs.commands import as_command_error
from studies.commands import user_named
from studies.data.table_import import (
    BadTable,
    Choice,
    ImportedTable,
    import_table,
    inspect_table,
    parse_columns,
)
from tiebreak.commands.files import add_choice_options
from tiebreak.formats.limits import Limits
from tiebreak.formats.tables import LAYOUTS, ROLES, TableSummary


class Command(BaseCommand):
    help = (
        "Import all of a plain table (CSV, TSV, JSON, JSON Lines, Parquet, XLSX, or a folder of a"
        " Hugging Face dataset) as a dataset with a draft study, or nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, metavar="FILE", help="the table")
        parser.add_argument(
            "--owner", required=True, metavar="USERNAME", help="the researcher who will own it"
        )
        parser.add_argument("--title", required=True, help="the title of the study")
        parser.add_argument(
            "--layout",
            choices=LAYOUTS,
            help="wide: a row has a text of each system; long: a row has one text; prompts: a row has"
            " a source, and texts are generated later (default: guessed)",
        )
        add_choice_options(
            parser,
            f"columns by role: {', '.join(ROLES)}, text:SYSTEM, field:NAME (others are guessed)",
        )
        parser.add_argument(
            "--sheet",
            default="",
            metavar="NAME",
            help="the sheet of a workbook (default: the first that has a table)",
        )
        parser.add_argument("--dry-run", action="store_true", help="read the table, store nothing")
        parser.add_argument(
            "--leave-out-bad-rows",
            action="store_true",
            help="import the other rows if some have problems",
        )
        parser.add_argument(
            "--leave-out-errors",
            action="store_true",
            help="leave out texts that are errors of a program, such as “ERROR: timeout”",
        )
        parser.add_argument(
            "--max-rows",
            type=int,
            default=settings.TIEBREAK_MAX_UPLOAD_ROWS,
            metavar="N",
            help="maximum number of rows (default: %(default)s)",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["path"]
        if not path.exists():
            raise CommandError(f"{path} does not exist. Name a file or a folder with a table.")
        owner = user_named(options["owner"])
        with as_command_error(first="Nothing was imported.\n"):
            try:
                self._run(path, owner, options)
            except BadTable as error:
                if options["json"]:
                    self.stdout.write(json.dumps(error.summary.as_json()))
                raise

    def _run(self, path: Path, owner: User, options: dict[str, Any]) -> None:
        choice = Choice(
            options["layout"],
            parse_columns(options["columns"]),
            leave_out=tuple(options["leave_out"]),
            sheet=options["sheet"],
            fill_down=tuple(options["fill_down"]),
            leave_out_errors=options["leave_out_errors"],
        )
        limits = _limits(options["max_rows"])
        if options["dry_run"]:
            _, summary = inspect_table(path=path, choice=choice, limits=limits)
            facts: dict[str, object] = {}
            lines = [_read(summary), *map(str, summary.kinds), *summary.notes]
        else:
            imported = import_table(
                path=path,
                owner=owner,
                title=options["title"],
                choice=choice,
                limits=limits,
                bad_rows="leave_out" if options["leave_out_bad_rows"] else "refuse",
            )
            summary, facts = imported.summary, _facts(imported)
            lines = [f"Imported study {imported.study.pk}. {_read(summary)}", *summary.notes]
        as_json = json.dumps(summary.as_json() | facts)
        self.stdout.write(as_json if options["json"] else "\n".join(lines))


def _limits(max_rows: int) -> Limits:
    if max_rows < 1:
        raise CommandError("--max-rows must be 1 or more.")
    return Limits(
        cell=settings.TIEBREAK_MAX_CELL_CHARACTERS,
        rows=max_rows,
        advice="Allow more with --max-rows.",
    )


def _facts(imported: ImportedTable) -> dict[str, object]:
    return {
        "study": imported.study.pk,
        "dataset": imported.study.dataset_id,
        "dataset_was_known": imported.dataset_was_known,
    }


def _read(summary: TableSummary) -> str:
    if summary.plan is None:
        return summary.sentence
    roles = ", ".join(f"{role}={column}" for role, column in summary.plan.columns.items())
    return (
        f"{summary.sentence} Layout: {summary.plan.layout}. Columns: {roles or 'none'}."
        f" Systems: {', '.join(summary.systems) or 'none'}. Problems: {summary.n_problems}."
    )
