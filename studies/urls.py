"""The pages of a study's design, templates, members and log, and of accounts."""

from django.urls import path

import studies.converters  # noqa: F401  registers public_id
from studies import guide_pages, log_pages
from studies.data import copy_pages
from studies.design import protocol_pages, step_pages
from studies.members import invitation_pages, two_factor_pages
from studies.systems import field_pages, pages as systems

app_name = "studies"
STUDY = "studies/<public_id:study_id>/"

urlpatterns = [
    path("docs/", guide_pages.guide, name="guides"),
    path("docs/pictures/<str:name>", guide_pages.picture, name="guide-picture"),
    path("docs/<path:name>/", guide_pages.guide, name="guide"),
    path("new-study/from-template/", protocol_pages.new_from_template, name="from-template"),
    path(f"{STUDY}template/", protocol_pages.use_template, name="use-template"),
    path(f"{STUDY}design/data/", step_pages.data, name="data"),
    path(f"{STUDY}design/task/", step_pages.task, name="task"),
    path(f"{STUDY}perturbed-copies/", copy_pages.perturbed_copies, name="perturbed-copies"),
    path(f"{STUDY}perturbed-copies/by-model/", copy_pages.model_copies, name="model-copies"),
    path(f"{STUDY}systems/", systems.system, name="system"),
    path(f"{STUDY}written-fields/", field_pages.written_fields, name="written-fields"),
    path(f"{STUDY}model-names/", systems.names_of_models, name="model-names"),
    path(f"{STUDY}members/", step_pages.members, name="members"),
    path(f"{STUDY}invitations/", invitation_pages.to_study, name="invitations"),
    path(
        f"{STUDY}invitations/<public_id:invitation_id>/withdraw/",
        invitation_pages.withdraw_from_study,
        name="withdraw-invitation",
    ),
    path("invitations/", invitation_pages.to_server, name="server-invitations"),
    path(
        "invitations/<public_id:invitation_id>/withdraw/",
        invitation_pages.withdraw_from_server,
        name="withdraw-server-invitation",
    ),
    path("invitation/<str:token>/", invitation_pages.invitation, name="accept-invitation"),
    path("log-in/code/", two_factor_pages.second_factor, name="second-factor"),
    path("account/two-factor/", two_factor_pages.account, name="two-factor"),
    path(f"{STUDY}log/", log_pages.log, name="log"),
]
