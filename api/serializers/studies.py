"""What requests and responses contain."""

from dataclasses import asdict, fields
from typing import Any

from django.core.validators import FileExtensionValidator
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.counts import RatingCounts, StudyCounts
from annotation.exports.study_export import FORMATS, study_spec
from annotation.models import Participation
from annotation.participant_evidence import Evidence, Sign
from annotation.services.planning import Plan
from api.serializers.design import QuestionSerializer, ScreeningSerializer
from jobs.models import Job
from jobs.rows import JobRow
from machine_raters.uploads.ratings import AddedRatings
from machine_raters.uploads.uploading import UPLOAD_FORMATS
from recruitment.forms import MAX_RATERS
from recruitment.ledger import LedgerRow
from recruitment.models import Payment
from recruitment.platforms.base import MAX_MESSAGE
from recruitment.services.dry_runs import DryRunOptions
from recruitment.services.participants import Paid
from recruitment.terms import owed
from studies.models import InstanceSelection, Study
from studies.models.settings import SETTINGS
from tiebreak.formats.preferences import TIES
from tiebreak.formats.tables import LAYOUTS
from tiebreak.similarity import SIMILARITIES

MAX_LIMIT = 50_000
MAX_KEY = 2**63 - 1


class ProblemItem(serializers.Serializer[Any]):
    """One reason why a file, a request or a launch was refused."""

    code = serializers.CharField()
    reason = serializers.CharField()
    file = serializers.CharField(required=False, help_text="The file, if one was refused.")
    line = serializers.IntegerField(
        required=False, allow_null=True, help_text="The line; null if it is about the whole file."
    )
    field = serializers.CharField(required=False, help_text="The field of the request.")


class Problem(serializers.Serializer[Any]):
    """Problem details (RFC 9457). `code` is for programs, `detail` for people."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField()
    problems = ProblemItem(many=True, required=False)
    problems_total = serializers.IntegerField(
        required=False, help_text="The number of all problems; `problems` has the first 50."
    )


class CriterionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    scale = serializers.CharField()
    question = serializers.CharField()


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

    class Meta(StudySummary.Meta):
        fields = (  # type: ignore[assignment]
            *StudySummary.Meta.fields,
            *("design", "screening", "comprehension"),
        )

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


class BundleUpload(serializers.Serializer[Any]):
    bundle = serializers.FileField(help_text="The bundle as a .zip file.")
    known_dataset = serializers.ChoiceField(
        ["use", "refuse"],
        default="refuse",
        help_text="What to do if you imported the same dataset before.",
    )


class TableUpload(serializers.Serializer[Any]):
    table = serializers.FileField(help_text="The table, in any format that the pages accept.")
    title = serializers.CharField(max_length=200, help_text="The title of the study.")
    layout = serializers.ChoiceField(LAYOUTS, default="", allow_blank=True)
    columns = serializers.CharField(
        default="", allow_blank=True, help_text="Columns by role: ROLE=COLUMN,…"
    )
    leave_out_bad_rows = serializers.BooleanField(default=False)
    dry_run = serializers.BooleanField(default=False)
    known_dataset = serializers.ChoiceField(
        ["use", "refuse"],
        default="refuse",
        help_text="What to do if you imported the same dataset before.",
    )


class QueuedImport(serializers.Serializer[Any]):
    job = serializers.CharField(help_text="The id of the job that imports the file.")


class TableProblemSerializer(serializers.Serializer[Any]):
    row = serializers.IntegerField(allow_null=True)
    column = serializers.CharField(allow_null=True)
    code = serializers.CharField()
    reason = serializers.CharField()


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
    """The design by which instances are drawn, as on the page *Generate & select*."""

    pilot = serializers.CharField(
        required=False,
        allow_null=True,
        max_length=100,
        help_text="The id of the pilot study, for a draw by machine raters' doubt.",
    )

    class Meta:
        model = InstanceSelection
        fields = ("design", "instances", "control_share", "weights", "floor", "pilot", "seed")


class SelectionPreviewSerializer(serializers.Serializer[Any]):
    """What a design would select for a pair of systems."""

    system_a = serializers.CharField()
    system_b = serializers.CharField()
    instances = serializers.IntegerField()
    of = serializers.IntegerField(
        help_text="The number of instances that were scored or, for a draw by doubt, machine-rated."
    )
    delta = serializers.FloatField(
        allow_null=True,
        help_text="The mean separability of the selected instances; null for a draw by doubt.",
    )
    uniform_delta = serializers.FloatField(
        allow_null=True, help_text="The mean that a uniform draw would have."
    )
    control = serializers.IntegerField()
    warning = serializers.CharField(allow_null=True)
    note = serializers.CharField(
        allow_blank=True, help_text="What the pilot shows of a draw by machine raters' doubt."
    )


class DrawnPlan(serializers.Serializer[Any]):
    drawn = serializers.IntegerField(help_text="Instances drawn, over all pairs of systems.")
    plan = PlanSerializer()


class RatingsQuery(serializers.Serializer[Any]):
    after = serializers.IntegerField(
        default=0,
        min_value=0,
        max_value=MAX_KEY,
        help_text="The header Tiebreak-Cursor of the previous page; 0 for the beginning.",
    )
    limit = serializers.IntegerField(
        default=10_000, min_value=1, max_value=MAX_LIMIT, help_text="The most rows to return."
    )


class ScoresQuery(RatingsQuery):
    similarity = serializers.CharField(
        default="", max_length=200, help_text="A similarity's name; empty for the study's own."
    )


def _filtered(help_text: str) -> serializers.CharField:
    return serializers.CharField(required=False, allow_blank=True, help_text=help_text)


class PartQuery(serializers.Serializer[Any]):
    """Which part of the ratings is looked at; by default all of them."""

    category = _filtered("Only instances of this category.")
    metadata = _filtered(
        "Only instances with this value in a field of their metadata, such as `year:2020`."
    )
    pair = _filtered("Only items that compare these two systems, such as `old vs new`.")
    stratum = _filtered(
        "Only items in this stratum of agreement among annotators, named as in the report, such as"
        " `PA=1`."
    )
    raters = _filtered(
        "Only annotators of a channel, such as `channel:prolific`, or those without a failed gold"
        " check, `checks:none-failed`, for whom no win rates are reported."
    )
    since = _filtered("Only annotators' ratings stored on this day (UTC) or later: `2026-11-30`.")
    until = _filtered("Only annotators' ratings stored on this day (UTC) or earlier.")
    version = _filtered("Only annotators' ratings by this version of the study.")


class ReportQuery(PartQuery):
    current = serializers.BooleanField(
        default=False,
        help_text="Refuse with `report_pending` unless the report is of the current ratings.",
    )


class JobSerializer(serializers.Serializer[JobRow]):
    id = serializers.CharField(source="job.public_id")
    kind = serializers.CharField(source="job.kind")
    label = serializers.CharField(  # type: ignore[assignment]
        help_text="What the job does, in words."
    )
    summary = serializers.CharField(help_text="The options that tell it apart, in words.")
    status = serializers.ChoiceField(Job.Status.choices, source="job.status")
    done = serializers.IntegerField(source="job.done")
    total = serializers.IntegerField(source="job.total")
    failed = serializers.IntegerField(source="job.failed")
    problem = serializers.CharField(source="job.problem")
    result = serializers.JSONField(source="job.result")
    seconds_left = serializers.FloatField(source="pace.seconds_left", allow_null=True)
    stuck = serializers.CharField(
        source="stuck.code",
        allow_null=True,
        default=None,
        help_text="Why the job makes no progress, as a code; null if it does.",
    )
    created_at = serializers.DateTimeField(source="job.created_at")
    started_at = serializers.DateTimeField(source="job.started_at", allow_null=True)
    finished_at = serializers.DateTimeField(source="job.finished_at", allow_null=True)


class SamplingOptions(serializers.Serializer[Any]):
    server = serializers.CharField(
        max_length=100, help_text="The name of a model server, or `fake` for dummy texts."
    )
    samples = serializers.IntegerField(min_value=2, max_value=50, default=5)
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=0)
    prompt = serializers.CharField(
        default="", allow_blank=True, max_length=100_000, help_text="With {source} in it."
    )
    temperatures = serializers.ListField(child=serializers.FloatField(), default=list, max_length=8)
    instances = serializers.IntegerField(
        min_value=3, max_value=200, default=50, help_text="Instances at other temperatures."
    )


class ScoringOptions(serializers.Serializer[Any]):
    similarity = serializers.ChoiceField(
        sorted(SIMILARITIES), default="", help_text="By default the study's own."
    )


class ExportOptions(serializers.Serializer[Any]):
    formats = serializers.ListField(
        child=serializers.ChoiceField(FORMATS),
        default=["jsonl"],
        min_length=1,
        max_length=len(FORMATS),
    )
    ties = serializers.ChoiceField(
        TIES,
        default="drop",
        help_text="In the format preference, leave ties out, write half of them in each direction, or"
        " write each in both.",
    )
    with_texts = serializers.BooleanField(
        default=False,
        help_text="Whether ratings in jsonl, csv and parquet also have the source, both texts and the"
        " preferred system's name.",
    )


class BotOptions(serializers.Serializer[Any]):
    raters = serializers.IntegerField(
        min_value=1, max_value=MAX_RATERS, default=DryRunOptions.raters
    )
    accuracy = serializers.FloatField(min_value=0, max_value=1, default=DryRunOptions.accuracy)
    position_bias = serializers.FloatField(min_value=0, max_value=1, default=0.0)
    drop_out = serializers.FloatField(min_value=0, max_value=1, default=0.0)


class RatingsUpload(serializers.Serializer[Any]):
    ratings = serializers.FileField(
        help_text="A file that ends in .jsonl, .csv or .json, in one of the formats of docs/formats.md.",
        validators=[FileExtensionValidator(["jsonl", "csv", "json"])],
    )
    format = serializers.ChoiceField(
        UPLOAD_FORMATS,
        default=UPLOAD_FORMATS[0],
        help_text="Whether the file is a ratings file, or has verdicts in the format of a benchmark.",
    )
    criterion = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=200,
        help_text="Of a benchmark's verdicts: the study's criterion, where several fit.",
    )
    rater = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=200,
        help_text="Of a benchmark's verdicts: the machine, for LLMBar, LMArena and PandaLM.",
    )


class AddedSerializer(serializers.Serializer[AddedRatings]):
    added = serializers.IntegerField(help_text="The ratings that were stored.")
    known = serializers.IntegerField(help_text="The ratings that had been stored before.")


class ParticipantsQuery(serializers.Serializer[Any]):
    awaiting = serializers.BooleanField(
        default=False, help_text="Only participants who await payment."
    )


class PaymentSerializer(serializers.ModelSerializer[Payment]):
    class Meta:
        model = Payment
        fields = ("kind", "amount", "currency", "status", "reason", "created_at")


class ParticipantRow(serializers.Serializer[LedgerRow]):
    """A participant under a pseudonym. `owed` is null if the study promises no payment."""

    id = serializers.CharField(source="participation.public_id")
    rater = serializers.CharField(source="participation.rater.pseudonym")
    channel = serializers.CharField(source="participation.provider")
    status = serializers.ChoiceField(Participation.Status.choices, source="participation.status")
    platform_status = serializers.CharField(source="participation.submission.platform_status")
    started_at = serializers.DateTimeField(source="participation.created_at")
    finished_at = serializers.DateTimeField(source="participation.finished_at", allow_null=True)
    settled_at = serializers.DateTimeField(
        source="participation.submission.settled_at", allow_null=True
    )
    hits = serializers.IntegerField(help_text="Completed tasks.")
    ratings = serializers.IntegerField(source="ratings.counted", help_text="In the statistics.")
    minutes = serializers.FloatField(allow_null=True)
    paid = serializers.DecimalField(max_digits=10, decimal_places=2)
    owed = serializers.SerializerMethodField()

    @extend_schema_field(serializers.DecimalField(10, 2, allow_null=True))
    def get_owed(self, row: LedgerRow) -> str | None:
        amount = owed(row.participation)
        return None if amount is None else f"{amount:.2f}"


class SignSerializer(serializers.Serializer[Sign]):
    """One number about an annotator, and the same number about others on the same items."""

    name = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField(help_text="The number of cases that it is computed from.")
    others = serializers.FloatField(allow_null=True)
    is_unusual = serializers.BooleanField(help_text="Whether `rule` holds.")
    rule = serializers.CharField()


class EvidenceSerializer(serializers.Serializer[Evidence]):
    answers = serializers.IntegerField()
    checks_right = serializers.IntegerField(source="checks.right")
    checks = serializers.IntegerField(source="checks.of")
    signs = SignSerializer(many=True)


class ParticipantDetail(serializers.Serializer[Any]):
    participant = ParticipantRow(source="row")
    evidence = EvidenceSerializer()
    payments = PaymentSerializer(source="row.participation.payments", many=True)


def _amount(**options: Any) -> serializers.DecimalField:
    return serializers.DecimalField(max_digits=10, decimal_places=2, min_value=0, **options)


class PayManyRequest(serializers.Serializer[Any]):
    total = _amount(help_text="The sum of the payments, without fees.")
    participants = serializers.ListField(
        child=serializers.CharField(max_length=22),
        default=None,
        allow_null=True,
        max_length=10_000,
        help_text="Ids of participants who await payment; by default all of them.",
    )


class PaidSerializer(serializers.Serializer[Paid]):
    recorded = serializers.IntegerField(help_text="Payments that were recorded here.")
    requested = serializers.IntegerField(help_text="Payments that platforms are asked to make.")


class BonusRequest(serializers.Serializer[Any]):
    amount = _amount()
    reason = serializers.CharField(max_length=MAX_MESSAGE)
    request_key = serializers.CharField(
        max_length=64, help_text="Your name for this bonus, by which it is paid only once."
    )


class RejectionRequest(serializers.Serializer[Any]):
    category = serializers.CharField(
        max_length=50, default="", allow_blank=True, help_text="One of the platform's categories."
    )
    message = serializers.CharField(max_length=MAX_MESSAGE, help_text="What the person reads.")


class ExclusionRequest(serializers.Serializer[Any]):
    reason = serializers.CharField(
        max_length=MAX_MESSAGE,
        default="",
        allow_blank=True,
        help_text="As the report should state it.",
    )
