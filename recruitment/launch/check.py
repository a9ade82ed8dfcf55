from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from studies.models import Study

GENERATE_SELECT = "metrics:generate-select"
RECRUITMENT = "recruitment:channels"
DATA = "studies:data"
TASK = "studies:task"
QUALITY = "recruitment:quality"
SIZE = "recruitment:size"
ANALYSIS_PLAN = "recruitment:analysis-plan"
LAUNCH = "recruitment:launch"
# Pages on which nothing can change once a study is open.
FROZEN = {DATA, GENERATE_SELECT, ANALYSIS_PLAN}


@dataclass(frozen=True)
class LaunchCheck:
    """One problem of a study, and what to do about it.

    `where` is the URL name of the page where it can be fixed; "" if no page of the study can. `advice`
    is said until the study opens, and `items` is the query of the page of items that lists what is meant.
    """

    code: str
    severity: Literal["error", "warning"]
    finding: str
    where: str = ""
    advice: str = ""
    items: str = ""

    @property
    def sentence(self) -> str:
        return f"{self.finding} {self.advice}".rstrip()

    @property
    def is_error(self) -> bool:
        return self.severity == "error"


Look = Callable[[Study], Iterator[LaunchCheck]]


def error(code: str, finding: str, where: str = "") -> LaunchCheck:
    return LaunchCheck(code, "error", finding, where)


def warning(
    code: str, finding: str, where: str = "", *, advice: str = "", items: str = ""
) -> LaunchCheck:
    return LaunchCheck(code, "warning", finding, where, advice, items)
