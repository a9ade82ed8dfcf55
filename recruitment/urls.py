"""How annotators come and go, and the researcher's pages about them."""

from django.urls import path

import studies.converters  # noqa: F401  registers public_id
from recruitment.views import arrival, channels, dry_runs, ending, entry, ledger, preview

app_name = "recruitment"

urlpatterns = [
    path("s/<public_id:study_id>/via/<slug:provider>/", arrival.arrive, name="arrive"),
    path("s/<public_id:study_id>/via/<slug:provider>/events/", arrival.event, name="event"),
    path("s/<public_id:study_id>/", entry.welcome, name="welcome"),
    path("rate/<public_id:study_id>/end/", ending.end, name="end"),
    path("rate/<public_id:study_id>/again/", ending.look_again, name="look-again"),
    path("rate/<public_id:study_id>/stop/", ending.stop, name="stop"),
    path("studies/<public_id:study_id>/recruitment/", channels.recruitment, name="recruitment"),
    path(
        "studies/<public_id:study_id>/recruitment/<slug:provider>/", channels.save, name="save-way"
    ),
    path(
        "studies/<public_id:study_id>/recruitment/<slug:provider>/way/<slug:verb>/",
        channels.turn,
        name="turn-way",
    ),
    path(
        "studies/<public_id:study_id>/recruitment/<slug:provider>/<slug:verb>/",
        channels.ask,
        name="ask",
    ),
    path("studies/<public_id:study_id>/ledger/", ledger.books, name="ledger"),
    path(
        "studies/<public_id:study_id>/ledger/<public_id:participation_id>/<slug:verb>/",
        ledger.act,
        name="act",
    ),
    path(
        "studies/<public_id:study_id>/money/<public_id:payment_id>/<slug:word>/",
        ledger.settle_money,
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
