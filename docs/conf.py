"""Builds the documentation as a site, with a reference of the library from its docstrings: `make docs`."""

import posixpath
import re
from functools import cached_property
from inspect import isroutine
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parent
INDEXES = ("index", "methods")  # documents that list others

project = "Tiebreak"
copyright = "the Tiebreak authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["example"]
html_theme = "furo"
html_title = "Tiebreak"
html_favicon = "../static/images/favicon.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False

myst_heading_anchors = 6

default_role = "py:obj"
autodoc_default_options = {"members": True, "imported-members": True, "member-order": "bysource"}
autodoc_typehints = "none"  # numpydoc's sections name the types in words
numpydoc_show_class_members = False

LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)")
GROUP = re.compile(r"^## (.+)\n((?:(?!## ).*\n)*)", re.M)
ENTRY = re.compile(r"^\* \[[^\]]+\]\((?!\.\./)([^)]+)\.(?:md|rst)\)", re.M)


def keep_links_inside(_: Sphinx, name: str, source: list[str]) -> None:
    """Turn links to files outside the documentation into their text."""

    def replaced(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), link[2]))
        return link[1] if "://" not in path and path.startswith("../") else link[0]

    source[0] = LINK.sub(replaced, source[0]) + (menu(source[0]) if name in INDEXES else "")


def menu(index: str) -> str:
    """Return the side bar's groups, which are those in which an index lists documents."""
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:titlesonly:\n:caption: {group[1]}\n\n"
        + "\n".join(ENTRY.findall(group[2]))
        + "\n```\n"
        for group in GROUP.finditer(index)
    )


def skip_field(_: Sphinx, what: str, _name: str, member: object, *_rest: object) -> bool | None:
    """Leave out the fields of a class, because its section *Attributes* has them already."""
    is_field = not (isroutine(member) or isinstance(member, property | cached_property))
    return True if what == "class" and is_field else None


def setup(app: Sphinx) -> None:
    app.connect("source-read", keep_links_inside)
    app.connect("autodoc-skip-member", skip_field)
