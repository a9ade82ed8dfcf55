"""An annotator without JavaScript, who reads a page and sends what its form would send."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from django.test import Client

from annotation.models import Participation
from studies.models import Study

Page = Any  # the response class of the test client


class _FormReader(HTMLParser):
    """Reads the hidden fields of the answer form, and the choices of each question in order."""

    def __init__(self):
        super().__init__()
        self.hidden: dict[str, str] = {}
        self.choices: dict[str, list[str]] = {}
        self.chosen: dict[str, str] = {}

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag != "input" or "name" not in attributes:
            return
        if attributes["type"] == "hidden":
            self.hidden[attributes["name"]] = attributes["value"]
        elif attributes["type"] == "radio":
            self.choices.setdefault(attributes["name"], []).append(attributes["value"])
            if "checked" in attributes:
                self.chosen[attributes["name"]] = attributes["value"]
        elif attributes["type"] == "number":
            self.choices.setdefault(attributes["name"], [])
            self.chosen[attributes["name"]] = attributes["value"]


@dataclass
class Form:
    """The answer form of a page: its hidden fields, its choices and the current answers."""

    hidden: dict[str, str]
    choices: dict[str, list[str]]
    chosen: dict[str, str]

    def filled(self, index: int = 0) -> dict[str, str]:
        return {**self.hidden, **{name: values[index] for name, values in self.choices.items()}}


def form_of(response: Page) -> Form:
    reader = _FormReader()
    reader.feed(response.content.decode())
    return Form(reader.hidden, reader.choices, reader.chosen)


def texts_of(response: Page) -> list[str]:
    return re.findall(r'<p class="text compared"[^>]*>(.*?)</p>', response.content.decode(), re.S)


@dataclass
class Annotator:
    """An annotator with one browser in one study."""

    study: Study
    client: Client = field(default_factory=Client)

    def at(self, *parts: object) -> str:
        return "/".join(["/rate", self.study.pk, *map(str, parts)]) + "/"

    def enter(self) -> "Annotator":
        version = self.study.versions.count()
        self.client.post(f"/s/{self.study.pk}/", {"choice": "agree", "version": version})
        self.client.post(self.at("guidelines"))
        return self

    def here(self) -> Page:
        return self.client.get(self.at(), follow=True)

    def send(self, data: dict[str, str], **headers: str) -> Page:
        return self.client.post(self.at("answer"), data, headers=headers)

    def choose(self, index: int = 0) -> Form:
        """Answer the current unit with the choice at `index` for every question."""
        form = form_of(self.here())
        assert self.send(form.filled(index)).status_code == 303
        return form

    @property
    def participation(self) -> Participation:
        public_id = self.client.cookies[f"part-{self.study.pk}"].value.split(":")[0]
        return Participation.objects.get(public_id=public_id)


def annotator(study: Study) -> Annotator:
    return Annotator(study).enter()


def unit_of(page: Page) -> tuple[int, str]:
    """Return the number of the unit on a page, and the total as the page shows it."""
    return page.context["progress"].index, str(page.context["progress"].of)


def task_of(page: Page) -> tuple[int, int]:
    """Return the number of the task on a page, and the total."""
    return page.context["hit"], page.context["hits"]


def saved_in(page: Page) -> tuple[int, int]:
    """Return how many units of the task are saved according to the page, and the total."""
    shown = re.search(r'<progress max="(\d+)" value="(\d+)"', page.content.decode())
    return int(shown[2]), int(shown[1])
