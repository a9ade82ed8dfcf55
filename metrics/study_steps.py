"""The steps and pages of this app, for the frame of a study's pages."""

from django.db.models import Exists, OuterRef

from annotation.models import Rating
from metrics.models import ReportSnapshot
from metrics.results.questions import QUESTIONS
from studies.access import Right
from studies.comparable import HAS_PAIRS, HAS_TEXTS, NOTHING_COMPARES
from studies.design.steps import (
    Facts,
    Room,
    Step,
    StepStatus,
    StudyPage,
    done,
    missing,
    not_needed,
    register_page,
    register_simulated,
    register_step,
)
from studies.instance_selection.set_aside import N_SET_ASIDE, every_instance_is_used
from studies.models import SelectedInstance, Study

whole = ReportSnapshot.objects.filter(study=OuterRef("pk"), digest="")
# Bots' ratings are known before the first report has them; those from a file are known by the report.
of_bots = {"assignment__participation__simulated": True}
by_bots = Rating.objects.filter(assignment__participation__study=OuterRef("pk"), **of_bots)
register_simulated(Exists(whole.filter(report__simulated=True)) | Exists(by_bots))
NO_TEXTS = "The systems have no texts yet."


def generate_select_status(study: Study, facts: Facts) -> StepStatus:
    compares = study.unit_kind == Study.UnitKind.COMPARISON
    if facts["has_texts"] and compares and not facts["has_pairs"]:
        return missing(NOTHING_COMPARES)
    if facts["has_draw"]:
        return done("Instances are drawn.")
    if facts["has_texts"]:
        n = facts["n_set_aside"]
        return done(
            every_instance_is_used(n), f"All usable but {n}." if n else "All usable instances."
        )
    return (
        missing(NO_TEXTS)
        if study.dataset_id
        else not_needed("There are no instances yet.", "No instances.")
    )


register_step(
    Step(
        slug="generate-select",
        title="Generate & select",
        url_name="metrics:generate-select",
        position=30,
        guide="how-to/choose-instances",
        status=generate_select_status,
        facts={
            "has_draw": Exists(SelectedInstance.objects.filter(study=OuterRef("pk"))),
            "has_texts": HAS_TEXTS,
            "has_pairs": HAS_PAIRS,
            "n_set_aside": N_SET_ASIDE,
        },
    )
)
register_page(
    StudyPage(
        "overview",
        "Progress",
        "metrics:dashboard",
        10,
        Right.SEE,
        "which-number",
        room=Room.COLLECT,
    )
)
for position, question in enumerate(QUESTIONS, start=20):
    register_page(
        StudyPage(
            question.slug,
            question.title,
            "metrics:results-tab",
            position,
            Right.SEE,
            "which-number",
            room=Room.RESULTS,
            argument=question.slug,
            short=question.short,
        )
    )
register_page(
    StudyPage(
        "data-and-report",
        "Data & report",
        "metrics:data-and-report",
        40,
        guide="how-to/write-the-paper",
        room=Room.RESULTS,
        short="Data",
    )
)
register_page(StudyPage("jobs", "Jobs", "metrics:jobs", 50, guide="generate-and-select#jobs"))
