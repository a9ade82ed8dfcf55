"""What requests and responses about ratings and scores contain."""

from typing import Any

from django.core.validators import FileExtensionValidator
from rest_framework import serializers

from machine_raters.models.stated_cost import COST_DIGITS, MAX_COST_DIGITS, MAX_RATING_COST
from machine_raters.services.rating_costs import UploadedRater
from machine_raters.uploads.ratings import AddedRatings
from machine_raters.uploads.uploading import UPLOAD_FORMATS

MAX_LIMIT = 50_000


MAX_KEY = 2**63 - 1


def cost_of_a_rating(**options: Any) -> serializers.DecimalField:
    return serializers.DecimalField(
        max_digits=MAX_COST_DIGITS,
        decimal_places=COST_DIGITS,
        min_value=0,
        max_value=MAX_RATING_COST,
        **options,
    )


class RatingsQuery(serializers.Serializer[Any]):
    after = serializers.IntegerField(
        default=0,
        min_value=0,
        max_value=MAX_KEY,
        help_text="The Tiebreak-Cursor header of the previous page; 0 for the beginning.",
    )
    limit = serializers.IntegerField(
        default=10_000, min_value=1, max_value=MAX_LIMIT, help_text="The most rows to return."
    )


class ScoresQuery(RatingsQuery):
    similarity = serializers.CharField(
        default="", max_length=200, help_text="A similarity's name; empty for the study's own."
    )


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
    cost = cost_of_a_rating(
        required=False,
        help_text="What a rating of each machine in the file cost, in the study's currency.",
    )


class RatingCostRequest(serializers.Serializer[Any]):
    rater = serializers.CharField(max_length=200, help_text="The machine's name.")
    cost = cost_of_a_rating(
        allow_null=True, help_text="In the study's currency; null if it is not known."
    )


class UploadedRaterSerializer(serializers.Serializer[UploadedRater]):
    name = serializers.CharField()
    ratings = serializers.IntegerField()
    simulated = serializers.IntegerField(help_text="How many of the ratings are simulated.")
    cost = cost_of_a_rating(
        source="cost.amount",
        allow_null=True,
        help_text="What one rating cost, in the study's currency; null if it is not known.",
    )
    unknown_because = serializers.CharField(
        source="cost.unknown_because", help_text="Why the cost is not known, or empty."
    )


class AddedSerializer(serializers.Serializer[AddedRatings]):
    added = serializers.IntegerField(help_text="The ratings that were stored.")
    known = serializers.IntegerField(help_text="The ratings that had been stored before.")
