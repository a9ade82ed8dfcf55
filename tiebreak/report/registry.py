"""The sections of a report. Each is declared once, next to the function that computes it.

Whatever lists sections reads this registry: what a report computes and what only on request, the options
and the help of commands, titles, and what pages and documents offer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from tiebreak.errors import InvalidInput
from tiebreak.report.criterion import Criterion
from tiebreak.report.generators import Seeds
from tiebreak.report.model.report import CriterionSection
from tiebreak.stats import EloConstants
from tiebreak.stats.machines.alternative_annotators import EPSILON
from tiebreak.stats.rankings.elo import PAPER

Question = Literal["systems", "raters", "machines", "planning"]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Analysis:
    """One criterion, and what its sections may need."""

    criterion: Criterion
    """The ratings of the criterion."""
    seeds: Seeds
    """Source of the random generators."""
    replicates: int
    """Number of bootstrap replicates, or 0 for no intervals."""
    epsilon: float = EPSILON
    """Allowance of the alternative annotator test."""
    criteria: int = 1
    """Number of criteria with preferences, whose findings share an error."""
    known_order: tuple[str, ...] = ()
    """Systems in an order that is known from elsewhere, best first."""
    scored: Sequence[Criterion] = ()
    """Criteria with scores of single texts, to compare with comparisons."""
    families: Mapping[str, str] = field(default_factory=dict)
    """Families of systems and machine raters by name, as far as they are declared."""
    elo_constants: EloConstants = PAPER
    """Constants of Elo ratings."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """What is known about a section without computing it."""

    name: str
    """Name of its field in a criterion's part of the report, unless it fills others."""
    title: str
    """What people read."""
    question: Question
    """The question that it helps to answer."""
    make: Callable[..., Any] | None
    """Computes it; None where only a server can."""
    takes: tuple[str, ...] = ("seeds", "replicates")
    options: tuple[str, ...] = ()
    """Fields of `Analysis` that ``make`` takes after the criterion, by position and by name."""
    needs: Callable[[Criterion], bool] = field(default=lambda _: True)
    """Whether a criterion's ratings have it at all."""
    core: Callable[..., Any] | None = None
    """Computes what the leading numbers need of it; None if they need nothing."""
    seeded_by: str = ""
    """Name under which its generators are seeded, which must stay, or digits move."""
    on_request: bool = False
    """Whether it takes long or is rarely needed, so a report has it only if it is asked for."""
    fills: tuple[str, ...] = ()
    """The fields of ``systems`` that it adds, if it has no field of its own."""
    asks: str = ""
    """The decision that it informs, as a question."""
    offered: Callable[[CriterionSection], bool] = field(default=lambda _: True)
    """Whether it is offered for a criterion of a report."""
    shows_outcome: bool = False
    """Whether it says which system is preferred."""
    names_raters: bool = False
    """Whether it is about single annotators, which not everyone may see."""
    of_rated_items: str = ""
    """Why its numbers describe the rated items, and not the dataset, where instances were drawn: the end
    of a sentence; empty if drawn instances are weighted."""
    after_closing: bool = False
    """Whether a study must be closed first, because someone still decides on what it shows."""

    @property
    def field(self) -> str:
        """The field of a criterion's part of the report in which it is."""
        return "systems" if self.fills else self.name

    def of(self, about: CriterionSection) -> Any:
        """Return what a criterion has of the section, or None."""
        part = getattr(about, self.field)
        return part if not self.fills or getattr(part, self.fills[0], None) else None

    def put(self, part: Any, about: CriterionSection) -> CriterionSection:
        """Return the criterion with the section."""
        if self.fills:
            part = replace(
                about.systems or part, **{name: getattr(part, name) for name in self.fills}
            )
        return replace(about, **{self.field: part})

    def is_in_every_report(self, *, core: bool) -> bool:
        """Return whether a report, or a core report, has the section without being asked for it."""
        return not self.on_request and (self.core if core else self.make) is not None

    def compute(self, analysis: Analysis, *, core: bool = False) -> Any:
        """Compute the section, or what the leading numbers need of it."""
        if self.seeded_by:
            analysis = replace(analysis, seeds=analysis.seeds.below(self.seeded_by))
        given = [getattr(analysis, name) for name in self.takes]
        if core:
            assert self.core is not None
            return self.core(analysis.criterion, *given)
        assert self.make is not None
        options = {name: getattr(analysis, name) for name in self.options}
        return self.make(analysis.criterion, *given, **options)


SECTIONS: dict[str, Section] = {}


def section(
    name: str, title: str, *, question: Question, seeded_by: str | None = None, **declared: Any
) -> Callable[[F], F]:
    """Declare the section that a function computes. The other arguments are `Section`'s."""

    def register(make: F) -> F:
        seeds = name if seeded_by is None else seeded_by
        declare(
            Section(
                name=name, title=title, question=question, make=make, seeded_by=seeds, **declared
            )
        )
        return make

    return register


def core(name: str) -> Callable[[F], F]:
    """Declare that a function computes what the leading numbers need of a section declared before."""

    def register(make: F) -> F:
        SECTIONS[name] = replace(SECTIONS[name], core=make)
        return make

    return register


def declare(section: Section) -> None:
    """Add a section. Each field of a criterion's part of the report has one."""
    assert section.name not in SECTIONS, section.name
    SECTIONS[section.name] = section


def on_request() -> dict[str, Section]:
    """Return the sections that a report has only if they are asked for, by name."""
    return {name: SECTIONS[name] for name in sorted(SECTIONS) if SECTIONS[name].on_request}


def after_closing() -> tuple[str, ...]:
    """Return the sections that a study must be closed for."""
    return tuple(name for name, section in on_request().items() if section.after_closing)


def check_sections(names: Iterable[str]) -> None:
    """Raise `InvalidInput` for a name that is no section on request."""
    known = on_request()
    if unknown := sorted({*names} - {*known}):
        raise InvalidInput(
            "unknown_section",
            f"There is no section {', '.join(unknown)} to ask for. A report has these only if they"
            f" are asked for: {', '.join(known)}.",
        )


def part_title(name: str) -> str:
    """Return what a part of a criterion's section is called, wherever people read it."""
    return SECTIONS[name].title if name in SECTIONS else name.replace("_", " ").capitalize()
