"""What the machine raters of a study are, as a section of a document: judges, rules, juries, uploads."""

from collections.abc import Callable, Iterator

from annotation.models import Rater, Rating
from machine_raters.exported_raters import UPLOADED as UPLOADED_KIND, machine_rater_rows
from machine_raters.models import Baseline, Judge, Jury
from metrics.results.machine_notes import costs_of, settings_of
from studies.models import Study
from tiebreak.digits import counted, percent
from tiebreak.formats.rows import Row
from tiebreak.reading.document.content import Block, DataTable, DocumentSection, Paragraph, Verbatim
from tiebreak.reading.document.results import captioned
from tiebreak.reading.figures.machines.costs import TITLE as COST_TITLE, cost_figure
from tiebreak.reading.figures.machines.prompt_grid import prompt_grid_figure
from tiebreak.report import Report

TITLE = "Machine raters"
COLUMNS = ("Machine rater", "Criterion", "Kind", "What it is")
UPLOADED = "Its ratings were uploaded or imported; this server does not know how they were made."
PLACEHOLDERS = (
    "In the instructions below, {guidelines}, {question} and {answers} stand for what annotators read: the"
    " study's guidelines, and the question and the answers of the criterion."
)
UNNAMED = "a language model without a name, which ran in a worker"


def machine_sections(study: Study) -> list[DocumentSection]:
    """Return the section, or nothing if the study has no machine rater."""
    rows = list(machine_rater_rows(study))
    cells = (*map(_cells, rows), *_uploaded(study, {row["rater"] for row in rows}))
    if not cells:
        return []
    by_judge: dict[str, list[Row]] = {}
    for row in rows:
        if row["kind"] == "judge":
            by_judge.setdefault(row["rater"], []).append(row)
    judges = [block for of_judge in by_judge.values() for block in _judge(of_judge)]
    return [DocumentSection(TITLE, (DataTable(TITLE, COLUMNS, cells), *judges))]


def cost_sections(study: Study, report: Report) -> list[DocumentSection]:
    """Return cost against agreement by criterion, and judges by their settings, where these are known."""
    costs = {name: float(each) for name, each in costs_of(study).items()}
    settings, criteria = settings_of(study), report.criteria.values()
    drawn = (
        figure
        for about in criteria
        for figure in (
            cost_figure(about, costs, study.currency),
            prompt_grid_figure(about, settings, costs, study.currency),
        )
    )
    figures = tuple(captioned(filter(None, drawn)))
    return [DocumentSection(COST_TITLE, figures)] if figures else []


def _cells(row: Row) -> tuple[str, ...]:
    left_out = (
        f". Excluded: {row['excluded_reason'] or 'no reason stated'}" if row["excluded"] else ""
    )
    return (
        row["rater"],
        row["criterion"],
        row["kind"],
        _WHAT[row["kind"]](row["settings"]) + left_out,
    )


def _uploaded(study: Study, known: set[str]) -> Iterator[tuple[str, ...]]:
    """Yield the machine raters that were not made here, with each criterion that they rated."""
    ratings = Rating.objects.filter(unit__study=study, rater__kind=Rater.Kind.MACHINE)
    names = ratings.exclude(rater__pseudonym__in=known).order_by(
        "rater__pseudonym", "criterion__position"
    )
    pairs = names.values_list("rater__pseudonym", "criterion__name", "criterion__position")
    for name, criterion, _ in pairs.distinct():
        yield name, criterion, UPLOADED_KIND, UPLOADED


def _rule_in_words(settings: Row) -> str:
    method = Baseline.Method(settings["method"])
    seed = f" (seed {settings['seed']})" if method is Baseline.Method.RANDOM else ""
    model = f" ({settings['language_model']})" if "language_model" in settings else ""
    return f"prefers {method.label}{model}{seed}"


_WHAT: dict[str, Callable[[Row], str]] = {
    "judge": lambda settings: (
        f"language model {settings['language_model']}" if settings["language_model"] else UNNAMED
    ),
    "simple rater": _rule_in_words,
    "jury": lambda settings: (
        f"{Jury.Rule(settings['rule']).label}; members: {', '.join(settings['members'])}"
    ),
    UPLOADED_KIND: lambda _: UPLOADED,
}


def _judge(criteria: list[Row]) -> Iterator[Block]:
    """Yield how a judge was asked, as a table and with the texts that it reads, from a row per criterion."""
    hashes = dict.fromkeys(row["settings"]["examples_sha256"] for row in criteria)
    settings = criteria[0]["settings"] | {"examples_sha256": ", ".join(filter(None, hashes))}
    name = criteria[0]["rater"]
    rows = (
        *(_criteria(criteria, settings) if len(criteria) > 1 else ()),
        *_models(criteria),
        *_answering(settings),
        *_questions(settings),
    )
    yield DataTable(f"Judge {name}: how it was asked", ("Setting", "Value"), rows)
    yield Paragraph(PLACEHOLDERS)
    yield Verbatim(settings["instructions"], title=f"Instructions of {name}")
    for row in criteria:
        if steps := row["settings"].get("steps"):
            by = f" for {row['criterion']}" if len(criteria) > 1 else ""
            yield Verbatim(steps, title=f"Evaluation steps that {name} wrote first{by}")


def _criteria(criteria: list[Row], settings: Row) -> Iterator[tuple[str, str]]:
    how = "in one question" if settings["asks_together"] else "one by one"
    yield "Criteria", f"{', '.join(row['criterion'] for row in criteria)}, {how}"


def _models(criteria: list[Row]) -> Iterator[tuple[str, str]]:
    yield "Language model", criteria[0]["settings"]["language_model"] or UNNAMED
    named = (
        f"{row['criterion'] + ', ' if len(criteria) > 1 else ''}{one['model'] or 'no name'}, {one['revision'] or 'no revision'}{_server(one)}:"
        f" {counted(one['answers'], 'answer')}, of which {one['unreadable']} could not be read,"
        f" from {one['first'][:10]} to {one['last'][:10]}"
        for row in criteria
        for one in row["answers"]
    )
    yield "Name and revision that the server gave", "; ".join(named) or "no answer yet"
    tests = (_again(row["criterion"], test) for row in criteria for test in row["asked_again"])
    if asked := "; ".join(tests):
        yield "Asked the same again", asked


def _server(answers: Row) -> str:
    mode = {True: "batch-invariant", False: "not batch-invariant", None: ""}
    told = (answers["server_version"], answers["device"], mode[answers["is_batch_invariant"]])
    return "".join(f", {one}" for one in told if one)


def _again(criterion: str, test: Row) -> str:
    return (
        f"{criterion}, {test['asked_at'][:10]}, {' / '.join(test['servers'])}: {percent(test['value'])} of"
        f" {counted(test['answers'], 'second answer')} had the same verdict ({percent(test['low'])} to"
        f" {percent(test['high'])}); flips: {test['flips']}"
    )


def _answering(settings: Row) -> Iterator[tuple[str, str]]:
    answered_by = Judge.AnsweredBy(settings["answered_by"])
    yield "Answers", answered_by.label
    if answered_by is Judge.AnsweredBy.TEXT:
        yield "Temperature", f"{settings['temperature']:g}"
        yield "Longest answer, in tokens", str(settings["max_tokens"])
        yield "Answers constrained", Judge.Constraint(settings["constraint"]).label
        yield "Answers to each comparison", str(settings["runs"])
    yield "Seed", str(settings["seed"])


def _questions(settings: Row) -> Iterator[tuple[str, str]]:
    budget = f"; budget: {settings['budget']}" if settings["budget"] else ""
    yield "Comparisons and orders", Judge.Schedule(settings["comparisons"]).label + budget
    yield "Examples before each question", _examples(settings)
    reference = f"yes, the column {one}" if (one := settings["reference_field"]) else "yes"
    if written_by := settings.get("reference_written_by"):
        reference += f", which a language model wrote ({written_by})"
    yield "Reads the reference", reference if settings["with_reference"] else "no"
    yield "Writes evaluation steps first", "yes" if settings["writes_steps"] else "no"


def _examples(settings: Row) -> str:
    digest = f" (SHA-256 {settings['examples_sha256']})" if settings["examples_sha256"] else ""
    reasons = ", with annotators' reasons" if settings.get("with_reasons") else ""
    if settings["example_set"]:
        return f"the set {settings['example_set']}{reasons}{digest}"
    if settings["examples"]:
        return f"{counted(settings['examples'], 'training item')}{reasons}{digest}"
    return "none"
