"""URLs of the researcher's pages about machine raters."""

from django.urls import path

import studies.converters  # noqa: F401  registers public_id
from machine_raters.kinds import KINDS
from machine_raters.views import pages

app_name = "machine_raters"

STUDY = "studies/<public_id:study_id>/"
urlpatterns = [
    path(
        f"{STUDY}machine-raters/<public_id:rater_id>/<slug:action>/",
        pages.act,
        name="act",
    ),
    path(
        f"{STUDY}synthetic/<public_id:set_id>/<public_id:judge_id>/",
        pages.check,
        name="check-synthetic",
    ),
    path(f"{STUDY}example-sets/", pages.example_sets, name="example-sets"),
    path(
        f"{STUDY}example-sets/<public_id:example_set_id>/delete/",
        pages.delete_set,
        name="delete-example-set",
    ),
    path(f"{STUDY}verdicts/", pages.upload, name="upload-verdicts"),
    path(f"{STUDY}judges/cost/", pages.rating_cost, name="rating-cost"),
]
for name, kind in KINDS.items():
    urlpatterns += [
        path(f"{STUDY}{kind.path}/", pages.machine_raters, {"kind": name}, name=kind.path),
        path(f"{STUDY}{kind.path}/part/", pages.part, {"kind": name}, name=f"{kind.path}-part"),
    ]
