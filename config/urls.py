"""Every address of Tiebreak."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index"), name="home"),
    path("admin/", admin.site.urls),
    path("", include("annotation.urls")),
    path("", include("metrics.urls")),
]
