"""`manage.py analyze`: the library's command, which here also takes a study of this server."""

from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from django.core.management.base import BaseCommand, CommandParser

from annotation.filter_choices import filter_choices
from annotation.filters import NO_FAILED_CHECK, Filter
from jobs.commands import as_command_error
from metrics.messages import OUTCOME_HIDDEN
from metrics.results.filters import NAMES, FilterForm
from metrics.results.selectors import source_of, study_named
from studies.models import Study
from tiebreak.commands.reports import add_analyze_options, analyze
from tiebreak.errors import DomainError
from tiebreak.formats.layouts import Choice
from tiebreak.identifiers import looks_like_public_id
from tiebreak.report import read_source
from tiebreak.report.source import Source

NO_STUDY = "--filter chooses a part of a study of this server; a file has no filter."


class Command(BaseCommand):
    help = "Write the report of a ratings file, a bundle (folder or .zip) or a study."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        add_analyze_options(parser, source="PATH_OR_STUDY")
        parser.add_argument(
            "--filter",
            default="",
            metavar="QUERY",
            help="of a study only this part, as in the address of its results, such as"
            " category=news&since=2026-11-30",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        arguments = Namespace(**options)
        with as_command_error():
            outcome = analyze(arguments, read=partial(_source, query=options["filter"]))
        for problem in outcome.problems:
            self.stderr.write(problem)
        self.stdout.write(outcome.shown(arguments))


def _source(path: Path, choice: Choice, query: str) -> Source:
    if not path.exists() and looks_like_public_id(str(path)):
        study = study_named(str(path))
        return source_of(study, _chosen(study, query))
    if query:
        raise DomainError("bad_option", NO_STUDY, status=400)
    return read_source(path, choice)


def _chosen(study: Study, query: str) -> Filter:
    """Return the part that a query asks for, by the form of the pages."""
    values = dict(parse_qsl(query, keep_blank_values=True))
    if unknown := ", ".join(sorted({*values} - {*NAMES})):
        sentence = f"--filter does not know {unknown}; it knows {', '.join(NAMES)}."
        raise DomainError("bad_option", sentence, status=400)
    form = FilterForm(filter_choices(study), values)
    if not form.is_valid():
        raise DomainError("bad_option", " ".join(form.problems), status=400)
    if form.filter.raters == NO_FAILED_CHECK:
        raise DomainError("bad_option", OUTCOME_HIDDEN, status=400)
    return form.filter
