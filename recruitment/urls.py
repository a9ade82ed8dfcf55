"""The pages through which annotators enter and leave, and the researchers' pages about them."""

from django.urls import include, path

import studies.converters  # noqa: F401  registers public_id
from recruitment import step_pages
from recruitment.views import (
    arrival,
    channels,
    comments,
    dry_runs,
    eligibility,
    ending,
    entry,
    launch,
    ledger,
    participant,
    participant_actions,
    preview,
    reference_items,
)

app_name = "recruitment"

study_pages = [
    path("recruitment/", channels.channel_list, name="channels"),
    path("recruitment/<slug:provider>/", channels.save, name="save-channel"),
    path(
        "recruitment/<slug:provider>/channel/<slug:action>/",
        channels.change_state,
        name="change-channel-state",
    ),
    path("recruitment/<slug:provider>/eligibility/", eligibility.eligibility, name="eligibility"),
    path("recruitment/<slug:provider>/<slug:action>/", channels.act, name="platform-action"),
    path("ledger/", ledger.ledger_page, name="ledger"),
    path(
        "ledger/<public_id:participation_id>/<slug:action>/",
        participant_actions.act,
        name="ledger-action",
    ),
    path("ledger/pay/", participant_actions.pay_many, name="pay-many"),
    path("participants/<public_id:participation_id>/", participant.participant, name="participant"),
    path("participants/<public_id:participation_id>/data.json", participant.data, name="own-data"),
    path("comments/", comments.comments, name="comments"),
    path("comments/<public_id:comment_id>/", comments.mark, name="mark-comment"),
    path(
        "payments/<public_id:payment_id>/<slug:outcome>/",
        ledger.record_payment_outcome,
        name="settle-payment",
    ),
    path("dry-runs/", dry_runs.dry_runs, name="dry-runs"),
    path("dry-runs/part/", dry_runs.part, name="dry-runs-part"),
    path("dry-runs/<public_id:job_id>/stop/", dry_runs.stop, name="stop-dry-run"),
    path("dry-runs/<public_id:job_id>/remove/", dry_runs.remove, name="remove-dry-run"),
    path("design/quality/", step_pages.quality, name="quality"),
    path("design/quality/by-hand/", reference_items.by_hand, name="reference-by-hand"),
    path("design/size/", step_pages.size, name="size"),
    path("design/size/cost/", step_pages.cost_part, name="cost-part"),
    path("design/analysis-plan/", step_pages.analysis_plan, name="analysis-plan"),
    path("design/task/preview/", preview.typed_preview, name="typed-preview"),
    path("launch/", launch.launch, name="launch"),
    path("launch/<slug:action>/", launch.act, name="launch-action"),
    path("clone/", launch.clone, name="clone"),
    path("preview/", preview.preview, name="preview"),
]
urlpatterns = [
    path("s/<public_id:study_id>/via/<slug:provider>/", arrival.arrive, name="arrive"),
    path("s/<public_id:study_id>/via/<slug:provider>/events/", arrival.event, name="event"),
    path("s/<public_id:study_id>/", entry.welcome, name="welcome"),
    path("rate/<public_id:study_id>/end/", ending.end, name="end"),
    path("rate/<public_id:study_id>/again/", ending.look_again, name="look-again"),
    path("rate/<public_id:study_id>/stop/", ending.leave, name="leave"),
    path("studies/<public_id:study_id>/", include(study_pages)),
]
