"""A study that two annotators' fellow and a judge rated, and labels that come later."""

from pathlib import Path

from django.utils import timezone

from annotation.imports.study_import import import_study
from annotation.models import Assignment, Rater, Rating
from annotation.services.rating_writer import create_raters
from metrics.licensing.evidence import SECTION
from metrics.results.sections import refresh_section
from metrics.results.services import refresh_report
from studies.models import Study
from tests.tiebreak.formats.bundles import make_bundle, write_lines

INSTANCES, ANNOTATORS = 80, 3
EASY, HARD = "easy", "hard"


def truth_of(instance: int) -> int:
    """The right label, which is each label for half of the instances of either category."""
    return 1 if instance % 4 < 2 else -1


def label_of(instance: int, rater: int) -> int:
    """The label of an annotator: each errs on every ninth instance, on different ones."""
    return truth_of(instance) * (-1 if instance % 9 == 3 * rater else 1)


def judged_study(folder: Path, *, bots: frozenset[str] = frozenset()) -> Study:
    """Import a study whose judge is like an annotator on easy items and wrong on hard ones.

    The labels of the annotators among `bots` are marked as simulated.
    """
    bundle = make_bundle(folder / "b")
    categories = [EASY if i % 2 else HARD for i in range(INSTANCES)]
    write_lines(
        bundle / "instances.jsonl",
        [{"id": f"i{i}", "category": name} for i, name in enumerate(categories)],
    )
    texts = [
        {"instance": f"i{i}", "system": system, "sample_index": 0, "text": f"{system} {i}"}
        for i in range(INSTANCES)
        for system in ("old", "new")
    ]
    write_lines(bundle / "generations.jsonl", texts)
    rows = [
        {
            "unit": f"i{i}/0",
            "instance": f"i{i}",
            "rater": "judge" if rater == ANNOTATORS else f"r{rater}",
            "kind": "machine" if rater == ANNOTATORS else "human",
            "label": -truth_of(i) if rater == ANNOTATORS and name == HARD else label_of(i, rater),
            "system_a": "old",
            "system_b": "new",
            "sample_index": 0,
            "created_at": "2026-03-01T12:00:00Z",
            "simulated": f"r{rater}" in bots,
        }
        for i, name in enumerate(categories)
        for rater in range(ANNOTATORS + 1)
    ]
    write_lines(bundle / "ratings.jsonl", rows)
    return import_study(path=bundle).study


def compute_evidence(study: Study) -> Study:
    refresh_report(study=study)
    refresh_section(study=study, name=SECTION)
    return study


def rate_later(study: Study, label: str, *, name: str = "later", category: str = EASY) -> None:
    """Let another annotator rate all items of a category now, rightly with "1", wrongly with "-1"."""
    rater = create_raters(study, {name: Rater.Kind.HUMAN})[name]
    of_one = Rating.objects.filter(
        unit__study=study, rater__pseudonym="r0", unit__instance__category=category
    )
    for known in of_one.select_related("assignment__hit", "unit__instance", "criterion"):
        assignment = Assignment.objects.create(
            hit=known.assignment.hit, rater=rater, status=Assignment.Status.COMPLETED
        )
        Rating.objects.create(
            assignment=assignment,
            rater=rater,
            unit=known.unit,
            criterion=known.criterion,
            label=str(int(label) * truth_of(int(known.unit.instance.key[1:]))),
            client_key=f"{name}-{known.pk}",
            created_at=timezone.now(),
        )
