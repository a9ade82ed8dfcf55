"""The steps and pages of this app, for the frame of a study's pages."""

from django.db.models import Exists, OuterRef

from studies.comparable import HAS_PAIRS, HAS_TEXTS, NOTHING_COMPARES
from studies.design.steps import (
    Facts,
    Step,
    StepStatus,
    StudyPage,
    count_of,
    done,
    missing,
    register_page,
    register_step,
)
from studies.models import Criterion, Instance, Study, StudySystem
from tiebreak.digits import counted


def data_status(study: Study, facts: Facts) -> StepStatus:
    needed = 2 if study.unit_kind == Study.UnitKind.COMPARISON else 1
    if study.dataset_id is None:
        return missing("Choose or upload the texts.")
    if not facts["has_instances"]:
        return missing("The dataset is empty.")
    if facts["systems"] < needed:
        return missing("Two systems are needed." if needed == 2 else "A system is needed.")
    if needed == 2 and facts["has_texts"] and not facts["has_pairs"]:
        return missing(NOTHING_COMPARES)
    return done(f"{facts['systems']} systems")


def task_status(study: Study, facts: Facts) -> StepStatus:
    if not facts["criteria"]:
        return missing("Add a question with its scale.")
    if not study.guidelines.strip():
        return missing("Write the guidelines.")
    return done(counted(facts["criteria"], "question"))


_OF_STUDY = {"study": OuterRef("pk")}

register_step(
    Step(
        slug="data",
        title="Data",
        url_name="studies:data",
        position=10,
        guide="how-to/start-from-a-table",
        status=data_status,
        facts={
            "has_instances": Exists(Instance.objects.filter(dataset=OuterRef("dataset"))),
            "has_texts": HAS_TEXTS,
            "has_pairs": HAS_PAIRS,
            "systems": count_of(StudySystem.objects.filter(**_OF_STUDY)),
        },
    )
)
register_step(
    Step(
        slug="task",
        title="Task",
        url_name="studies:task",
        position=20,
        guide="collecting#how-texts-are-shown",
        status=task_status,
        facts={"criteria": count_of(Criterion.objects.filter(**_OF_STUDY))},
    )
)
ROLES = "collecting#who-may-do-what"
register_page(StudyPage("members", "Members", "studies:members", 90, guide=ROLES))
register_page(StudyPage("log", "Log", "studies:log", 100, guide=ROLES))
