"""The steps and pages of this app, for the frame of a study's pages."""

from django.db.models import Exists, F, OuterRef, Subquery
from django.db.models.functions import JSONObject

from annotation.models import Comment, Place
from annotation.services.screening import reference_units_required
from recruitment.models import Channel
from recruitment.services.launch_checks import quick_checks
from studies.design.analysis_plan import has_plan
from studies.design.steps import (
    Facts,
    Room,
    Step,
    StepStatus,
    StudyPage,
    count_of,
    done,
    missing,
    not_needed,
    register_checks,
    register_page,
    register_step,
)
from studies.models import ComprehensionQuestion, Screening, Study, Unit
from tiebreak.digits import counted

_SCREENING = (
    "training_units",
    "qualification_units",
    "check_rate",
    "checks_failed",
    "check_action",
)
_OF_STUDY = {"study": OuterRef("pk")}


def quality_status(_: Study, facts: Facts) -> StepStatus:
    screening = Screening(**facts["screening"]) if facts["screening"] else None
    required = reference_units_required(screening) if screening else {}
    if any(facts[role.value] < n for role, n in required.items()):
        return missing("Make the missing reference items.")
    if screening is None and not facts["questions"]:
        return not_needed("No screening: add a test, gold checks or questions.", "No screening.")
    if (
        screening
        and screening.check_rate
        and screening.check_action == Screening.CheckAction.RECORD
    ):
        only_recorded = "Screening is set up; failed gold checks are only recorded."
        return done(only_recorded, "Failures are recorded.")
    return done("Screening is set up.")


def size_status(study: Study, _: Facts) -> StepStatus:
    if study.opened_at is not None and study.reward is None:
        return done(f"R = {study.planned_ratings}, unpaid")
    if study.minutes_per_hit is None:
        return missing("Estimate the minutes per task.")
    if study.reward is None:
        return done(f"R = {study.planned_ratings}, unpaid")
    if not study.hits_per_annotator:
        return missing("Say how many tasks an annotator may do.")
    return done(f"R = {study.planned_ratings}, {study.reward} {study.currency}")


def analysis_plan_status(study: Study, _: Facts) -> StepStatus:
    if not has_plan(study):
        return not_needed("No plan is fixed.", "No plan.")
    if study.opened_at is not None:
        return done("Frozen.")
    return done("Frozen when the study opens.", "Frozen at opening.")


def recruit_status(study: Study, facts: Facts) -> StepStatus:
    """Without a channel people come by the open link, which asks for nothing unless they are paid."""
    if facts["channels"]:
        return done(counted(facts["channels"], "channel"))
    if facts["has_closed"]:
        return missing("All channels are closed.")
    if study.opened_at is not None:
        return done("Open link")
    if study.reward:
        return missing("Say how people get their pay.")
    return not_needed("The open link is used.", "Open link.")


def launch_status(study: Study, facts: Facts) -> StepStatus:
    if study.status == Study.Status.OPEN and not facts["has_free"]:
        return missing("All responses are completed.")
    if study.opened_at is not None:
        return done(study.get_status_display())
    return missing("Checks everything, and opens the study.", "Review and open.")


register_checks(quick_checks)
register_step(
    Step(
        slug="quality",
        title="Quality",
        url_name="recruitment:quality",
        position=40,
        guide="collecting#screen-annotators",
        status=quality_status,
        facts={
            "screening": Subquery(
                Screening.objects.filter(**_OF_STUDY).values(
                    json=JSONObject(**{name: F(name) for name in _SCREENING})
                )
            ),
            "questions": Exists(ComprehensionQuestion.objects.filter(**_OF_STUDY)),
            **{
                role.value: count_of(Unit.objects.filter(**_OF_STUDY, role=role))
                for role in Unit.Role
                if role != Unit.Role.MAIN
            },
        },
    )
)
register_step(
    Step("size", "Size & pay", "recruitment:size", 50, size_status, guide="collecting#limits")
)
register_step(
    Step(
        "analysis-plan",
        "Analysis plan",
        "recruitment:analysis-plan",
        55,
        analysis_plan_status,
        guide="collecting#before-the-study-opens",
    )
)
register_step(
    Step(
        slug="recruit",
        title="Recruit",
        url_name="recruitment:channels",
        position=60,
        guide="collecting#recruit-annotators",
        status=recruit_status,
        facts={
            "channels": count_of(Channel.objects.filter(**_OF_STUDY, closed_at=None)),
            "has_closed": Exists(Channel.objects.filter(**_OF_STUDY, closed_at__isnull=False)),
        },
    )
)
register_step(
    Step(
        slug="launch",
        title="Launch",
        url_name="recruitment:launch",
        position=70,
        guide="collecting#before-the-study-opens",
        status=launch_status,
        facts={
            "has_free": Exists(Place.objects.filter(**_OF_STUDY, completed_at=None)),
        },
    )
)
register_page(
    StudyPage(
        "ledger",
        "Participants & payments",
        "recruitment:ledger",
        30,
        guide="collecting#pay-annotators",
        room=Room.COLLECT,
        short="Payments",
    )
)
register_page(
    StudyPage(
        "comments",
        "Comments",
        "recruitment:comments",
        35,
        guide="collecting#comments",
        room=Room.COLLECT,
        waiting=count_of(Comment.objects.filter(participation__study=OuterRef("pk"), done_at=None)),
    )
)
register_page(
    StudyPage(
        "dry-runs",
        "Dry run",
        "recruitment:dry-runs",
        70,
        guide="collecting#dry-runs-and-bots",
        room=Room.DESIGN,
        under="launch",
    )
)
register_page(
    StudyPage(
        "preview",
        "Preview",
        "recruitment:preview",
        80,
        guide="collecting#how-texts-are-shown",
        room=Room.DESIGN,
        under="launch",
    )
)
