"""Every list of the API has a largest page, whatever a client asks for."""

from django.test import RequestFactory
from django.urls import get_resolver
from drf_spectacular.generators import SchemaGenerator
from rest_framework.request import Request

from tests.architecture.test_urls import patterns

LARGEST = 50_000


def test_no_client_gets_as_many_rows_as_it_asks_for():
    views = {
        getattr(entry.callback, "view_class", None) for _, _, entry in patterns(get_resolver())
    }
    paged = {v for v in views if v and getattr(v, "pagination_class", None)}
    asked = Request(RequestFactory().get("/", {"limit": str(10**9)}))
    sizes = [view.pagination_class().get_page_size(asked) for view in paged]
    operations = [
        operation
        for path in SchemaGenerator().get_schema(public=True)["paths"].values()
        for operation in path.values()
    ]
    declared = [
        parameter["schema"].get("maximum")
        for operation in operations
        for parameter in operation.get("parameters", [])
        if parameter["in"] == "query" and parameter["schema"].get("type") == "integer"
        if parameter["name"] in {"limit", "page_size"}
    ]
    bounded = [size for size in [*sizes, *declared] if size]
    assert len(paged) >= 2
    assert len(bounded) == len(declared)
    assert max(bounded) <= LARGEST
