"""Pages for researchers: ratings that they have become a closed study."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from annotation.imports.import_jobs import ImportRequest, first_of_ratings, rating_choice_in
from annotation.imports.kept_uploads import KeptUpload
from annotation.imports.uploads import PREVIEW_ROWS
from annotation.views.imports import (
    import_now_or_later,
    options_of_import,
    title_in,
    title_of,
    with_upload,
)
from annotation.views.rating_columns import (
    LABEL,
    MEANINGS,
    rating_choice_of,
    rating_columns,
    scales_of,
)
from studies.access import researchers_only, user_of
from tiebreak.errors import DomainError
from tiebreak.formats.layouts import TABLE, Choice


@require_safe
@researchers_only
@with_upload
def kind(request: HttpRequest, upload: KeptUpload) -> HttpResponse:
    """Ask whether a table has texts to be rated, or ratings, where both can be read."""
    reading = upload.read(in_web=True)
    context = {"upload": upload, "is_rather_ratings": not reading.doubt}
    return render(request, "imports/kind.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
@with_upload
def ratings(request: HttpRequest, upload: KeptUpload) -> HttpResponse:
    """Show what was read of ratings, take corrections, and create the study."""
    if request.method != "POST":
        # An import that was refused leads here, and keeps its choice.
        from_import = options_of_import(request)
        return _page(
            request, upload, (rating_choice_in(from_import) if from_import else None) or Choice()
        )
    choice = Choice(sheet=request.POST.get("sheet", ""))
    try:
        choice = rating_choice_of(request.POST)
        if request.POST.get("do") != "create":
            return _page(request, upload, choice)
        wanted = ImportRequest(
            upload,
            user_of(request),
            title=title_in(request, upload),
            known_dataset="use" if request.POST.get("use_known") else "refuse",
            ratings=choice,
        )
        return import_now_or_later(request, wanted)
    except DomainError as refusal:
        return _page(request, upload, choice, refusal=refusal)


def _page(
    request: HttpRequest, upload: KeptUpload, choice: Choice, *, refusal: DomainError | None = None
) -> HttpResponse:
    reading, seen = first_of_ratings(upload, choice)
    context: dict[str, Any] = {
        "upload": upload,
        "seen": seen,
        "rows": rating_columns(seen, choice),
        "scales": scales_of(seen, choice),
        "meanings": MEANINGS,
        "label": LABEL,
        "plain": TABLE,
        "reader": choice.reader,
        "reading": reading,
        "fill_down": choice.fill_down,
        "preview_rows": PREVIEW_ROWS,
        "title": request.POST.get("title", title_of(upload)),
        "problem": refusal or (DomainError(seen.code, seen.refusal) if seen.code else None),
    }
    return render(request, "imports/ratings.html", context, status=400 if refusal else 200)
