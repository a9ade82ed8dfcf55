"""The codebook of an exported study: its counts, criteria, systems, versions and columns."""

from django.db.models import Count

from annotation.counts import rating_counts
from annotation.models import Rating
from annotation.models.rating import EXCLUDING_FLAGS, RatingQuerySet
from studies.instance_selection.written_fields import writers_of
from studies.models import InstanceSelection, Study
from tiebreak.digits import percent
from tiebreak.formats.dataset_card import cleaned
from tiebreak.formats.export_columns import (
    COMMENTS,
    DESIGN,
    PREFERENCE,
    RATINGS,
    REFERENCE_ANSWERS,
    SEPARABILITY,
    Columns,
)
from tiebreak.formats.shown_fields import field_columns
from tiebreak.similarity import similarity_title

_TABLES = {
    "the ratings": RATINGS,
    "separability": SEPARABILITY,
    "reference_answers": REFERENCE_ANSWERS,
    "design": DESIGN,
    "comments": COMMENTS,
    "preference": PREFERENCE,
}
SENSITIVE = (
    "Raters appear under random pseudonyms. Identifiers of platforms, internet addresses, completion"
    " codes and payments are in no file. Free text is as it was stored, and nobody searched it for"
    " personal data: sources, generations, guidelines, raw answers of machine raters, the reasons of"
    " exclusions (excluded_reason), annotators' reasons (reason), and their comments if they were asked for. Read it before publishing."
)
CSV_FILES = (
    "CSV files begin with a byte order mark so that Excel reads them as UTF-8. A cell that begins with"
    " =, +, -, @, ', a tab or a line break, such as a list with “- ”, has an apostrophe before it so that"
    " no spreadsheet runs it as a formula. Such texts differ from those in the JSONL, XLSX and Parquet"
    " files of the same export, which have them as they are; this platform removes the apostrophe again."
    " XLSX files have each text as a string, never as a formula, and control characters as workbooks"
    " write them, such as _x0007_."
)
# The groups of rows; each row is in exactly one of them.
KINDS = {
    "counted": "in the statistics: first answers to main items, without an excluding flag",
    "nonresponses": "main items, with a nonresponse in place of a label",
    "repeats": "planned repeats of main items (role repeat)",
    "training": "training (role training)",
    "test": "the qualification test (role qualification)",
    "gold": "gold checks (role gold)",
    "superseded": "main items, flagged superseded",
    "excluded": "main items, flagged excluded",
    "late": "main items, flagged late",
    "partial": "main items, flagged partial",
    "surplus": "main items, flagged surplus",
}


def codebook(
    study: Study, ratings: RatingQuerySet | None = None, columns_of_ratings: Columns = RATINGS
) -> str:
    """Return the export's codebook.md; its counts refer to the exported ratings."""
    ratings = Rating.objects.filter(unit__study=study) if ratings is None else ratings
    counts = rating_counts(ratings)
    lines = [
        f"# {cleaned(study.title)}",
        "",
        f"Number of ratings: {counts.rows}. In the statistics (role main, repeat 0, and none of the"
        f" flags {', '.join(EXCLUDING_FLAGS)}): {counts.counted}, of which {counts.people} by annotators"
        f" and {counts.machines} by machine raters. Answers of machine raters that could not be"
        f" parsed: {counts.unparsed}.",
    ]
    if counts.simulated:
        lines.append(f"\n**Simulated ratings, which were given by bots: {counts.simulated}.**")
    lines += ["", "## Ratings", "", "| rows | group |", "| --- | --- |"]
    lines += [f"| {getattr(counts, kind)} | {meaning} |" for kind, meaning in KINDS.items()]
    lines += [
        f"| {counts.rows} | all rows; a row with several flags is counted under the flag that comes"
        " first in this table |"
    ]
    lines += ["", "## Criteria", "", *criteria_lines(study)]
    lines += ["", "## Systems, in canonical order", ""]
    systems = study.study_systems.select_related("system")
    lines += [f"{row.position + 1}. {cleaned(row.system.name)}" for row in systems]
    if written := written_sentences(study):
        lines += ["", "## Texts of the instances by language models", "", *written]
    lines += ["", "## Versions", "", "| version | since | ratings |", "| --- | --- | --- |"]
    lines += _versions(study, ratings)
    lines += ["", "## How the instances were drawn", "", selection_sentence(study)]
    lines += ["", "## Before you publish", "", SENSITIVE]
    lines += ["", "## CSV files", "", CSV_FILES]
    preference = {**PREFERENCE, **field_columns(study.fields)}
    tables = _TABLES | {"the ratings": columns_of_ratings, "preference": preference}
    for name, columns in tables.items():
        lines += ["", f"## Columns of {name}", "", "| column | meaning |", "| --- | --- |"]
        lines += [f"| {column} | {meaning} |" for column, meaning in columns.items()]
    return "\n".join(lines) + "\n"


def criteria_lines(study: Study) -> list[str]:
    """Return the criteria as a table in Markdown."""
    rows = [
        f"| {cleaned(c.name)} | {cleaned(c.scale)} | {cleaned(c.question)} |"
        for c in study.criteria.all()
    ]
    return ["| criterion | scale | question |", "| --- | --- | --- |", *rows]


def written_sentences(study: Study) -> list[str]:
    """Say which fields of the instances models wrote, and where the rest of their origin is."""
    return [
        f"The field {cleaned(name)} was written by a language model ({cleaned(how)}). In the instances' metadata"
        " each text has its prompt, seed and decoding (written_by)."
        for name, how in writers_of(study.dataset_id).items()
    ]


def selection_sentence(study: Study) -> str:
    """Say how the instances were drawn, with what is needed to draw them again and to use them."""
    if not study.selected.exists():
        return draw_sentence(study)
    return (
        f"{draw_sentence(study)} The column inclusion_probability has each instance's probability;"
        " weight estimates for the whole dataset by its inverse."
    )


def draw_sentence(study: Study) -> str:
    """Say how the instances were drawn, if they were."""
    design = InstanceSelection.objects.filter(study=study).first()
    if design is None or not study.selected.exists():
        return "No instances were selected: all with texts of the systems were used."
    by = f"by separability ({similarity_title(study.similarity)})"
    if design.design == InstanceSelection.Design.DOUBT:
        pilot = f"“{design.pilot.title}”" if design.pilot else "that was deleted since"
        by = f"by the ratings of the pilot {pilot}"
    elif design.design == InstanceSelection.Design.LENGTH:
        by = "by the mean lengths of the systems' texts"
    return (
        f"{design.instances} instances for each pair of systems were drawn"
        f" {design.get_design_display()}, {percent(design.control_share)} of them as a uniform control"
        f" sample, {by}, with the seed {design.seed}."
    )


def _versions(study: Study, ratings: RatingQuerySet) -> list[str]:
    by_version = ratings.order_by().values_list("study_version__number")
    counts = dict(by_version.annotate(n=Count("pk")))
    return [
        f"| {version.number} | {version.created_at:%Y-%m-%d %H:%M} | {counts.get(version.number, 0)} |"
        for version in study.versions.all()
    ]
