"""The forms that create a token and a webhook."""

from datetime import UTC, datetime, time
from typing import Any, cast

from django import forms
from django.contrib.auth.models import User

from api.messages import EXPIRES_IN_PAST, WITHOUT_STUDIES
from api.models import ApiToken, Webhook
from api.services.tokens import MAX_NAME
from jobs.clock import database_now
from studies.access import studies_of
from studies.models import Study


class TokenForm(forms.Form):
    name = forms.CharField(max_length=MAX_NAME, help_text="For example the program that uses it.")
    access = forms.ChoiceField(choices=ApiToken.Access.choices, initial=ApiToken.Access.READ)
    covers_all = forms.BooleanField(
        label="All my studies",
        required=False,
        help_text="Including those that I join or create later.",
    )
    studies = forms.ModelMultipleChoiceField(
        label="Or these studies", queryset=Study.objects.none(), required=False
    )
    expires_on = forms.DateField(
        label="Last day",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="In UTC. Leave empty for a token that does not expire.",
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast("forms.ModelMultipleChoiceField[Study]", self.fields["studies"])
        field.queryset = studies_of(user)

    def clean_expires_on(self) -> datetime | None:
        """Return the end of the last day."""
        day = self.cleaned_data["expires_on"]
        if day is None:
            return None
        end = datetime.combine(day, time.max, tzinfo=UTC)
        if end <= database_now():
            raise forms.ValidationError(EXPIRES_IN_PAST, code="expires_in_past")
        return end

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if not values.get("covers_all") and not values.get("studies"):
            raise forms.ValidationError(WITHOUT_STUDIES, code="without_studies")
        return values


class WebhookForm(forms.Form):
    url = forms.CharField(
        label="URL",
        max_length=Webhook._meta.get_field("url").max_length,
        help_text="For example https://hooks.example.org/tiebreak.",
    )
