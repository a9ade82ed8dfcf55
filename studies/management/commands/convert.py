"""`manage.py convert`: a published dataset into a bundle or a ratings file."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from tiebreak.formats import FormatError
from tiebreak.formats.readers import READERS, convert


class Command(BaseCommand):
    help = "Turn published datasets and crowd-platform files into a bundle or a ratings file."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("reader", choices=sorted(READERS))
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
        parser.add_argument("--out", type=Path, required=True, metavar="PATH")
        parser.add_argument("--systems", metavar="A,B", help="the two systems, the first is A")
        parser.add_argument("--json", action="store_true", help="say what was done as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        out: Path = options["out"]
        if out.is_dir() and any(out.iterdir()):
            raise CommandError(f"{out} is there already and not empty. Name another, or remove it.")
        try:
            converted = convert(options["reader"], options["files"], _pair(options["systems"]))
            converted.write(out)
        except FormatError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{out} cannot be written: {error.strerror}.") from error
        counts = {
            "out": str(out),
            "instances": len(converted.instances),
            "generations": len(converted.generations),
            "ratings": len(converted.ratings),
        }
        self.stdout.write(json.dumps(counts) if options["json"] else _sentence(counts))


def _pair(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise CommandError("--systems needs two different names: --systems A,B")
    return names[0], names[1]


def _sentence(counts: dict[str, Any]) -> str:
    return (
        f"Wrote {counts['ratings']} ratings of {counts['instances']} instances"
        f" ({counts['generations']} generations) to {counts['out']}."
    )
