"""`manage.py analyze`: the whole report, from a ratings file, a bundle or a study."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics.selectors import study_source
from tiebreak.formats import FormatError, atomic_path
from tiebreak.identifiers import looks_like_public_id
from tiebreak.report import build_report, read_source
from tiebreak.report.build import REPLICATES
from tiebreak.report.reading import Source


class Command(BaseCommand):
    help = "Write the report of a ratings file, a bundle (folder or .zip) or a study."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", metavar="PATH_OR_STUDY")
        parser.add_argument("--out", type=Path, required=True, metavar="report.json")
        parser.add_argument("--scale", action="append", default=[], metavar="CRITERION=SCALE")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--replicates", type=int, default=REPLICATES)
        parser.add_argument(
            "--unparsed", metavar="LABEL", help="what unparsed machine answers stand for (tie, …)"
        )
        parser.add_argument("--json", action="store_true", help="say what was done as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["replicates"] < 0:
            raise CommandError("--replicates must be 0 or more.")
        try:
            source = _source(options["source"])
            report = build_report(
                source.table,
                seed=options["seed"],
                replicates=options["replicates"],
                scales=source.scales | _scales(options["scale"]),
                unparsed=options["unparsed"],
                source=source.about,
                order=source.order,
            )
            _check_declared(options["scale"], report)
            with atomic_path(options["out"]) as temporary:
                temporary.write_text(json.dumps(report, indent=1, allow_nan=False) + "\n")
        except (FormatError, ValueError) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{options['out']} cannot be written: {error.strerror}.") from error
        for name, problem in _problems(report):
            self.stderr.write(f"{name} could not be computed. {problem}")
        counts = {"out": str(options["out"]), **report["source"]}
        self.stdout.write(json.dumps(counts) if options["json"] else _sentence(counts))


def _source(text: str) -> Source:
    path = Path(text)
    if not path.exists() and looks_like_public_id(text):
        return study_source(text)
    return read_source(path)


def _scales(declared: list[str]) -> dict[str, str]:
    scales = {}
    for each in declared:
        criterion, equals, spec = each.partition("=")
        if not equals:
            raise CommandError(f"--scale needs CRITERION=SCALE, not {each!r}.")
        scales[criterion] = spec
    return scales


def _check_declared(declared: list[str], report: dict[str, Any]) -> None:
    """A scale for a criterion that is not there is a typing error, not a wish."""
    for name in _scales(declared):
        if name not in report["criteria"]:
            there = ", ".join(report["criteria_order"]) or "none"
            raise CommandError(f"--scale names {name!r}; the criteria with ratings are: {there}.")


def _problems(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What the report lacks, and why."""
    yield from report["problems"].items()
    for criterion, section in report["criteria"].items():
        for name, problem in section["problems"].items():
            yield f"{criterion}: {name}", problem


def _sentence(counts: dict[str, Any]) -> str:
    return f"Wrote {counts['out']}: {counts['n_used']} of {counts['n_rows']} ratings used."
