"""The members of a study, who are added by their exact user name or e-mail address.

No list of users is offered, because researchers should not learn the names of others with whom
they share no study. All failures give the same message, whether there is no such account, the
account is inactive or not a researcher's, or two accounts have this e-mail address. A successful
entry does reveal that the account exists, because otherwise typing errors would go unnoticed.
"""

from typing import Any

from django import forms
from django.contrib.auth.models import User

from studies.design.opened_forms import OpenedModelForm
from studies.design.opened_rows import OpenedRows
from studies.models import Membership

NOBODY = (
    "No researcher has this user name or e-mail address. Check the spelling, or invite them"
    " by e-mail."
)
NO_OWNER = "A study needs at least one owner. Make someone an owner first."


class PersonField(forms.CharField):
    """A field for a researcher's exact user name or e-mail address, whose value is the user."""

    default_error_messages = {"nobody": NOBODY}

    def clean(self, value: Any) -> Any:
        entered = super().clean(value)
        person = _person(entered) if entered else None
        if entered and person is None:
            raise forms.ValidationError(self.error_messages["nobody"], code="nobody")
        return person


def _person(entered: str) -> User | None:
    researchers = User.objects.filter(is_active=True, is_staff=True)
    by_name = researchers.filter(username=entered).first()
    if by_name is not None:
        return by_name
    by_address = list(researchers.filter(email__iexact=entered)[:2])
    return by_address[0] if len(by_address) == 1 else None


class MembershipForm(OpenedModelForm):
    user = PersonField(label="user name or e-mail address", max_length=254)

    class Meta:
        model = Membership
        fields = ("user", "role")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance.user_id:
            self.initial["user"] = self.instance.user.username


class Members(OpenedRows):
    """Refuses to leave a study without an owner."""

    def clean(self) -> None:
        super().clean()
        if any(self.errors) or not self.has_changed():
            return
        remaining = [form for form in self.forms if form not in self.deleted_forms]
        roles = {form.cleaned_data.get("role", "") for form in remaining if form.cleaned_data}
        # An owner alone can add one again.
        if Membership.Role.OWNER not in roles:
            raise forms.ValidationError(NO_OWNER, code="no_owner")
