"""Every address of Tiebreak."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("annotation.urls")),
    path("", include("metrics.urls")),
]
