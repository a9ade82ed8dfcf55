"""The page on which a language model writes further texts of the instances, such as references."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from studies.access import shows_and_changes_study, user_of
from studies.data.dataset_jobs import dataset_of
from studies.instance_selection.written_fields import (
    last_job_of,
    write_field,
    written_fields as fields_of,
)
from studies.model_servers import server_names
from studies.models import Study
from studies.refusals import as_not_found, told_on
from studies.systems.forms import WrittenFieldForm

ASKED = "The language model is asked for {name}. Its texts are stored as they arrive."


@shows_and_changes_study
def written_fields(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the fields that models wrote, and have one written."""
    with as_not_found():
        dataset = dataset_of(study)
    form = WrittenFieldForm(dataset, request.POST or None)
    if form.is_bound and form.is_valid():
        with told_on(form):
            write_field(study=study, by=user_of(request), **form.settings())
            messages.success(request, ASKED.format(name=form.cleaned_data["name"]))
            return redirect("studies:written-fields", study.pk)
    context = {
        "here": "judges",
        "study": study,
        "form": form,
        "fields": fields_of(dataset),
        "instances": dataset.instances.count(),
        "job": last_job_of(study),
        "has_servers": bool(server_names()),
    }
    status = 400 if form.is_bound else 200
    return render(request, "studies/written_fields.html", context, status=status)
