"""The forms of new judges."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings

from machine_raters.judging.prompts import INSTRUCTIONS
from machine_raters.models import ExampleSet, Judge
from machine_raters.models.judge import MAX_EXAMPLES
from studies.models import Study

EACH_CRITERION = "each criterion: one judge for each"
JUDGE_SETTINGS = (
    *("name", "criterion", "server", "language_model", "instructions", "answered_by", "constraint"),
    *("examples", "example_set", "with_reference", "comparisons", "budget", "runs"),
    "writes_steps",
    *("temperature", "max_tokens", "seed"),
    *("prompt_price", "answer_price"),
)
# What each judge needs; the page has all other settings in a fold.
FIRST_SETTINGS = ("name", "criterion", "server", "language_model", "instructions", "answered_by")
if TYPE_CHECKING:
    JudgeModelForm = forms.ModelForm[Judge]
    ExampleSetModelForm = forms.ModelForm[ExampleSet]
else:
    JudgeModelForm = ExampleSetModelForm = forms.ModelForm


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
        # They are read once, and have no empty choice, so the first criterion is chosen.
        criteria.choices = [(one.pk, str(one)) for one in study.criteria.all()]
        sets = self.fields["example_set"]
        assert isinstance(sets, forms.ModelChoiceField)
        sets.queryset = study.example_sets.all()
        servers = sorted(settings.TIEBREAK_MODEL_SERVERS)
        self.fields["server"] = forms.ChoiceField(
            label="Model server", choices=[(name, name) for name in servers]
        )

    def first_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in FIRST_SETTINGS]

    def further_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in FIRST_SETTINGS]

    def is_further_open(self) -> bool:
        """Whether the fold must show a refused value."""
        return any(field.errors for field in self.further_fields())


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


class ExampleSetForm(ExampleSetModelForm):
    """The name of a new set of examples, and its items, one key a line."""

    items = forms.CharField(
        label="Training items",
        widget=forms.Textarea,
        help_text="Their keys, one a line, in the order in which judges read them.",
    )

    class Meta:
        model = ExampleSet
        fields = ("name", "items")

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, auto_id="example_set_%s")

    def clean_items(self) -> list[str]:
        keys = [line.strip() for line in self.cleaned_data["items"].splitlines() if line.strip()]
        if not 0 < len(keys) <= MAX_EXAMPLES:
            sentence = f"Please enter the keys of 1 to {MAX_EXAMPLES} training items."
            raise forms.ValidationError(sentence, code="number_of_items")
        return keys
