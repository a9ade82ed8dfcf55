"""Ratings that somebody has become a closed study: the page, its corrections, and what is refused."""

import gzip
import io

import openpyxl
import pytest
from django.urls import reverse

from annotation.models import Rating
from jobs.models import Job
from jobs.worker import run_job
from studies.models import Study
from tests.annotation.imports.test_import_pages import ada, folder, upload
from tests.pages import codes_on, levels_on, page_of

__all__ = ["ada", "folder"]
pytestmark = pytest.mark.django_db
MATRIX = b"Units,Rater1,Rater2,Rater3\n1,1,1,\n2,2,2,3\n3,3,3,3\n4,5,5,4\n"
LONG = b"item_id,annotator,rating\n" + b"".join(
    b"%d,%s,%d\n" % (item, rater, 1 + (item + len(rater)) % 5)
    for item in range(6)
    for rater in (b"ann", b"bo", b"carl")
)


def form_of(page, **changes):
    """What a browser sends of the page of ratings."""
    context = page.context
    data = {
        "title": context["title"],
        "shown_sheet": context["reading"].sheet,
        "sheet": context["reading"].sheet,
        "shown_reader": context["reader"],
        "reader": context["reader"],
        "column": [row.name for row in context["rows"]],
        "of_criterion": [scale.name for scale in context["scales"]],
    }
    for number, row in enumerate(context["rows"]):
        data |= {f"role-{number}": row.role, f"rater-{number}": row.rater}
        data[f"criterion-{number}"] = row.criterion
    return data | {f"scale-{n}": s.chosen for n, s in enumerate(context["scales"])} | changes


def create(client, address, **changes):
    return client.post(address, form_of(client.get(address), do="create", **changes))


def test_it_works(client, ada):
    address = upload(client, MATRIX, "my_matrix.csv")
    page = client.get(address)
    assert page_of(page) == "ratings"
    seen = page.context["seen"]
    assert seen.sentence == "4 items × 3 raters, 11 ratings, 1 missing, ordinal 1 to 5 (inferred)."
    assert seen.first[0] == ["1", "Rater1", "preference", "1"]
    assert not Study.objects.exists()
    answer = create(client, address)
    study = Study.objects.get()
    assert answer["Location"] == reverse("studies:data", args=[study.pk])
    assert (study.status, study.title) == ("closed", "my matrix")
    assert Rating.objects.filter(assignment__hit__study=study).count() == 11
    assert levels_on(client.get(answer["Location"]))[0] == "success"
