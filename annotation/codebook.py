"""The codebook of an exported study: its counts, criteria, systems, versions and columns."""

import re

from django.db.models import Count

from annotation.counts import rating_counts
from annotation.models import Rating
from annotation.models.rating import EXCLUDING_FLAGS, RatingQuerySet
from studies.models import Study

MEANING = {
    "unit": "id of the rated unit: a comparison, or a single generation",
    "rater": "an annotator's pseudonym, or a machine rater's name",
    "label": "the rating; in a preference, −1 is system A, 0 a tie and 1 system B",
    "kind": "human or machine",
    "criterion": "name of the criterion in the table above",
    "role": "main, repeat, gold, training or qualification",
    "run": "run of a machine rater",
    "repeat": "1 for a planned repeat, otherwise 0",
    "order": "presentation order in a machine rater's run",
    "instance": "id of the instance in instances.jsonl",
    "system_a": "the first system in canonical order",
    "system_b": "the second system",
    "sample_a": "sample index of system A's generation",
    "sample_b": "sample index of system B's generation",
    "category": "the instance's category",
    "separability": "separability δ from min–max normalised alignments, frozen at planning",
    "separability_raw": "separability δ without normalisation",
    "similarity": "the similarity from which δ was computed",
    "phase": "the sampling phase in which the instance was drawn",
    "inclusion_probability": "the probability with which the instance was drawn",
    "side_a": "the side of system A: left (first) or right (second)",
    "layout": "side_by_side, or stacked on a narrow screen",
    "position": "position of the unit in its HIT, from 1",
    "hit_position": "position of the HIT in the annotator's sequence, from 1",
    "duration_ms": "milliseconds from display to answer",
    "created_at": "time of the answer, UTC",
    "study_version": "the version of guidelines, consent and limits that the annotator saw",
    "participation": "id of the annotator's participation in the study",
    "surplus": "flag: complete, but the HIT already had all R responses",
    "superseded": "flag: the annotator changed the answer later",
    "partial": "flag: part of a HIT that its annotator left unfinished",
    "late": "flag: arrived after the study was closed",
    "excluded": "flag: excluded from the results for the reason in excluded_reason",
    "excluded_reason": "why the rating was excluded",
    "simulated": "flag: given by a bot, not by a person",
    "raw": "a machine's answer that could not be parsed, verbatim",
    "chars_a": "length of A's text in characters",
    "chars_b": "length of B's text in characters",
}


# The groups of rows; each row is in exactly one of them.
KINDS = {
    "counted": "in the statistics: first answers to main units, without an excluding flag",
    "repeats": "planned repeats of main units (role repeat)",
    "training": "training (role training)",
    "test": "the qualification test (role qualification)",
    "gold": "gold checks (role gold)",
    "superseded": "main units, flagged superseded",
    "excluded": "main units, flagged excluded",
    "late": "main units, flagged late",
    "partial": "main units, flagged partial",
    "surplus": "main units, flagged surplus",
}


def codebook(study: Study, ratings: RatingQuerySet | None = None) -> str:
    """Return the export's codebook.md; its counts refer to the exported ratings."""
    ratings = Rating.objects.filter(unit__study=study) if ratings is None else ratings
    counts = rating_counts(ratings)
    lines = [
        f"# {_plain(study.title)}",
        "",
        f"Number of ratings: {counts.rows}. In the statistics (role main, repeat 0, and none of the"
        f" flags {', '.join(EXCLUDING_FLAGS)}): {counts.counted}, of which {counts.people} by people"
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
    lines += ["", "## Criteria", "", "| criterion | scale | question |", "| --- | --- | --- |"]
    lines += [
        f"| {_cell(c.name)} | {_cell(c.scale)} | {_cell(c.question)} |"
        for c in study.criteria.all()
    ]
    lines += ["", "## Systems, in canonical order", ""]
    systems = study.study_systems.select_related("system")
    lines += [f"{row.position + 1}. {_plain(row.system.name)}" for row in systems]
    lines += ["", "## Versions", "", "| version | since | ratings |", "| --- | --- | --- |"]
    lines += _versions(study, ratings)
    lines += ["", "## Columns of the ratings", "", "| column | meaning |", "| --- | --- |"]
    lines += [f"| {name} | {meaning} |" for name, meaning in MEANING.items()]
    return "\n".join(lines) + "\n"


def _versions(study: Study, ratings: RatingQuerySet) -> list[str]:
    by_version = ratings.order_by().values_list("study_version__number")
    counts = dict(by_version.annotate(n=Count("pk")))
    return [
        f"| {version.number} | {version.created_at:%Y-%m-%d %H:%M} | {counts.get(version.number, 0)} |"
        for version in study.versions.all()
    ]


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def _plain(text: str) -> str:
    """Escape text for Markdown, so that a name cannot become a link, an image or HTML."""
    return re.sub(r"([\\`*_\[\]<>#!&~])", r"\\\1", " ".join(text.split()))
