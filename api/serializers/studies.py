"""What requests and responses about studies contain."""

from dataclasses import asdict, fields
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.counts import RatingCounts, StudyCounts
from annotation.exports.study_export import study_spec
from annotation.services.planning import Plan
from api.serializers.design import QuestionSerializer, ScreeningSerializer
from recruitment.admission import maximum
from studies.data.perturbed_copies import CopiesMade
from studies.models import Criterion, InstanceSelection, Study
from studies.models.bounds import MAX_BIG_SEED
from studies.models.settings import SETTINGS
from tiebreak.formats.layouts import TABLE as PLAIN_TABLE
from tiebreak.formats.readers import READERS
from tiebreak.formats.tables import LAYOUTS
from tiebreak.perturbations import PERTURBATIONS


class CriterionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    scale = serializers.CharField()
    question = serializers.CharField()
    reason = serializers.ChoiceField(choices=Criterion.Reason.choices)
    reason_length = serializers.IntegerField()


class DatasetSerializer(serializers.Serializer[Any]):
    id = serializers.CharField(source="public_id")
    name = serializers.CharField()


class DesignSerializer(serializers.ModelSerializer[Study]):
    """The settings of a bundle's study.toml."""

    criteria = CriterionSerializer(many=True)
    systems = serializers.ListField(child=serializers.CharField())
    controls = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = Study
        fields = ("title", *SETTINGS, "criteria", "systems", "controls")


class CopiesOptions(serializers.Serializer[Any]):
    names = serializers.ListField(
        child=serializers.CharField(max_length=100),
        min_length=1,
        max_length=len(PERTURBATIONS),
        help_text=f"The changes: {', '.join(PERTURBATIONS)}.",
    )
    seed = serializers.IntegerField(min_value=0, max_value=MAX_BIG_SEED, default=0)


class MadeCopies(serializers.Serializer[CopiesMade]):
    copies = serializers.IntegerField(help_text="How many copies were made now.")
    systems = serializers.ListField(
        child=serializers.CharField(), help_text="The systems of copies that were added."
    )
    refused = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="How many texts got no copy, by the reason's code.",
    )


class StudySummary(serializers.ModelSerializer[Study]):
    id = serializers.CharField(source="public_id")
    dataset = DatasetSerializer(allow_null=True)
    dry_run_of = serializers.CharField(
        source="dry_run_of_id", allow_null=True, help_text="The study that this is a dry run of."
    )

    class Meta:
        model = Study
        fields = (
            "id",
            "title",
            "status",
            "created_at",
            "opened_at",
            "closed_at",
            "dry_run_of",
            "dataset",
        )


class StudyDetail(StudySummary):
    design = serializers.SerializerMethodField()
    screening = ScreeningSerializer(allow_null=True)
    comprehension = QuestionSerializer(many=True)
    maximum_cost = serializers.SerializerMethodField(
        help_text="The most that the study can cost as it is, with fees, in its design's currency."
    )

    class Meta(StudySummary.Meta):
        fields = (  # type: ignore[assignment]
            *StudySummary.Meta.fields,
            *("design", "screening", "comprehension", "maximum_cost"),
        )

    @extend_schema_field(serializers.DecimalField(12, 2))
    def get_maximum_cost(self, study: Study) -> str:
        return f"{maximum(study).total:.2f}"

    @extend_schema_field(DesignSerializer)
    def get_design(self, study: Study) -> dict[str, Any]:
        """Return the design with the names of study.toml, and null where that has no limit."""
        spec = asdict(study_spec(study))
        del spec["settings"]
        return spec | {name: getattr(study, name) for name in SETTINGS}


class ChangedStudy(serializers.Serializer[Any]):
    study = StudyDetail()
    added_places = serializers.IntegerField(
        allow_null=True, help_text="Responses that more ratings per task added to the plan."
    )


class ImportedStudy(serializers.Serializer[Any]):
    study = StudyDetail()
    instances = serializers.IntegerField()
    generations = serializers.IntegerField()
    ratings = serializers.IntegerField()
    remarks = serializers.ListField(
        child=serializers.CharField(),
        help_text="Sentences about what was not stored, or was known.",
    )


class Upload(serializers.Serializer[Any]):
    known_dataset = serializers.ChoiceField(
        ["use", "refuse"],
        default="refuse",
        help_text="What to do if you imported the same dataset before.",
    )


class BundleUpload(Upload):
    bundle = serializers.FileField(
        help_text="The bundle as a .zip file, or an evaluation log, or a .zip of several."
    )


class GuessedUpload(Upload):
    """A table whose columns are guessed, with what a guess may not use."""

    leave_out = serializers.ListField(
        child=serializers.CharField(),
        default=list,
        max_length=500,
        help_text="Columns that no guess may use.",
    )
    fill_down = serializers.ListField(
        child=serializers.CharField(),
        default=list,
        max_length=500,
        help_text="Columns whose empty cells repeat the value above.",
    )


class TableUpload(GuessedUpload):
    table = serializers.FileField(help_text="The table, in any format that the pages accept.")
    title = serializers.CharField(max_length=200, help_text="The title of the study.")
    layout = serializers.ChoiceField(LAYOUTS, default="", allow_blank=True)
    columns = serializers.CharField(
        default="", allow_blank=True, help_text="Columns by role: ROLE=COLUMN,…"
    )
    sheet = serializers.CharField(
        default="",
        allow_blank=True,
        help_text="The sheet of a workbook; without it, the first that has a table.",
    )
    leave_out_bad_rows = serializers.BooleanField(default=False)
    leave_out_errors = serializers.BooleanField(
        default=False,
        help_text="Leave out texts that are errors of a program, such as “ERROR: timeout”.",
    )
    dry_run = serializers.BooleanField(default=False)


class ExistingRatings(GuessedUpload):
    ratings = serializers.FileField(
        help_text="Ratings in any layout that the pages accept, or an annotation platform's file."
    )
    title = serializers.CharField(max_length=200, help_text="The title of the study.")
    columns = serializers.CharField(
        default="",
        allow_blank=True,
        help_text="Columns by role: unit=COLUMN, rater=COLUMN, rater:NAME=COLUMN,…",
    )
    reader = serializers.ChoiceField(
        [*READERS, PLAIN_TABLE], default="", allow_blank=True, help_text="Reader of the file."
    )
    scales = serializers.ListField(
        child=serializers.CharField(),
        default=list,
        max_length=500,
        help_text="Scales as CRITERION=SCALE; others are inferred.",
    )
    sheet = serializers.CharField(default="", allow_blank=True, help_text="Sheet of a workbook.")


class QueuedImport(serializers.Serializer[Any]):
    job = serializers.CharField(help_text="The id of the job that imports the file.")


class TableProblemSerializer(serializers.Serializer[Any]):
    row = serializers.IntegerField(allow_null=True)
    column = serializers.CharField(allow_null=True)
    code = serializers.CharField()
    reason = serializers.CharField()


class TableProblemKind(serializers.Serializer[Any]):
    column = serializers.CharField(allow_null=True)
    code = serializers.CharField()
    reason = serializers.CharField(help_text="The reason of the first of these problems.")
    count = serializers.IntegerField(help_text="How many problems are like the first.")
    first_rows = serializers.ListField(child=serializers.IntegerField())


class TableRead(serializers.Serializer[Any]):
    study = serializers.CharField(
        allow_null=True, help_text="The id of the study, if it is stored."
    )
    is_preview = serializers.BooleanField(
        help_text="Whether a dry run has read only the first rows of a large table."
    )
    layout = serializers.CharField(allow_null=True)
    columns = serializers.DictField(child=serializers.CharField())
    rows = serializers.IntegerField()
    instances = serializers.IntegerField()
    systems = serializers.ListField(child=serializers.CharField())
    generations = serializers.IntegerField()
    problems = TableProblemSerializer(many=True)
    n_problems = serializers.IntegerField()
    problem_kinds = TableProblemKind(many=True, help_text="The problems, equal ones once.")
    left_out = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Rows that were left out without being wrong, by reason.",
    )
    sheet = serializers.CharField(allow_blank=True, help_text="The sheet that was read.")
    sheets = serializers.ListField(child=serializers.CharField())
    compared = serializers.IntegerField(help_text="Instances that have texts of two systems.")
    empty_below = serializers.ListField(
        child=serializers.CharField(),
        help_text="Columns of which is asked whether empty cells repeat the value above.",
    )
    filled_down = serializers.ListField(
        child=serializers.CharField(), help_text="Columns whose empty cells got the value above."
    )
    sentence = serializers.CharField(help_text="What was read, in one sentence.")
    notes = serializers.ListField(child=serializers.CharField())


class OpenOptions(serializers.Serializer[Any]):
    confirmed_warnings = serializers.ListField(
        child=serializers.CharField(max_length=100),
        default=list,
        max_length=100,
        help_text="Codes of launch checks to open the study in spite of.",
    )
    plan_first = serializers.BooleanField(
        default=False,
        help_text="Whether to plan the tasks of a draft first if they are not planned yet, or if the"
        " design has changed since. A refused request plans nothing.",
    )
    maximum_cost = serializers.DecimalField(
        max_digits=12,
        decimal_places=2,
        default=None,
        allow_null=True,
        help_text="The most that you expect the study to cost, with fees, as `maximum_cost` of the study"
        " says. With another sum it is not opened.",
    )


def _counts(of: type[Any]) -> dict[str, Any]:
    return {field.name: serializers.IntegerField() for field in fields(of) if field.name != "rows"}


class RatingCountsSerializer(serializers.Serializer[RatingCounts]):
    """Numbers of ratings by group, which add up to `rows`."""

    locals().update(_counts(RatingCounts))
    rows = serializers.IntegerField()
    flagged = serializers.IntegerField()


class Progress(serializers.Serializer[StudyCounts]):
    """The size of the plan, the responses so far, and the ratings by group."""

    locals().update(_counts(StudyCounts))
    first_completed_at = serializers.DateTimeField(allow_null=True)
    last_completed_at = serializers.DateTimeField(allow_null=True)
    remaining = serializers.IntegerField()
    share = serializers.FloatField(help_text="The share of responses that are completed.")
    rows = RatingCountsSerializer()


class PlanSerializer(serializers.Serializer[Plan]):
    """The size of a plan."""

    instances = serializers.IntegerField()
    hits = serializers.IntegerField()
    units = serializers.IntegerField()
    repeats = serializers.IntegerField()
    places = serializers.IntegerField()
    ratings = serializers.IntegerField(help_text="The ratings once all responses are completed.")


class SelectionOptions(serializers.ModelSerializer[InstanceSelection]):
    """The design by which instances are drawn, as on the *Generate & select* page."""

    pilot = serializers.CharField(
        required=False,
        allow_null=True,
        max_length=100,
        help_text="The id of the pilot study, for a draw by machine raters' doubt.",
    )

    class Meta:
        model = InstanceSelection
        fields = ("design", "instances", "control_share", "weights", "floor", "pilot", "seed")


class DrawnPlan(serializers.Serializer[Any]):
    drawn = serializers.IntegerField(help_text="Instances drawn, over all pairs of systems.")
    plan = PlanSerializer()


class CheckSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    severity = serializers.ChoiceField(["error", "warning"])
    sentence = serializers.CharField()


def _filtered(help_text: str) -> serializers.CharField:
    return serializers.CharField(required=False, allow_blank=True, help_text=help_text)


class ReportQuery(serializers.Serializer[Any]):
    """Which part of the ratings is looked at; by default all of them."""

    category = _filtered("Only instances of this category.")
    metadata = _filtered(
        "Only instances with this value in a field of their metadata, such as `year:2020`."
    )
    pair = _filtered("Only items that compare these two systems, such as `old vs new`.")
    separability = _filtered(
        "Only items whose separability is in this range, named as in the report, such as"
        " `0.2500<=separability<0.4300`."
    )
    stratum = _filtered(
        "Only items in this stratum of agreement among annotators, named as in the report, such as"
        " `PA=1`."
    )
    raters = _filtered(
        "Only annotators of a channel, such as `channel:prolific`, or those without a failed gold"
        " check, `checks:none-failed`, which reports no win rates."
    )
    since = _filtered("Only annotators' ratings stored on this day (UTC) or later: `2026-11-30`.")
    until = _filtered("Only annotators' ratings stored on this day (UTC) or earlier.")
    version = _filtered("Only annotators' ratings by this version of the study.")
    current = serializers.BooleanField(
        default=False,
        help_text="Refuse with `report_pending` unless the report covers the current ratings.",
    )
