"""What was refused, told by its code: sentences may be reworded, and no test breaks by it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tiebreak.errors import DomainError


@contextmanager
def refused(code: str, error: type[Exception] = DomainError) -> Iterator[pytest.ExceptionInfo[Any]]:
    """The block is refused with this very code."""
    with pytest.raises(error) as caught:
        yield caught
    assert caught.value.code == code
