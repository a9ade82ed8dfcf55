"""All URLs of the server."""

import sys

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import include, path
from django.views import defaults
from django.views.generic import RedirectView

from api.problems import unforeseen
from config.monitoring import metrics
from jobs.health import health, live, ready
from studies.members.password_reset import password_reset_urls
from studies.members.single_sign_on import single_sign_on_urls
from tiebreak.formats.confined import FULL


def favicon(_: HttpRequest) -> HttpResponse:
    """Redirect browsers that request the icon at its default address."""
    return redirect(static("images/favicon.svg"))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer an error outside of the views; programs get problem details, as from the views."""
    error = sys.exc_info()[1]
    if request.path_info.startswith(API):
        return unforeseen(error)
    response = defaults.server_error(request)
    if isinstance(error, OSError) and error.errno in FULL:
        response.status_code = 507
    return response


handler500 = server_error
API = "/api/"
urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index"), name="home"),
    # What is left of a study's address without its id.
    path("studies/", RedirectView.as_view(pattern_name="admin:index"), name="studies"),
    path("favicon.ico", favicon, name="favicon"),
    path("health/", health, name="health"),
    path("health/live", live, name="live"),
    path("health/ready", ready, name="ready"),
    path("metrics", metrics, name="metrics"),
    # Before the admin, which answers every address below its own.
    *(password_reset_urls() if settings.TIEBREAK_HAS_EMAIL else []),
    *(single_sign_on_urls() if settings.TIEBREAK_OIDC else []),
    path("admin/", admin.site.urls),
    path("", include("studies.urls")),
    path("", include("annotation.urls")),
    path("", include("machine_raters.urls")),
    path("", include("recruitment.urls")),
    path("", include("metrics.urls")),
    path("", include("api.urls")),
]
