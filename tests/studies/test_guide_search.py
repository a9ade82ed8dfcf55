"""Search in the guides."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from studies.guide_pages import MAX_FOUND, search_guides
from studies.guides import FOLDER, guide_names, guide_sections, read_guide


@pytest.fixture
def find(client, db):
    client.force_login(User.objects.create_superuser("ruth"))
    return lambda query: client.get(reverse("studies:guides"), {"q": query})


def test_sections_cover_every_guide_and_lead_to_headings_that_exist():
    guides = {name for name in guide_names() if not name.startswith("example/")}
    assert {section.guide for section in guide_sections()} == guides - {"index"}
    for section in guide_sections():
        guide = read_guide(section.guide)
        assert not section.anchor or f'id="{section.anchor}"' in guide.html, section.heading


def test_guides_are_searched_in_the_order_of_the_index():
    assert guide_sections()[0].guide == "tutorial"


def test_every_word_is_needed_and_begins_a_word():
    assert search_guides("krippendorff") != []
    assert search_guides("KRIPP") != []
    assert search_guides("rippendorff") == []
    assert search_guides("krippendorff nonsenseword") == []


def test_headings_precede_titles_and_titles_precede_texts():
    found = search_guides("judge")
    kinds = [
        0
        if "judge" in one.section.heading.lower()
        else 1
        if "judge" in one.section.title.lower()
        else 2
        for one in found
    ]
    assert kinds == sorted(kinds)
    assert search_guides("glossary")[0].section.guide == "glossary"


def test_words_are_marked_and_the_rest_is_escaped():
    (first, *_), word = search_guides("licence"), "<mark>licence</mark>"
    assert word in first.heading.lower() + first.snippet.lower()
    snippets = "".join(one.snippet for one in search_guides("field NAME"))
    assert "<" not in snippets.replace("<mark>", "").replace("</mark>", "")


def test_signs_are_text_and_not_patterns():
    assert search_guides("(") != []
    assert search_guides(".*") == []
    assert search_guides(" ") == []


def test_at_most_a_page_is_found():
    assert len(search_guides("a")) == MAX_FOUND


def test_the_page_links_to_the_section(find):
    page = find("planned repeats").content.decode()
    address = search_guides("planned repeats")[0].section.address
    assert f'href="{address}"' in page
    assert "All documents" in page
    assert 'value="planned repeats"' in page


def test_a_page_without_a_match_still_lists_the_documents(find):
    page = find("<b>nonsense").content.decode()
    assert "&lt;b&gt;nonsense" in page
    assert "<b>nonsense" not in page
    assert f'href="{reverse("studies:guide", args=["tutorial"])}"' in page


def test_help_begins_with_the_four_groups_of_the_index(find):
    page = find("").content.decode()
    groups = [line[3:].strip() for line in (FOLDER / "index.md").open() if line.startswith("## ")]
    assert len(groups) == 4
    places = [page.index(f">{group}</h3>") for group in groups]
    assert places == sorted(places)
    assert "make demo" not in page
    assert "Changelog" not in page
