"""What requests and responses about baselines contain."""

from rest_framework import serializers

from machine_raters.baselines.forms import BASELINE_SETTINGS
from machine_raters.models import Baseline


class BaselineSerializer(serializers.ModelSerializer[Baseline]):
    id = serializers.CharField(source="public_id")
    criterion = serializers.CharField(source="criterion.name")
    rated = serializers.IntegerField(help_text="How many items it has rated.")
    no_reference = serializers.IntegerField(
        help_text="How many items have no rating because there is no reference to compare with."
    )
    equal_scores = serializers.IntegerField(
        help_text="How many items have no rating because both texts score the same, and the scale"
        " has no tie."
    )

    class Meta:
        model = Baseline
        fields = (
            *("id", *BASELINE_SETTINGS),
            *("rated", "no_reference", "equal_scores", "created_at"),
            *("excluded", "excluded_reason"),
        )


class NewBaseline(serializers.ModelSerializer[Baseline]):
    criterion = serializers.CharField(max_length=200, help_text="The criterion's name.")

    class Meta:
        model = Baseline
        fields = BASELINE_SETTINGS
        extra_kwargs = {
            "seed": {"default": 0},
            "server": {"default": ""},
            "language_model": {"default": ""},
        }
