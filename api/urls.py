from django.urls import include, path, re_path

import studies.converters  # noqa: F401  registers public_id
from api import pages
from api.views import ratings, schema
from api.views import studies as studies_views

app_name = "api"

STUDY = "studies/<public_id:study_id>/"
endpoints = [
    path("schema/", schema.Schema.as_view(), name="schema"),
    path("studies/", studies_views.Studies.as_view(), name="studies"),
    path(STUDY, studies_views.StudyView.as_view(), name="study"),
    path(f"{STUDY}open/", studies_views.OpenStudy.as_view(), name="open"),
    path(f"{STUDY}pause/", studies_views.PauseStudy.as_view(), name="pause"),
    path(f"{STUDY}close/", studies_views.CloseStudy.as_view(), name="close"),
    path(f"{STUDY}reopen/", studies_views.ReopenStudy.as_view(), name="reopen"),
    path(f"{STUDY}progress/", studies_views.StudyProgress.as_view(), name="progress"),
    path(f"{STUDY}report/", studies_views.Report.as_view(), name="report"),
    path(f"{STUDY}separability/", ratings.Scores.as_view(), name="separability"),
    path(f"{STUDY}ratings/", ratings.Ratings.as_view(), name="ratings"),
    # Without an end, so that it matches a line break in a path as well.
    re_path(r"^", schema.NothingHere.as_view(), name="nothing"),
]

urlpatterns = [
    path("account/tokens/", pages.tokens, name="tokens"),
    path("account/tokens/<public_id:token_id>/revoke/", pages.revoke, name="revoke-token"),
    path("api/v1/", include(endpoints)),
]
