"""Every list of the API has a largest page, whatever a client asks for."""

from django.test import RequestFactory
from django.urls import get_resolver
from drf_spectacular.generators import SchemaGenerator
from rest_framework.request import Request

from tests.architecture.test_urls import patterns

ASKED = Request(RequestFactory().get("/", {"limit": str(10**9)}))


def test_no_client_gets_as_many_rows_as_it_asks_for():
    views = {getattr(entry.callback, "cls", None) for _, _, entry in patterns(get_resolver())}
    endpoints = [
        getattr(method, "endpoint", None)
        for view in views
        if view
        for method in vars(view).values()
    ]
    pages = [one.pages() for one in endpoints if one and one.pages]
    paths = SchemaGenerator().get_schema(public=True)["paths"].values()
    parameters = [
        one for path in paths for row in path.values() for one in row.get("parameters", [])
    ]
    limits = [one["schema"].get("maximum") for one in parameters if one["name"] == "limit"]
    sizes = [page.get_page_size(ASKED) for page in pages]
    assert len(sizes) == limits.count(None) >= 2
    assert max(sizes + [limit for limit in limits if limit]) <= 50_000
