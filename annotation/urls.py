"""The annotator's addresses, and the researcher's look at them."""

from django.urls import path

import studies.converters  # noqa: F401  registers public_id
from annotation.views import (
    arriving,
    books,
    dry_runs,
    ending,
    entry,
    preview,
    rating,
    reading,
    steps,
    ways_in,
)

app_name = "annotation"

urlpatterns = [
    path("s/<public_id:study_id>/via/<slug:provider>/", arriving.arrive, name="arrive"),
    path("s/<public_id:study_id>/via/<slug:provider>/events/", arriving.event, name="event"),
    path("s/<public_id:study_id>/", entry.welcome, name="welcome"),
    path("rate/<public_id:study_id>/", rating.rate, name="rate"),
    path("rate/<public_id:study_id>/<int:position>/", rating.look_back, name="rate-position"),
    path("rate/<public_id:study_id>/answer/", rating.answer, name="answer"),
    path("rate/<public_id:study_id>/end/", ending.end, name="end"),
    path("rate/<public_id:study_id>/again/", ending.look_again, name="look-again"),
    path("rate/<public_id:study_id>/stop/", ending.stop, name="stop"),
    path("rate/<public_id:study_id>/guidelines/", reading.guidelines, name="guidelines"),
    path("rate/<public_id:study_id>/questions/", steps.comprehension, name="comprehension"),
    path("rate/<public_id:study_id>/try-again/", steps.try_again, name="try-again"),
    path("studies/<public_id:study_id>/recruitment/", ways_in.recruitment, name="recruitment"),
    path(
        "studies/<public_id:study_id>/recruitment/<slug:provider>/", ways_in.save, name="save-way"
    ),
    path(
        "studies/<public_id:study_id>/recruitment/<slug:provider>/way/<slug:verb>/",
        ways_in.turn,
        name="turn-way",
    ),
    path(
        "studies/<public_id:study_id>/recruitment/<slug:provider>/<slug:verb>/",
        ways_in.ask,
        name="ask",
    ),
    path("studies/<public_id:study_id>/ledger/", books.books, name="ledger"),
    path(
        "studies/<public_id:study_id>/ledger/<public_id:participation_id>/<slug:verb>/",
        books.act,
        name="act",
    ),
    path(
        "studies/<public_id:study_id>/money/<public_id:payment_id>/<slug:word>/",
        books.settle_money,
        name="settle-money",
    ),
    path("studies/<public_id:study_id>/dry-runs/", dry_runs.dry_runs, name="dry-runs"),
    path("studies/<public_id:study_id>/dry-runs/part/", dry_runs.part, name="dry-runs-part"),
    path(
        "studies/<public_id:study_id>/dry-runs/<public_id:job_id>/stop/",
        dry_runs.stop,
        name="stop-dry-run",
    ),
    path(
        "studies/<public_id:study_id>/dry-runs/<public_id:job_id>/remove/",
        dry_runs.remove,
        name="remove-dry-run",
    ),
    path("studies/<public_id:study_id>/preview/", preview.preview, name="preview"),
]
