"""The documentation as pages, for researchers."""

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from studies.access import researchers_only
from studies.guide_search import search_guides
from studies.guides import INDEX, PICTURES, read_guide


@require_safe
@researchers_only
def guide(request: HttpRequest, name: str = INDEX) -> HttpResponse:
    document = read_guide(name)
    if document is None:
        raise Http404("There is no such document.")
    query = request.GET.get("q", "").strip() if name == INDEX else ""
    context = {"guide": document, "is_index": name == INDEX, "query": query}
    return render(request, "studies/guide.html", context | {"found": search_guides(query)})


@require_safe
@researchers_only
def picture(request: HttpRequest, name: str) -> FileResponse:  # noqa: ARG001  as every view
    """Return a picture of the documentation."""
    files = {path.name: path for path in PICTURES.glob("*.png")}
    if name not in files:
        raise Http404("There is no such picture.")
    return FileResponse(files[name].open("rb"), content_type="image/png")
