"""The documentation as pages, and the help that leads to it."""

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from studies.design.steps import pages, place_of, steps
from studies.guides import FOLDER, PICTURES, address_of, guide_names, read_guide
from tests.studies.factories import make_study


@pytest.fixture
def researcher(client, db):
    client.force_login(User.objects.create_superuser("ruth"))
    return client


def anchors_on(html: str) -> set[str]:
    return set(re.findall(r'<h\d id="([^"]+)"', html))


def html_of(name: str) -> str:
    guide = read_guide(name)
    assert guide is not None, name
    return guide.html


@pytest.mark.parametrize("shown", [*steps(), *pages()], ids=lambda shown: shown.slug)
def test_every_step_and_page_has_a_guide_that_exists(shown):
    name, _, anchor = shown.guide.partition("#")
    assert not anchor or anchor in anchors_on(html_of(name))
    assert name != "index"


@pytest.mark.parametrize("name", sorted(guide_names()))
def test_every_link_between_pages_leads_to_a_page_and_a_heading(name):
    addresses = {address_of(other): other for other in guide_names()}
    for target in re.findall(r'href="([^"]*)"', html_of(name)):
        address, _, anchor = target.partition("#")
        if "://" in address:
            continue
        other = addresses[address] if address else name
        assert not anchor or anchor in anchors_on(html_of(other)), target


def test_a_link_to_a_file_that_is_no_page_becomes_its_text():
    assert "study.toml" in html_of("tutorial")
    assert 'study.toml"' not in html_of("tutorial")


def test_wide_parts_scroll_with_the_keyboard():
    assert '<table tabindex="0">' in html_of("glossary")
    assert '<pre tabindex="0">' in html_of("tutorial")


@pytest.mark.parametrize("name", sorted(guide_names()))
def test_every_document_is_a_page(researcher, name):
    assert researcher.get(address_of(name)).status_code == 200


@pytest.mark.parametrize(
    "name",
    ["nothing", "../README", "..%2FREADME", "example/study.toml", "tutorial.md", "/etc/passwd"],
)
def test_nothing_else_is_read(researcher, name):
    assert researcher.get(f"/docs/{name}/").status_code == 404


def test_strangers_are_sent_to_log_in(client, db):
    response = client.get(reverse("studies:guides"))
    assert response.status_code == 302
    assert "/admin/login/" in response["Location"]


@pytest.mark.parametrize(
    ("page", "guide"),
    [
        ("metrics:data-and-report", "how-to/write-the-paper"),
        ("recruitment:channels", "collecting#recruit-annotators"),
        ("studies:members", "collecting#who-may-do-what"),
        ("recruitment:size", "collecting#limits"),
    ],
)
def test_help_leads_to_the_guide_of_the_page(researcher, page, guide):
    study = make_study(instances=2)
    html = researcher.get(reverse(page, args=[study.pk])).content.decode()
    link = re.search(r'<a href="([^"]+)"[^>]* data-help', html)
    assert link is not None
    assert link[1] == address_of(guide)


def test_a_page_without_a_guide_has_the_index():
    assert place_of("no-such-page") is None


@pytest.mark.parametrize("name", sorted(guide_names()))
def test_every_picture_of_a_guide_is_shown_from_this_server(researcher, name):
    for address in re.findall(r'<img[^>]*src="([^"]*)"', html_of(name)):
        picture = researcher.get(address)
        assert picture.status_code == 200, address
        assert b"".join(picture.streaming_content).startswith(b"\x89PNG"), address


def test_guides_have_pictures_that_say_what_they_show():
    described = re.findall(r'<img[^>]*alt="([^"]+)"', html_of("tutorial"))
    assert len(described) >= 3


def test_every_stored_picture_is_used():
    texts = [
        path.read_text(encoding="utf-8")
        for path in (FOLDER.parent / "README.md", *FOLDER.rglob("*.md"))
    ]
    unused = {path.name for path in PICTURES.glob("*.png")} - set(
        re.findall(r"pictures/([\w-]+\.png)", "".join(texts))
    )
    assert unused == set()


@pytest.mark.parametrize("name", ["nothing.png", "..", "overview"])
def test_no_other_file_is_a_picture(researcher, name):
    assert researcher.get(f"/docs/pictures/{name}").status_code == 404
