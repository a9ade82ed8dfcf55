"""The form of a new baseline."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings

from machine_raters.baselines.services import preference_criteria
from machine_raters.models import Baseline
from studies.models import Study

BASELINE_SETTINGS = ("name", "criterion", "method", "server", "language_model", "seed")
if TYPE_CHECKING:
    BaselineModelForm = forms.ModelForm[Baseline]
else:
    BaselineModelForm = forms.ModelForm


class BaselineForm(BaselineModelForm):
    """The settings of a new baseline, which never change afterwards."""

    class Meta:
        model = Baseline
        fields = BASELINE_SETTINGS

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(data, auto_id="baseline_%s")
        servers = sorted(settings.TIEBREAK_MODEL_SERVERS)
        self.fields["server"] = forms.ChoiceField(
            label="Model server",
            choices=[("", "none"), *((name, name) for name in servers)],
            required=False,
            help_text="Only for a reward model, which vLLM serves.",
        )
        criteria = self.fields["criterion"]
        assert isinstance(criteria, forms.ModelChoiceField)
        criteria.queryset = preference_criteria(study)
        # They are read once, and have no empty choice, so the first criterion is chosen.
        criteria.choices = [
            (one.pk, str(one))
            for one in study.criteria.all()
            if one.parsed_scale.kind == "preference"
        ]
