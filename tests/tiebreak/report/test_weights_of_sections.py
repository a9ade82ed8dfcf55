"""Every section weights drawn instances, or says that it describes the rated items.

The sections come from the registry: a new one is tested here without being named.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from itertools import product

import numpy as np
import pytest

from tests.metrics.studies import report_of
from tests.tiebreak.reading.figures.test_one_population import (
    FAMILIES,
    MACHINES,
    OF_RATED,
    RARE,
    ratings,
    undrawn,
)
from tiebreak.reading.document.section_tables import tables_of
from tiebreak.reading.figures.of_report import figures_by_section
from tiebreak.reading.figures.raters.single_raters import single_rater_figures
from tiebreak.reading.messages import ON_SELECTED, READING_IF_DRAWN
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.registry import SECTIONS, Section, on_request
from tiebreak.report.sections.machines import comparison_budget
from tiebreak.report.sections.systems import rank_stability
from tiebreak.stats import Estimate

pytestmark = pytest.mark.thorough
APART, NEAR = 0.02, 0.5
OF_SELECTED, OF_DRAWN = READING_IF_DRAWN["selected"], " The instances were drawn"
# Of a number, how sure it is, which depends on how many instances there are and not on what they say.
HOW_SURE = ("low", "high", "_low", "_high", "p_rates", "p_rates_adjusted", "_within", "_worse_by")
# A number whose name says that it is unweighted.
SAYS_SO = "unweighted"
ORDERED, NUMBERS, BINARY, SLIDER = "ordinal:1..5", "interval:1..5", "nominal:yes,no", "ratio"


def scores(scale: str) -> list[dict]:
    """Return scores of single texts of 24 instances, of which every other is rare and scored alike."""
    rng, made = np.random.default_rng(4), []
    for i, system, rater in product(range(24), "xy", ["r0", "r1", "r2", *MACHINES]):
        rare = i % 2 == 0
        about = {
            "unit": f"u{i}{system}",
            "instance": f"i{i}",
            "criterion": "c",
            "system_a": system,
            "rater": rater,
            "category": "cd"[i % 4 > 1],
            "phase": "control" if i % 12 < 10 else "selected",
            "inclusion_probability": RARE if rare else 1.0,
            "hit_position": i,
            "position": 0,
            "duration_ms": int(1000 + 500 * rng.random() * (1 + i * rare)),
        }
        for run in range(2 if rater in MACHINES else 1):
            spread = 2 if not rare or rng.random() < 0.2 else 1
            centre = 3 + rare * (1 if system == "x" else -1)
            score = int(np.clip(centre + rng.integers(-spread, spread + 1), 1, 5))
            kind = {"kind": "machine", "run": run} if rater in MACHINES else {}
            made.append(about | kind | {"label": label_of(score, scale, len(made))})
    return made


def label_of(score: int, scale: str, number: int) -> object:
    if scale == BINARY:
        return "yes" if score > 3 else "no"
    return 20 * score + number % 997 / 100 if scale == SLIDER else score


@dataclass(frozen=True)
class Study:
    """A criterion of a drawn study, of its ratings without weights, and with instances as they count."""

    drawn: CriterionSection
    as_they_are: CriterionSection
    as_they_count: CriterionSection

    @classmethod
    def of(cls, rows: list[dict], scale: str) -> "Study":
        tables = rows, undrawn(rows, copies=False), undrawn(rows, copies=True)
        options = {"sections": on_request(), "families": FAMILIES}
        reports = [
            report_of(table, scales={table[0].get("criterion", "preference"): scale}, **options)
            for table in tables
        ]
        return cls(*(next(iter(report.criteria.values())) for report in reports))

    def weighted(self, section: Section) -> dict[str, list[bool]]:
        """Return whether what weights change is as instances count, by the number's field.

        Numbers are compared one by one, and then count with those of other strata, raters and systems:
        alone, one of few items may be anywhere, because corrections for small samples differ.
        """
        drawn, plain, counting = (
            dict(numbers(part_of(section, one))) for one in vars(self).values()
        )
        found: dict[str, list[bool]] = {}
        for path in drawn.keys() & plain.keys() & counting.keys():
            value, ends = drawn[path], (plain[path], counting[path])
            if abs(ends[0] - ends[1]) > APART * max(1, *map(abs, ends)):
                far = [abs(value - end) for end in ends]
                found.setdefault(path[-1], []).append(far[1] < NEAR * far[0])
        return found


def part_of(section: Section, about: CriterionSection) -> object:
    """Return what a criterion has of a section, without what other sections fill."""
    part = section.of(about)
    if part is None or (section.name == section.field and section.name != "systems"):
        return part
    if section.fills:
        return {name: getattr(part, name) for name in section.fills}
    return vars(part) | dict.fromkeys(name for one in SECTIONS.values() for name in one.fills)


def numbers(
    part: object, path: tuple[object, ...] = ()
) -> Iterator[tuple[tuple[object, ...], float]]:
    """Yield the numbers of a part by their path, in which strata have their names."""
    name = str(path[-1]) if path else ""
    if isinstance(part, Estimate):
        yield path, part.value
    elif isinstance(part, float):
        if not name.endswith(HOW_SURE) and not name.startswith(SAYS_SO):
            yield path, part
    elif isinstance(part, tuple):
        for at, inner in enumerate(part):
            kind, stratum = (getattr(inner, key, at) for key in ("stratifier", "stratum"))
            yield from numbers(inner, (*path, kind, stratum))
    elif isinstance(part, Mapping) or is_dataclass(part):
        for key, inner in (part if isinstance(part, Mapping) else vars(part)).items():
            yield from numbers(inner, (*path, key))


def said(section: Section, about: CriterionSection) -> str:
    """Return all that a document or a page says of a section."""
    figures = [*figures_by_section(about).get(section.name, [])]
    if section.names_raters:
        figures += single_rater_figures(about, "")
    texts = [text for one in figures for text in (one.finding, one.sentence, one.reading)]
    notes = [getattr(block, "note", "") for block in tables_of(section.name, about)]
    return " ".join([*texts, *notes])


@pytest.fixture(scope="module", params=["preference:tie", ORDERED, NUMBERS, BINARY, SLIDER])
def study(request) -> Study:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison_budget, "DRAWS", 20)
        patch.setattr(rank_stability, "SPLITS", 20)
        is_preference = request.param == "preference:tie"
        return Study.of(ratings() if is_preference else scores(request.param), request.param)


def test_every_section_weights_drawn_instances_or_says_that_it_describes_those_rated(study):
    seen = set()
    for name, section in SECTIONS.items():
        for field, are_weighted in study.weighted(section).items():
            is_weighted = np.mean(are_weighted) > 0.5
            says = said(section, study.drawn)
            seen.add((name, is_weighted))
            if not is_weighted:
                is_open = study.drawn.scale == SLIDER  # whose agreement has no weights
                why = f"{OF_RATED}: {section.of_rated_items or 'a reason'}"
                words = (ON_SELECTED, OF_SELECTED) if is_open else (why,)
                assert any(word in says for word in words), (name, field)
            else:
                assert not section.of_rated_items, (name, field)
    assert {is_weighted for _, is_weighted in seen} == {True, False}
    assert len(seen) > 3


def test_a_section_does_not_say_it_without_a_draw(study):
    for section in SECTIONS.values():
        says = said(section, study.as_they_are)
        assert OF_RATED not in says
        assert OF_DRAWN not in says
