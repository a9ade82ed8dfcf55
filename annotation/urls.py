"""URLs of the annotator's pages after entry, and of the researcher's pages about data."""

from django.urls import path

import studies.converters  # noqa: F401  registers public_id
from annotation.views import (
    baselines,
    data,
    example_sets,
    imports,
    judges,
    juries,
    rating,
    reading,
    steps,
    synthetic,
    verdicts,
)

app_name = "annotation"

urlpatterns = [
    path("rate/<public_id:study_id>/", rating.rate, name="rate"),
    path("rate/<public_id:study_id>/<int:position>/", rating.look_back, name="rate-position"),
    path("rate/<public_id:study_id>/task/<public_id:task>/", rating.look_back, name="rate-task"),
    path(
        "rate/<public_id:study_id>/task/<public_id:task>/<int:position>/",
        rating.look_back,
        name="rate-task-position",
    ),
    path("rate/<public_id:study_id>/answer/", rating.answer, name="answer"),
    path("rate/<public_id:study_id>/guidelines/", reading.guidelines, name="guidelines"),
    path("rate/<public_id:study_id>/questions/", steps.comprehension, name="comprehension"),
    path("rate/<public_id:study_id>/try-again/", steps.try_again, name="try-again"),
    path("studies/new/", imports.new_study, name="new-study"),
    path("studies/new/samples/<str:name>", imports.sample, name="sample-file"),
    path("studies/new/<str:upload>/", imports.columns, name="import-columns"),
    path("studies/new/<str:upload>/problems.csv", imports.column_problems, name="column-problems"),
    path("imports/<public_id:job_id>/", imports.import_page, name="import"),
    path("imports/<public_id:job_id>/state/", imports.import_part, name="import-state"),
    path("imports/<public_id:job_id>/repeat/", imports.repeat, name="repeat-import"),
    path("imports/<public_id:job_id>/stop/", imports.stop, name="stop-import"),
    path(
        "imports/<public_id:job_id>/problems.csv", imports.import_problems, name="import-problems"
    ),
    path("studies/<public_id:study_id>/data/", data.data, name="data"),
    path("studies/<public_id:study_id>/data/remove/", data.remove, name="remove-item"),
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
