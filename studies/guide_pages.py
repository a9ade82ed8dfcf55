"""The documentation as pages for researchers, and the search in it."""

import re
from dataclasses import dataclass
from itertools import islice

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from studies.access import researchers_only
from studies.guides import INDEX, PICTURES, Section, guide_sections, read_guide

MAX_FOUND, MAX_WORDS = 20, 8
ENOUGH = 3  # of words in a text: then the order of the index decides, not the length
AROUND = 110  # characters that a snippet has on each side of the first word found


@dataclass(frozen=True)
class Found:
    """A section, with the words that were searched marked in its heading and in a part of its text."""

    section: Section
    heading: SafeString
    snippet: SafeString


def search_guides(query: str) -> list[Found]:
    """Return the sections in which every word of the query begins a word, the best ones first."""
    words = [_begins(word) for word in islice(query.split(), MAX_WORDS)]
    if not words:
        return []
    marked = re.compile("|".join(word.pattern for word in words), re.I)
    found = [section for section in guide_sections() if _has_all(section, words)]
    found.sort(key=lambda section: _rank(section, words, marked))
    return [
        Found(section, _mark(section.heading, marked), _snippet(section.text, marked))
        for section in found[:MAX_FOUND]
    ]


def _begins(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}", re.I)


def _has_all(section: Section, words: list[re.Pattern[str]]) -> bool:
    everything = f"{section.title} {section.heading} {section.text}"
    return all(word.search(everything) for word in words)


def _rank(
    section: Section, words: list[re.Pattern[str]], marked: re.Pattern[str]
) -> tuple[int, int, int]:
    """Return a key that sorts by words in the heading, then in the guide's title, then in the text."""
    in_heading = sum(bool(word.search(section.heading)) for word in words)
    in_title = sum(bool(word.search(section.title)) for word in words)
    in_text = min(len(marked.findall(section.text)), ENOUGH)
    return -in_heading, -in_title, -in_text


def _snippet(text: str, marked: re.Pattern[str]) -> SafeString:
    first = marked.search(text)
    at = first.start() if first else 0
    start = text.rfind(" ", 0, at - AROUND) + 1 if at > AROUND else 0
    end = len(text) if len(text) <= at + AROUND else text.rfind(" ", start, at + AROUND)
    before, after = "… " if start else "", " …" if end < len(text) else ""
    return format_html("{}{}{}", before, _mark(text[start:end], marked), after)


def _mark(text: str, marked: re.Pattern[str]) -> SafeString:
    parts = re.split(f"({marked.pattern})", text, flags=re.I)
    plain = format_html_join("", "{}", ((part,) for part in parts[:1]))
    rest = zip(parts[1::2], parts[2::2], strict=True)
    return plain + format_html_join("", "<mark>{}</mark>{}", rest)


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
