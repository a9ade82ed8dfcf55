"""Any other panel or list: ids come in parameters with the researcher's names for them.

Nobody confirms these ids, so the caps on places held at once apply to who brings them.
"""

import re
from urllib.parse import urlsplit

from django import forms
from django.http import HttpRequest

from annotation.crowd.provider import (
    ADDRESS,
    COOKIES,
    KNOWN_AGAIN,
    Arrival,
    Departure,
    Ending,
    Kept,
    Provider,
)
from annotation.models import Participation, Recruitment
from studies.errors import DomainError
from studies.models import Study


def _plain_url(value: str) -> None:
    parts = urlsplit(value)
    if parts.scheme != "https" or not parts.hostname or parts.username:
        raise forms.ValidationError("Give a whole https:// address, without a user name in it.")


class PanelSettings(forms.Form):
    person_parameter = forms.RegexField(
        r"^[A-Za-z_][A-Za-z0-9_.-]{0,49}\Z",
        initial="participantId",
        help_text="The parameter of the entry link that holds the person's id.",
    )
    submission_parameter = forms.RegexField(
        r"^[A-Za-z_][A-Za-z0-9_.-]{0,49}\Z",
        required=False,
        help_text="The one that holds the id of this very visit, where there is one.",
    )
    completed_url = forms.CharField(
        label="Completed URL",
        required=False,
        validators=[_plain_url],
        help_text="Where to after completing; {person}, {submission} and {code} are filled in.",
    )
    completed_code = forms.CharField(
        required=False, help_text="Empty: a code of their own for everybody, to check against."
    )
    screened_out_url = forms.CharField(
        label="Screened-out URL", required=False, validators=[_plain_url]
    )
    no_consent_url = forms.CharField(
        label="No-consent URL", required=False, validators=[_plain_url]
    )


class Panel(Provider):
    name = "panel"
    title = "Another panel or list"
    settings_form = PanelSettings
    is_platform = True

    def audience(self, recruitment: Recruitment) -> str:
        names = recruitment.settings
        person, submission = names.get("person_parameter"), names.get("submission_parameter")
        added = f"?{person or 'participantId'}=ID" + (f"&{submission}=VISIT" if submission else "")
        return f"whoever follows the link below with their id added to it, as {added}"

    def keeps(self, recruitment: Recruitment) -> Kept:
        visit = (
            " and the id of this visit" if recruitment.settings.get("submission_parameter") else ""
        )
        ids = f"Your id at the panel or on the list that sent you{visit}, as your link has it."
        return Kept(f"{ids} {KNOWN_AGAIN} {COOKIES} {ADDRESS}")

    def arrive(self, request: HttpRequest, recruitment: Recruitment) -> Arrival:
        names = recruitment.settings
        person = _id(request, names.get("person_parameter", "participantId"))
        submission = names.get("submission_parameter")
        visit = _id(request, submission) if submission else person
        return Arrival(external_id=person, submission_id=visit)

    def pays_by_hit(self, study: Study) -> bool:
        """One sum a visit: for who may do any number of HITs, one is enough."""
        return study.hits_per_annotator is None

    def depart(
        self, recruitment: Recruitment, participation: Participation | None, ending: Ending
    ) -> Departure:
        settings = recruitment.settings
        kind = {Ending.FAILED_CHECK: Ending.SCREENED_OUT}.get(ending, ending)
        code = ""
        if ending == Ending.COMPLETED and participation is not None:
            code = settings.get("completed_code") or participation.completion_code
        return Departure(
            code=code, url=_filled(settings.get(f"{kind}_url", ""), participation, code)
        )


def _id(request: HttpRequest, parameter: str) -> str:
    value = request.GET.get(parameter, "")
    if not re.fullmatch(r"[A-Za-z0-9_.@:-]{1,150}", value):
        raise DomainError(
            "incomplete_link",
            f"This link is not complete: it lacks your {parameter}. Please open the study from"
            " the page that invited you, without changing its address.",
            status=400,
        )
    return value


def _filled(template: str, participation: Participation | None, code: str) -> str:
    """Only these three words are filled in, and only with what a URL can hold."""
    if not template:
        return ""
    person = participation.rater.external_id if participation else ""
    submission = participation.submission_id if participation else ""
    for word, value in (("person", person), ("submission", submission), ("code", code)):
        template = template.replace("{" + word + "}", value)
    return template


PROVIDER = Panel()
