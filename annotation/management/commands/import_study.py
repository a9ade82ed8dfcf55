"""`manage.py import_study`: a bundle into the database, all or nothing."""

import json
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.counts import study_counts
from annotation.importing import import_study
from studies.formats import FormatError


class Command(BaseCommand):
    help = "Import a study bundle (a folder or its .zip): all of it, or nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument("--owner", metavar="USERNAME", help="the researcher it belongs to")
        parser.add_argument("--json", action="store_true", help="say what was done as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["path"]
        if not path.exists():
            raise CommandError(f"{path} does not exist. Name a bundle's folder or its .zip.")
        owner = _owner(options["owner"])
        try:
            imported = import_study(path=path, owner=owner)
        except FormatError as error:
            raise CommandError(f"Nothing was imported.\n{error}") from error
        counts = {
            "study": imported.study.pk,
            "title": imported.study.title,
            "status": str(imported.study.status),
            "instances": imported.instances,
            "generations": imported.generations,
            "ratings": imported.ratings,
            "in_statistics": study_counts(imported.study).ratings,
        }
        self.stdout.write(json.dumps(counts) if options["json"] else _sentence(counts))


def _owner(username: str | None) -> User | None:
    if username is None:
        return None
    owner = User.objects.filter(username=username).first()
    if owner is None:
        raise CommandError(f"There is no user {username!r}. Create one: manage.py createsuperuser")
    return owner


def _sentence(counts: dict[str, Any]) -> str:
    return (
        f"Imported {counts['title']!r} as study {counts['study']} ({counts['status']}):"
        f" {counts['instances']} instances, {counts['generations']} generations,"
        f" {counts['ratings']} ratings, {counts['in_statistics']} of them in the statistics."
    )
