"""What requests and responses about participants and payments contain."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.models import Participation
from annotation.participant_evidence import Evidence, Sign
from recruitment.ledger import LedgerRow
from recruitment.models import Payment
from recruitment.platforms.base import MAX_MESSAGE
from recruitment.services.participants import Paid
from recruitment.terms import owed


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
    ratings = serializers.IntegerField(help_text="In the statistics.")
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
