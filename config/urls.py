"""All URLs of the server."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic import RedirectView

from jobs.health import health


def favicon(_: HttpRequest) -> HttpResponse:
    """Redirect browsers that request the icon at its default address."""
    return redirect(static("images/favicon.svg"))


urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index"), name="home"),
    # What is left of a study's address without its id.
    path("studies/", RedirectView.as_view(pattern_name="admin:index"), name="studies"),
    path("favicon.ico", favicon, name="favicon"),
    path("health/", health, name="health"),
    path("admin/", admin.site.urls),
    path("", include("studies.urls")),
    path("", include("annotation.urls")),
    path("", include("recruitment.urls")),
    path("", include("metrics.urls")),
    path("", include("api.urls")),
]
