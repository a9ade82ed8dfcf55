"""Whoever is refused comes to what is wrong: a browser would jump to the anchor of the page before."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "templates"
# What annotators see has no anchors, and its forms are written out.
OF_RESEARCHERS = [
    path
    for path in sorted(ROOT.rglob("*.html"))
    if path.parent.name != "annotation" and path.stem not in {"leave", "welcome"}
]
FORM = re.compile(r"""<form\s(?:[^>"]|"[^"]*")*>""")


@pytest.mark.parametrize("path", OF_RESEARCHERS, ids=lambda path: path.stem)
def test_a_form_that_stores_something_names_an_address_without_an_anchor(path):
    for form in FORM.findall(path.read_text()):
        if 'method="post"' in form:
            action = re.search(r'action="((?:{[^}]*}|[^"])*)"', form)
            assert action, form
            assert "#" not in action[1]


@pytest.mark.parametrize("path", OF_RESEARCHERS, ids=lambda path: path.stem)
def test_what_is_wrong_with_a_whole_form_is_focused(path):
    for before in re.split(r"{{ [\w.]*non_(?:field|form)_errors }}", path.read_text())[:-1]:
        assert before.endswith('<div tabindex="-1" autofocus>')
