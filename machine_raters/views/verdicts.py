"""The part of the page of judges that takes verdicts from elsewhere."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from machine_raters.uploads.ratings import AddedRatings
from machine_raters.uploads.uploading import VerdictsForm, upload_verdicts
from machine_raters.views.pages import machine_raters_page
from studies.access import researchers_only, study_for
from studies.refusals import form_errors
from tiebreak.errors import DomainError

QUEUED = "The file is large, so a worker adds its verdicts. Watch the job under Jobs."


@require_POST
@researchers_only
def upload(request: HttpRequest, study_id: str) -> HttpResponse:
    """Store an uploaded file; what is wrong with it is shown by line."""
    study = study_for(request.user, study_id)
    form = VerdictsForm(request.POST, request.FILES)
    if form.is_valid():
        values = form.cleaned_data
        try:
            by = cast(User, request.user)
            added = upload_verdicts(study=study, upload=values.pop("ratings"), by=by, **values)
        except DomainError as refusal:
            form.add_error(None, form_errors(refusal))
        else:
            sentence = QUEUED
            if isinstance(added, AddedRatings):
                sentence = (
                    f"Verdicts that were stored: {added.added}. Stored before: {added.known}."
                )
            messages.success(request, sentence)
            return redirect("machine_raters:judges", study.pk)
    return machine_raters_page(request, study, verdicts_form=form)
