"""The consent form of annotators, and the options of a dry run."""

from django import forms

MAX_RATERS = 1000


class ConsentForm(forms.Form):
    """Whether the annotator agrees, to which version of the text and to which terms of the channel."""

    choice = forms.ChoiceField(choices=[("agree", "agree"), ("decline", "decline")])
    version = forms.IntegerField(min_value=0, required=False)
    terms = forms.CharField(required=False)

    @property
    def agrees(self) -> bool:
        return bool(self.cleaned_data["choice"] == "agree")


class DryRunForm(forms.Form):
    """How many bots take part, and how they rate."""

    raters = forms.IntegerField(
        label="Maximum number of bots",
        min_value=1,
        max_value=MAX_RATERS,
        help_text="No more bots start once all responses are completed.",
    )
    accuracy = forms.FloatField(
        label="Share of correct answers",
        min_value=0,
        max_value=1,
        initial=0.9,
        help_text="This applies to items and questions with a known answer. For other items, bots"
        " prefer the text that is closer to the source.",
    )
    position_bias = forms.FloatField(
        label="Share of answers for the first text, without reading",
        min_value=0,
        max_value=1,
        initial=0,
    )
    drop_out = forms.FloatField(
        label="Probability of dropping out at each item", min_value=0, max_value=1, initial=0
    )
