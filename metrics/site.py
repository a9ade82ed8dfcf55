"""The admin as researchers meet it: its home lists studies, and raw tables are for superusers."""

from typing import Any, cast

from django.conf import settings
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from annotation.views.starts import STARTS
from metrics.demo import demo_study_of
from metrics.home import is_demo_loading, study_cards
from studies.access import user_of
from studies.members.two_factor_pages import LoginPage


class ResearcherSite(AdminSite):
    site_header = site_title = "Tiebreak"
    index_title = "Studies"
    site_url = None
    enable_nav_sidebar = False

    @method_decorator(never_cache)
    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the admin's page to log in, which leads on to the second factor."""
        if request.method == "GET" and self.has_permission(request):
            return redirect("admin:index")
        context = {
            **self.each_context(request),
            "title": "Log in",
            "app_path": request.get_full_path(),
            "username": request.user.get_username(),
            "single_sign_on": settings.TIEBREAK_OIDC and settings.TIEBREAK_OIDC_NAME,
            **(extra_context or {}),
        }
        return cast(HttpResponse, LoginPage.as_view(extra_context=context)(request))

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """Show the studies of the researcher, newest first."""
        user = user_of(request)
        context = {
            "title": self.index_title,
            "starts": STARTS,
            "page": study_cards(user, request.GET.get("page")),
            "demo": demo_study_of(user),
            "is_waiting": is_demo_loading(user),
            # Groups, users and raw tables concern the server's administrators alone.
            "app_list": self.get_app_list(request) if user.is_superuser else [],
            **(extra_context or {}),
        }
        return TemplateResponse(request, "home.html", context)
