"""The form of a new jury."""

from typing import TYPE_CHECKING, Any

from django import forms

from machine_raters.juries.services import possible_members
from machine_raters.models import Jury
from studies.models import Study

JURY_SETTINGS = ("name", "criterion", "members", "rule")
if TYPE_CHECKING:
    JuryModelForm = forms.ModelForm[Jury]
else:
    JuryModelForm = forms.ModelForm


class JuryForm(JuryModelForm):
    """The settings of a new jury, which never change afterwards."""

    class Meta:
        model = Jury
        fields = JURY_SETTINGS
        widgets = {"members": forms.CheckboxSelectMultiple}

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(data, auto_id="jury_%s")
        criteria, members = self.fields["criterion"], self.fields["members"]
        assert isinstance(criteria, forms.ModelChoiceField)
        assert isinstance(members, forms.ModelMultipleChoiceField)
        criteria.queryset, members.queryset = study.criteria.all(), possible_members(study)
        # They are read once, and there is no empty choice, so the first criterion is chosen.
        criteria.choices = [(one.pk, str(one)) for one in criteria.queryset]
        members.choices = [(one.pk, str(one)) for one in members.queryset]
