"""What was refused, told by its code: sentences may be reworded, and no test breaks by it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats import FormatError
from tiebreak.gateway import GatewayError

Refusals = type[Exception] | tuple[type[Exception], ...]
Place = tuple[str, int | None, str]


@contextmanager
def refused(
    code: str,
    error: Refusals = (DomainError, InvalidInput, GatewayError),
    *,
    naming: str = "",
) -> Iterator[pytest.ExceptionInfo[Any]]:
    """The block is refused with this very code; `naming` is a word that the sentence quotes.

    A command has its code from the refusal that it tells of.
    """
    with pytest.raises(error) as caught:
        yield caught
    assert code_of(caught.value) == code
    assert re.search(rf"(?<!\w){re.escape(naming)}(?!\w)", str(caught.value)), str(caught.value)


@contextmanager
def refused_file(*places: Place) -> Iterator[pytest.ExceptionInfo[FormatError]]:
    """A file is refused, for these problems and no others: each by its file, line and code."""
    with pytest.raises(FormatError) as caught:
        yield caught
    assert places_of(caught.value) == list(places)


def places_of(error: BaseException) -> list[Place]:
    """What is wrong with a file, and where; a command has it from what it tells of."""
    refusal = error if isinstance(error, FormatError) else error.__cause__
    assert isinstance(refusal, FormatError)
    return [(problem.file, problem.line, problem.code) for problem in refusal.problems]


def code_of(error: BaseException) -> str:
    """The code of a refusal, or of the one that a command tells of."""
    code: str | None = getattr(error, "code", None)
    if code is None:
        assert error.__cause__ is not None, error
        return code_of(error.__cause__)
    return code
