"""What a command is, and what all commands of files have in common."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.layouts import UnclearLayoutError
from tiebreak.gateway import GatewayError


@dataclass(frozen=True)
class Outcome:
    """The result of a command: counts for ``--json``, a sentence, problems to report, exit status."""

    counts: dict[str, Any]
    sentence: str
    problems: tuple[str, ...] = ()
    status: int = 0

    def shown(self, options: Namespace) -> str:
        """Return the text for standard output; `main` prints the problems to standard error."""
        return json.dumps(self.counts) if options.json else self.sentence


@dataclass(frozen=True)
class Command:
    """A command, whose ``run`` refuses with a `DomainError` that tells the user why."""

    help: str
    add_options: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], Outcome]


def add_json_option(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


@contextmanager
def as_domain_errors(out: Path | None = None) -> Iterator[None]:
    """Turn errors raised while reading, computing or writing ``out`` into `DomainError`."""
    try:
        yield
    except UnclearLayoutError as error:
        example = f" For example: --columns {error.example}" if error.example else ""
        raise DomainError(error.code, f"{error.message}{example}", status=400) from error
    except (InvalidInput, GatewayError) as error:
        raise DomainError(error.code, error.message, status=400) from error
    except OSError as error:
        if out is None:
            raise
        raise cannot_write(out, error) from error


def cannot_write(path: Path, error: OSError) -> DomainError:
    return DomainError(
        "cannot_write", f"{path} cannot be written ({error.strerror}). Choose another path."
    )
