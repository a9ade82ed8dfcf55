from django.urls import include, path, re_path
from rest_framework.routers import SimpleRouter

import studies.converters  # noqa: F401  registers public_id
from api import pages
from api.views import schema
from api.views.boards import Boards
from api.views.channels import Channels
from api.views.invitations import Invitations
from api.views.items import Items, ReferenceUnits
from api.views.jobs import Imports, Jobs
from api.views.machine_raters import MachineRaters
from api.views.participants import Participants
from api.views.ratings import MachineRatings, Ratings, Scores
from api.views.studies import Studies
from api.views.webhooks import Webhooks

app_name = "api"

STUDY = "studies/<public_id:study_id>/"
router = SimpleRouter(use_regex_path=False)
router.register("studies", Studies, "study")
router.register("imports", Imports, "import")
router.register(f"{STUDY}reference-units", ReferenceUnits, "reference-unit")
router.register(f"{STUDY}ratings", Ratings, "rating")
router.register(f"{STUDY}machine-ratings", MachineRatings, "machine-rating")
router.register(f"{STUDY}machine-raters", MachineRaters, "machine-rater")
router.register(f"{STUDY}separability", Scores, "score")
router.register(f"{STUDY}channels", Channels, "channel")
router.register(f"{STUDY}participants", Participants, "participant")
router.register(f"{STUDY}jobs", Jobs, "job")
router.register(f"{STUDY}invitations", Invitations, "invitation")
router.register(f"{STUDY}board", Boards, "board")
router.register(f"{STUDY}webhooks", Webhooks, "webhook")
endpoints = [
    path("schema/", schema.Schema.as_view(), name="schema"),
    *router.urls,
    # Any text may be an item's name, so it is a parameter.
    path(f"{STUDY}items/", Items.as_view({"get": "list", "delete": "destroy"}), name="item-list"),
    path(
        f"{STUDY}jobs/<public_id:job_id>/export.zip",
        Jobs.as_view({"get": "download"}),
        name="job-download",
    ),
    # Without an end so that it matches a line break in a path as well.
    re_path(r"^", schema.NothingHere.as_view(), name="nothing"),
]

urlpatterns = [
    path("account/tokens/", pages.tokens, name="tokens"),
    path("account/tokens/<public_id:token_id>/revoke/", pages.revoke, name="revoke-token"),
    path(f"{STUDY}webhooks/", pages.webhooks, name="webhooks"),
    path(
        f"{STUDY}webhooks/<public_id:webhook_id>/delete/",
        pages.delete,
        name="delete-webhook",
    ),
    path(
        f"{STUDY}webhooks/deliveries/<public_id:delivery_id>/send-again/",
        pages.resend,
        name="resend",
    ),
    path("api/v1/", include(endpoints)),
]
