"""What annotators send on entry, and what a dry run is asked for."""

from django import forms

MAX_RATERS = 1000


class ConsentForm(forms.Form):
    """Whether they agree, and to which version of the text."""

    choice = forms.ChoiceField(choices=[("agree", "agree"), ("decline", "decline")])
    version = forms.IntegerField(min_value=0, required=False)

    @property
    def agrees(self) -> bool:
        return bool(self.cleaned_data["choice"] == "agree")


class DryRunForm(forms.Form):
    """How many bots come, and how they rate."""

    raters = forms.IntegerField(
        label="Raters at most",
        min_value=1,
        max_value=MAX_RATERS,
        help_text="No more come once every place is filled.",
    )
    accuracy = forms.FloatField(
        label="Share of right answers",
        min_value=0,
        max_value=1,
        initial=0.9,
        help_text="On units and questions whose answer is known; elsewhere the text closer to the"
        " source is held to be the better one.",
    )
    position_bias = forms.FloatField(
        label="Share of answers given to what stands first, unread",
        min_value=0,
        max_value=1,
        initial=0,
    )
    drop_out = forms.FloatField(
        label="Chance to leave for good at each unit", min_value=0, max_value=1, initial=0
    )
