"""The form of a new judge."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings

from annotation.judging.prompts import INSTRUCTIONS
from annotation.models import Judge
from studies.models import Study

JUDGE_SETTINGS = (
    *("name", "criterion", "server", "language_model", "instructions", "answered_by", "examples"),
    "writes_steps",
    *("with_reference", "orders", "units", "runs", "temperature", "max_tokens", "seed"),
)
if TYPE_CHECKING:
    JudgeModelForm = forms.ModelForm[Judge]
else:
    JudgeModelForm = forms.ModelForm


class JudgeForm(JudgeModelForm):
    """The settings of a new judge, which never change afterwards."""

    class Meta:
        model = Judge
        fields = JUDGE_SETTINGS

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(data, auto_id="judge_%s", initial={"instructions": INSTRUCTIONS})
        criteria = self.fields["criterion"]
        assert isinstance(criteria, forms.ModelChoiceField)
        criteria.queryset = study.criteria.all()
        criteria.initial = study.criteria.first()
        servers = sorted(settings.TIEBREAK_MODEL_SERVERS)
        self.fields["server"] = forms.ChoiceField(
            label="Model server", choices=[(name, name) for name in servers]
        )
