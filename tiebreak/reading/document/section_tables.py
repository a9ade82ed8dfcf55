"""The tables of a document, by the section of the report that they show, and what no table shows."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from math import isnan
from typing import Any, TypeVar, get_args

from tiebreak.digits import counted, small_in_digits
from tiebreak.reading.annotator_tests import ADVANTAGE, annotator_tests
from tiebreak.reading.coefficients import coefficients
from tiebreak.reading.document.content import Block, DataTable
from tiebreak.reading.document.estimates import estimate_in_words, estimate_table
from tiebreak.reading.figures.after_draw import about_draw
from tiebreak.reading.figures.figure import ESTIMATE_COLUMNS, MAX_ROWS, Figure
from tiebreak.reading.figures.of_section import figures_of_section
from tiebreak.reading.shown import Row
from tiebreak.reading.while_open import unreached
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.registry import SECTIONS, Question, Section, on_request, part_title
from tiebreak.stats import Estimate

Tables = Callable[[CriterionSection], Iterable[Block]]
F = TypeVar("F", bound=Tables)
TABLES: dict[str, Tables] = {}

NOT_ASKED = "Computed only if they are asked for: {titles}."
PER_RATER = "Only report.json has them, because they have a row for each annotator: {titles}."
LATER = "Shown once a study is closed, if it has any: {titles}."
NOT_HERE = "These ratings do not have them: {titles}."


def tables(name: str) -> Callable[[F], F]:
    """Declare that a function yields the tables of a section."""

    def register(make: F) -> F:
        TABLES[name] = make
        return make

    return register


def in_order() -> list[str]:
    """Return the sections that may have tables by question, first those that lead it."""
    questions = get_args(Question)

    def place(name: str) -> tuple[int, bool, bool]:
        section = SECTIONS[name]
        return questions.index(section.question), section.on_request, section.core is None

    return sorted([*TABLES, *on_request()], key=place)


def tables_of(name: str, about: CriterionSection) -> Iterator[Block]:
    """Yield the tables of a section: its own, or the data of its figures."""
    if name in TABLES:
        why = SECTIONS[name].of_rated_items
        sentence = about_draw(name, SECTIONS[name].of(about)) if why else ""
        yield from (_noted(block, sentence) for block in TABLES[name](about))
    elif SECTIONS[name].on_request and (part := SECTIONS[name].of(about)) is not None:
        yield from (data_table(figure) for figure in figures_of_section(name, part) if figure.rows)


def _noted(block: Block, sentence: str) -> Block:
    if not isinstance(block, DataTable):
        return block
    return replace(block, note=f"{block.note}{sentence}".strip())


def data_table(figure: Figure) -> DataTable:
    """Return the data of a figure as a table, with each estimate and its interval in one cell."""
    columns = list(figure.columns)
    kept = [n for n, name in enumerate(columns) if name not in ESTIMATE_COLUMNS[1:] or name == "n"]
    intervals = {name: columns.index(name) for name in ("low", "high") if name in columns}
    cells = list(figure.cells)
    if len(intervals) == 2 and "value" in columns:
        value = columns.index("value")
        for row in cells:
            ends = [row[n] for n in intervals.values()]
            row[value] += f" ({' to '.join(ends)})" if {"–", ""}.isdisjoint(ends) else ""
    else:
        kept = list(range(len(columns)))
    more = f"{counted(figure.left_out, 'further row')} in the file of its data. " * bool(
        figure.left_out
    )
    rows = tuple(tuple(row[n] for n in kept) for row in cells[:MAX_ROWS])
    headings = tuple(figure.headings[n] for n in kept)
    note = " ".join((f"{more}{figure.reading}", *figure.why_missing))
    return DataTable(figure.title or figure.finding, headings, rows, note)


@tables("chance_corrected")
def _chance_corrected(about: CriterionSection) -> Iterator[Block]:
    listed = coefficients(about, states_findings=unreached(about) is None)
    if listed is None or not listed.rows:
        return
    yield _table(part_title("chance_corrected"), listed.columns, listed.rows, listed.about)
    if listed.correlations:
        yield _table("Intraclass correlations", ["Estimate"], listed.correlations, "")


def _table(caption: str, columns: list[str], rows: list[Row], note: str) -> DataTable:
    cells = tuple(
        (row.name, *(f"{n.text} ({n.interval})" if n.interval else n.text for n in row.numbers))
        for row in rows
    )
    width = max(map(len, cells))
    padded = tuple((*row, *[""] * (width - len(row))) for row in cells)
    reasons = " ".join(dict.fromkeys(n.reason for row in rows for n in row.numbers if n.reason))
    return DataTable(caption, ("Statistic", *columns), padded, f"{note} {reasons}".strip())


@tables("alternative_annotator_test")
def _annotator_tests(about: CriterionSection) -> Iterator[Block]:
    tests = annotator_tests(about, states_findings=unreached(about) is None)
    if tests is None or not tests.rows:
        return
    columns = ("Machine rater", "ω", "ρ", "ε", "Outcome")
    rows = tuple(
        (row.machine, row.rate, row.probability, row.epsilon, row.outcome or row.reason)
        for row in tests.rows
    )
    scopes = " ".join(dict.fromkeys(row.scope for row in tests.rows if row.scope))
    caption = part_title("alternative_annotator_test")
    yield DataTable(caption, columns, rows, f"{tests.decision} {ADVANTAGE} {scopes}".strip())


@tables("self_consistency")
def _self_consistency(about: CriterionSection) -> Iterator[Block]:
    if about.self_consistency is not None:
        share = {"All annotators": about.self_consistency.humans}
        yield estimate_table(part_title("self_consistency"), share)


@tables("rater_variance")
def _rater_variance(about: CriterionSection) -> Iterator[Block]:
    if (found := about.rater_variance) is not None:
        numbers = {
            "Variance of annotators' own win rates of a system": found.variance,
            "Annotators": Estimate(found.raters, n=found.variance.n),
            "Annotators with equal loads that would say as much": Estimate(
                found.effective_raters, n=found.variance.n
            ),
        }
        yield estimate_table(part_title("rater_variance"), numbers)


@tables("noise_ceiling")
def _noise_ceiling(about: CriterionSection) -> Iterator[Block]:
    for name, found in (about.noise_ceiling or {}).items():
        numbers = {
            f"{name} and one annotator": found.agreement,
            "Two annotators": found.annotators,
            "The best possible machine and one annotator, at most": found.ceiling,
        }
        yield estimate_table(f"How often labels are equal: {name}", numbers)


@tables("planning")
def _planning(about: CriterionSection) -> Iterator[Block]:
    planning = about.planning or {}
    if not planning:
        return
    columns = ("Pair", "Between instances", "Between items", "Between annotators", "Of a rating")
    rows = tuple(
        (
            name,
            *(
                "undefined" if isnan(part) else small_in_digits(part)
                for part in (pair.instance, pair.unit, pair.rater, pair.rating)
            ),
        )
        for name, pair in planning.items()
    )
    said = [note for pair in planning.values() for note in (*pair.notes, pair.reason or "")]
    yield DataTable(part_title("planning"), columns, rows, " ".join(dict.fromkeys(said)).strip())


@tables("stopping")
def _stopping(about: CriterionSection) -> Iterator[Block]:
    if about.stopping is None or not about.stopping.pairs:
        return
    columns = ("Pair", "Win rate of the first", "Instances", "½ excluded after")
    rows = tuple(
        (
            name,
            estimate_in_words(pair.win_rate),
            f"{pair.complete} of {pair.planned}",
            str(pair.excluded_half_after or "not excluded"),
        )
        for name, pair in about.stopping.pairs.items()
    )
    yield DataTable(part_title("stopping"), columns, rows)


def what_is_left_out(about: CriterionSection, shown: set[str]) -> Iterator[str]:
    """Yield why a document shows neither a table nor a figure of some sections, by reason."""
    missing = [one for one in SECTIONS.values() if one.name not in {*shown, *about.problems}]
    by_reason: dict[str, list[str]] = {}
    for section in missing:
        by_reason.setdefault(_why_left_out(section, about), []).append(section.title)
    for reason, titles in by_reason.items():
        yield reason.format(titles="; ".join(titles))


def _why_left_out(section: Section, about: CriterionSection) -> str:
    part = section.of(about)
    if part is None and section.after_closing:
        return LATER
    if part is None and section.on_request and section.offered(about):
        return NOT_ASKED
    if part and section.names_raters:
        return PER_RATER
    undrawn = figures_of_section(section.name, part) if part and section.on_request else []
    reason = next((figure.sentence for figure in undrawn), "") or _reason(part)
    reason = reason.replace("{", "{{").replace("}", "}}")
    return f"{{titles}}: {reason}" if reason else NOT_HERE


def _reason(part: Any) -> str:
    """Return why nothing in a section is defined; empty if something is."""
    if isinstance(part, Estimate):
        return "" if part.is_defined else part.reason or ""
    if own := getattr(part, "reason", None):
        return str(own)
    if is_dataclass(part):
        part = [inner for one in fields(part) if is_dataclass(inner := getattr(part, one.name))]
    inner = [*(part.values() if isinstance(part, Mapping) else part or ())]
    reasons = [_reason(one) for one in inner]
    return reasons[0] if reasons and all(reasons) else ""
