from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from studies.models import Study

GENERATE_SELECT = "metrics:generate-select"
RECRUITMENT = "recruitment:channels"
REFERENCE_UNITS = "admin:studies_study_reference_units"


@dataclass(frozen=True)
class LaunchCheck:
    """One thing that is wrong with a study, and what to do about it.

    `where` names the page that mends it, by its URL name; "" is the study's own.
    """

    code: str
    severity: Literal["error", "warning"]
    sentence: str
    where: str = ""

    @property
    def is_error(self) -> bool:
        return self.severity == "error"


Look = Callable[[Study], Iterator[LaunchCheck]]


def error(code: str, sentence: str, where: str = "") -> LaunchCheck:
    return LaunchCheck(code, "error", sentence, where)


def warning(code: str, sentence: str, where: str = "") -> LaunchCheck:
    return LaunchCheck(code, "warning", sentence, where)


def counted(n: int, noun: str, plural: str = "") -> str:
    """Such as `1 HIT` or `3 HITs`."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"
