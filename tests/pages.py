"""What a page says, told by codes, names and numbers: its words may be reworded."""

import re
from html import unescape
from typing import Any

from django.utils.html import strip_tags
from lxml import html as lxml_html

from tiebreak.reading.figures.figure import HEADINGS


def page_of(response: Any) -> str:
    """Which page was shown, by the name of its template."""
    name: str = response.templates[0].name
    return name.rpartition("/")[2].removesuffix(".html")


def codes_on(page: Any) -> set[str]:
    """The codes of all that a page refuses or warns of, also where it followed a redirect."""
    shown = set(re.findall(r'data-code="([^"]+)"', page.content.decode()))
    return shown | {message.extra_tags for message in _messages(page) if message.extra_tags}


def levels_on(page: Any) -> list[str]:
    """How what was done is told: `success`, `warning` or `error`, once for each message."""
    return [message.level_tag for message in _messages(page)]


def prose_of(page: Any) -> str:
    """The words of a page's main part."""
    main = re.search(r"<main.*?</main>", page.content.decode(), re.S)
    return " ".join(unescape(strip_tags(main[0])).split()) if main else ""


def numbers_in(text: str) -> set[str]:
    """The numbers of a text, as they are written there."""
    return set(re.findall(r"\d+(?:\.\d+)?", text))


DASHED = "//td | //dd | //td//*[@class='value']"


def unexplained(page: Any) -> list[dict[str, str]]:
    """The rows of a page's tables that have a dash, or no value, and say nowhere why."""
    found = []
    for cell in lxml_html.fromstring(page.content).xpath(DASHED):
        headings = [one.text_content() for one in cell.xpath("ancestor::table[1]/thead//th")]
        cells = [one.text_content().strip() for one in cell.xpath("ancestor::tr[1]/*")]
        row, words = dict(zip(headings, cells, strict=False)), cell.text_content().strip()
        is_missing = words == "–" or (not words and row.get("value") == "")
        beside = cell.xpath("ancestor::section[1]//p[contains(., '–: ')]")
        if is_missing and not beside and not row.get(HEADINGS["reason"]):
            found.append(row)
    return found


def _messages(page: Any) -> list[Any]:
    context = page.context or {}
    return list(context["messages"]) if "messages" in context else []


def send(client: Any, url: str, values: dict[str, Any], **options: Any) -> Any:
    """Send a page's form with these values, and the digests with which it was opened."""
    hidden = re.findall(r'name="([^"]*opened)" value="([^"]*)"', client.get(url).content.decode())
    opened = {name: unescape(value) for name, value in hidden}
    return client.post(url, opened | values, **options)


def send_step(client: Any, url: str, **values: Any) -> Any:
    """Send the form of a study's step as it stands, but with these values."""
    page = lxml_html.document_fromstring(client.get(url).content.decode())
    (form,) = [form for form in page.forms if form.get("id") == "study_form"]
    return client.post(url, dict(form.form_values()) | values)
