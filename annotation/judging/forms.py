"""The forms of new judges."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings

from annotation.judging.prompts import INSTRUCTIONS
from annotation.models import Judge
from studies.models import Study

EACH_CRITERION = "each criterion: one judge for each"
JUDGE_SETTINGS = (
    *("name", "criterion", "server", "language_model", "instructions", "answered_by", "examples"),
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


class JudgesForm(JudgeForm):
    """The settings of a new judge, or without a criterion of one judge for each criterion."""

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(study, data)
        criteria = self.fields["criterion"]
        assert isinstance(criteria, forms.ModelChoiceField)
        criteria.required = False
        if study.criteria.count() > 1:
            criteria.empty_label = EACH_CRITERION
            criteria.help_text = (
                "With one judge for each criterion, each is asked one question at a time; their names"
                " end with the criterion."
            )
