"""Replaces Django's admin site so that the admin's home is the list of studies."""

from django.contrib.admin.apps import AdminConfig


class ResearcherAdminConfig(AdminConfig):
    default_site = "metrics.site.ResearcherSite"
