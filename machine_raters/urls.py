"""URLs of the researcher's pages about machine raters."""

from django.urls import path

import studies.converters  # noqa: F401  registers public_id
from machine_raters.views import baselines, example_sets, judges, juries, synthetic, verdicts

app_name = "machine_raters"

urlpatterns = [
    path("studies/<public_id:study_id>/judges/", judges.judges, name="judges"),
    path("studies/<public_id:study_id>/judges/part/", judges.part, name="judges-part"),
    path(
        "studies/<public_id:study_id>/judges/<public_id:judge_id>/<slug:action>/",
        judges.act,
        name="judge-action",
    ),
    path(
        "studies/<public_id:study_id>/example-sets/",
        example_sets.example_sets,
        name="example-sets",
    ),
    path(
        "studies/<public_id:study_id>/example-sets/<public_id:example_set_id>/delete/",
        example_sets.delete,
        name="delete-example-set",
    ),
    path("studies/<public_id:study_id>/juries/", juries.juries, name="juries"),
    path("studies/<public_id:study_id>/juries/part/", juries.part, name="juries-part"),
    path(
        "studies/<public_id:study_id>/juries/<public_id:jury_id>/start/",
        juries.start,
        name="start-jury",
    ),
    path("studies/<public_id:study_id>/synthetic/", synthetic.synthetic, name="synthetic"),
    path("studies/<public_id:study_id>/synthetic/part/", synthetic.part, name="synthetic-part"),
    path(
        "studies/<public_id:study_id>/synthetic/<public_id:set_id>/start/",
        synthetic.start,
        name="start-synthetic",
    ),
    path(
        "studies/<public_id:study_id>/synthetic/<public_id:set_id>/delete/",
        synthetic.delete,
        name="delete-synthetic",
    ),
    path(
        "studies/<public_id:study_id>/synthetic/<public_id:set_id>/exclude/",
        synthetic.exclude,
        name="exclude-synthetic",
    ),
    path(
        "studies/<public_id:study_id>/synthetic/<public_id:set_id>/reinstate/",
        synthetic.reinstate,
        name="reinstate-synthetic",
    ),
    path(
        "studies/<public_id:study_id>/synthetic/<public_id:set_id>/<public_id:judge_id>/",
        synthetic.check,
        name="check-synthetic",
    ),
    path("studies/<public_id:study_id>/verdicts/", verdicts.upload, name="upload-verdicts"),
    path("studies/<public_id:study_id>/baselines/", baselines.add, name="add-baseline"),
    path("studies/<public_id:study_id>/baselines/part/", baselines.part, name="baselines-part"),
    path(
        "studies/<public_id:study_id>/baselines/<public_id:baseline_id>/start/",
        baselines.start,
        name="start-baseline",
    ),
    path(
        "studies/<public_id:study_id>/baselines/<public_id:baseline_id>/delete/",
        baselines.delete,
        name="delete-baseline",
    ),
    path(
        "studies/<public_id:study_id>/baselines/<public_id:baseline_id>/exclude/",
        baselines.exclude,
        name="exclude-baseline",
    ),
    path(
        "studies/<public_id:study_id>/baselines/<public_id:baseline_id>/reinstate/",
        baselines.reinstate,
        name="reinstate-baseline",
    ),
]
