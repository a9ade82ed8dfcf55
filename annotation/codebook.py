"""What the columns of an exported study mean, in words, with the study's own numbers."""

import re

from django.db.models import Count

from annotation.counts import rating_counts
from annotation.models import Rating
from annotation.models.rating import EXCLUDING_FLAGS, RatingQuerySet
from studies.models import Study

MEANING = {
    "unit": "what the rating is about; one comparison, or one generation",
    "rater": "who rated: an annotator's pseudonym, or a machine's name",
    "label": "the answer; a preference in system order: −1 system A, 0 tie, 1 system B",
    "kind": "human or machine",
    "criterion": "the question, see below",
    "role": "main, repeat, gold, training or qualification",
    "run": "a machine's pass",
    "repeat": "1 for a planned repeat",
    "order": "the presentation order of a machine's pass",
    "instance": "the input that was compared on; a key of instances.jsonl",
    "system_a": "the first system in canonical order",
    "system_b": "the second system",
    "sample_a": "which of system A's K generations",
    "sample_b": "which of system B's K generations",
    "category": "the instance's category",
    "separability": "δ from min–max normalised alignments, as frozen at planning",
    "separability_raw": "δ as it was scored",
    "similarity": "the similarity that δ was scored with",
    "phase": "how the instance was drawn",
    "inclusion_probability": "with which probability it was drawn",
    "side_a": "where system A stood: left (first) or right (second)",
    "layout": "side_by_side, or stacked on a narrow screen",
    "position": "where in its HIT the unit was shown, from 1",
    "hit_position": "where in the annotator's own sequence the HIT was, from 1",
    "duration_ms": "milliseconds from showing to answering",
    "created_at": "when it was answered, UTC",
    "study_version": "the version of guidelines, consent and limits that the annotator saw",
    "participation": "one annotator's entry to the study",
    "surplus": "flag: complete, but every place was taken by then",
    "superseded": "flag: the annotator changed the answer later",
    "partial": "flag: part of a HIT that its annotator left unfinished",
    "late": "flag: arrived after the study was closed",
    "excluded": "flag: taken out, see excluded_reason",
    "excluded_reason": "why it was taken out",
    "simulated": "flag: given by a program, not by a person",
    "raw": "a machine's answer as it came, where it could not be read",
    "chars_a": "characters of A's text",
    "chars_b": "characters of B's text",
}


# What becomes of a row, in words: each is in exactly one of these.
KINDS = {
    "counted": "in the statistics: first answers to main units, without a flag that takes them out",
    "repeats": "planned repeats of main units (role repeat)",
    "training": "training (role training)",
    "test": "the test before the first HIT (role qualification)",
    "gold": "checks mixed in (role gold)",
    "superseded": "main, flagged superseded",
    "excluded": "main, flagged excluded",
    "late": "main, flagged late",
    "partial": "main, flagged partial",
    "surplus": "main, flagged surplus",
}


def codebook(study: Study, ratings: RatingQuerySet | None = None) -> str:
    """The export's codebook.md; its numbers are those of the ratings that are exported."""
    ratings = Rating.objects.filter(unit__study=study) if ratings is None else ratings
    counts = rating_counts(ratings)
    lines = [
        f"# {_plain(study.title)}",
        "",
        f"{counts.rows} ratings, {counts.counted} of them in the statistics"
        f" (role main, repeat 0, none of the flags {', '.join(EXCLUDING_FLAGS)}):"
        f" {counts.people} by people and {counts.machines} by machine raters, {counts.unparsed} of"
        " which could not be read.",
    ]
    if counts.simulated:
        lines.append(
            f"\n**{counts.simulated} of them are simulated: they were given by programs.**"
        )
    lines += ["", "## Ratings", "", "| rows | what they are |", "| --- | --- |"]
    lines += [f"| {getattr(counts, kind)} | {meaning} |" for kind, meaning in KINDS.items()]
    lines += [f"| {counts.rows} | all; a row with several flags stands under the first of them |"]
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
    """Text that Markdown shows as it is: a name is neither a link nor an image nor HTML."""
    return re.sub(r"([\\`*_\[\]<>#!&~])", r"\\\1", " ".join(text.split()))
