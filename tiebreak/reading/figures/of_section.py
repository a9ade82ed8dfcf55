"""The figures of any section that a report has only if it is asked for."""

from importlib import import_module
from pkgutil import walk_packages
from typing import Any, get_args

from tiebreak.reading import figures
from tiebreak.reading.figures.after_draw import after_draw
from tiebreak.reading.figures.figure import DRAWN, Figure, Simple
from tiebreak.report.registry import Question

for _question in get_args(Question):
    _folder = import_module(f"{figures.__name__}.{_question}")
    for _module in walk_packages(_folder.__path__, f"{_folder.__name__}."):
        import_module(_module.name)


def figures_of_section(name: str, part: Any, simple: Simple = None) -> list[Figure]:
    """Return the figures of a section on request, from what the report has of it, if it is drawn.

    ``simple`` names the machine raters that follow a simple rule.
    """
    return after_draw(name, part, DRAWN[name](part, simple)) if name in DRAWN else []
