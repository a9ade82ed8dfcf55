"""The form of a new synthetic set."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings

from machine_raters.models import SyntheticSet

SET_SETTINGS = (
    *("name", "server", "language_model", "passages", "examples", "retriever"),
    *("temperature", "max_tokens", "seed"),
)
if TYPE_CHECKING:
    SetModelForm = forms.ModelForm[SyntheticSet]
else:
    SetModelForm = forms.ModelForm


class SyntheticSetForm(SetModelForm):
    """The settings of a new synthetic set, which never change afterwards."""

    class Meta:
        model = SyntheticSet
        fields = SET_SETTINGS

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, auto_id="synthetic_%s")
        servers = sorted(settings.TIEBREAK_MODEL_SERVERS)
        self.fields["server"] = forms.ChoiceField(
            label="Model server", choices=[(name, name) for name in servers]
        )
