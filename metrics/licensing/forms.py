"""The forms of licences, which the page and the REST interface share."""

from typing import Any

from django import forms

from metrics.models import Licence
from studies.models import Criterion, Study
from studies.models.bounds import MAX_COUNT


class WhoRatesForm(forms.Form):
    """Which criterion the page shows, and which kind of annotators rated it."""

    criterion = forms.ModelChoiceField(
        Criterion.objects.none(), to_field_name="name", empty_label=None
    )
    annotators = forms.ChoiceField(
        label="Your annotators are",
        choices=Licence.Annotators.choices,
        help_text="0.2 is ε for experts, 0.15 for trained annotators, 0.1 for crowd workers.",
    )

    def __init__(self, study: Study, data: Any) -> None:
        super().__init__(data, auto_id=f"{type(self).__name__}_%s")
        criteria = self.fields["criterion"]
        assert isinstance(criteria, forms.ModelChoiceField)
        criteria.queryset = study.criteria.all()


class LicenceForm(WhoRatesForm):
    """What a licence is for: a machine rater, all items or one category, and until when."""

    machine = forms.CharField(label="Machine rater", max_length=200)
    category = forms.CharField(label="Items", max_length=200, required=False)
    valid_until = forms.DateField(
        label="Valid until", widget=forms.DateInput(attrs={"type": "date"})
    )


class RevocationForm(forms.Form):
    reason = forms.CharField(label="Reason", max_length=500, required=False)


class FollowUpForm(forms.Form):
    instances = forms.IntegerField(label="Number of instances", min_value=1, max_value=MAX_COUNT)
