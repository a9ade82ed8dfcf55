"""The sentences of the modules that state findings, as they stand in the source.

A sentence is a text of several words in a function, a text that a condition chooses, or a constant
that a function of these modules uses. Titles, column names and texts on how to read a figure are none.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests.paths import ROOT

METRICS = ROOT / "metrics"
# The pace of collecting and the similarity of texts say nothing of ratings, and the others pass on
# what these modules state.
NOT_OF_RATINGS = {"__init__", "collection", "files", "separability"}
PASS_ON = {"report_document/results", "tabs"}
MODULES = (
    *("findings", "watching", "leading", "annotator_tests", "powered_rates", "coefficients"),
    *("stopping_page", "stratum_findings", "report_document/summary"),
    *sorted(
        f"figures/{path.stem}"
        for path in (METRICS / "figures").glob("*.py")
        if path.stem not in NOT_OF_RATINGS
    ),
)
# Constants that name or explain what is shown.
EXPLAINS = re.compile(r"READING|TITLE|HEADING|COLUMNS|LABEL|STRATA|STRATIFIERS|NAMES|FORMS|WEIGHTS")
# What is passed to these draws or names something; `empty_figure` says why nothing is drawn.
DRAWING = {
    "Mark",
    "IntervalRow",
    "Series",
    "Line",
    "Needed",
    "empty_figure",
    "get",
}
NAMED = {"title", "titles", "label", "labels"}
HOLE = "\0"


@dataclass(frozen=True)
class Sentence:
    """A text with holes for what is filled in, and where it stands."""

    module: str
    text: str

    def is_in(self, words: str) -> bool:
        parts = [re.escape(part) for part in self.text.strip(f"{HOLE} ").split(HOLE)]
        return bool(re.search(".*?".join(parts), words, re.DOTALL))

    def __str__(self) -> str:
        return f"{self.module}: {self.text.replace(HOLE, '{}')}"


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse((METRICS / f"{module}.py").read_text())


def modules_with_findings() -> set[str]:
    """Return the modules that build figures or have a function for findings, by their text."""
    paths = METRICS.rglob("*.py")
    stated = re.compile(r"def \w*finding|def _outcome|\bFigure\(")
    return {
        str(path.relative_to(METRICS).with_suffix(""))
        for path in paths
        if stated.search(path.read_text())
    }


def sentences() -> list[Sentence]:
    return list(dict.fromkeys(one for module in MODULES for one in sentences_of(module)))


def sentences_of(module: str) -> Iterator[Sentence]:
    tree = tree_of(module)
    constants = dict(_constants(module))
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in _nodes(function):
            if isinstance(node, ast.Name) and node.id in constants:
                yield from (Sentence(module, text) for text in constants[node.id])
            elif (text := _text(node)) and is_sentence(text):
                yield Sentence(module, text)
            elif isinstance(node, ast.IfExp):
                words = (_text(choice) for choice in (node.body, node.orelse))
                yield from (Sentence(module, word) for word in words if word and word.isalpha())


def is_sentence(text: str) -> bool:
    """Return whether a text has a word, and is more than one word where its holes are filled."""
    words = re.findall(r"[^\W\d_]{2,}", text.replace(HOLE, " so "))
    return " " in text and len(words) > 1 and bool(re.search(r"[^\W\d_]{3,}", text))


def _constants(module: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the constant texts of a module, and those of `metrics.messages` that it imports."""
    imported = {
        alias.name
        for node in tree_of(module).body
        if isinstance(node, ast.ImportFrom) and node.module == "metrics.messages"
        for alias in node.names
    }
    for source, names in ((module, None), ("messages", imported)):
        for node in tree_of(source).body:
            if isinstance(node, ast.Assign):
                yield from _assigned(node, names)


def _assigned(node: ast.Assign, names: set[str] | None) -> Iterator[tuple[str, tuple[str, ...]]]:
    target = node.targets[0]
    pairs = [(target, node.value)]
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        pairs = list(zip(target.elts, node.value.elts, strict=True))
    for name, value in pairs:
        if not isinstance(name, ast.Name) or EXPLAINS.search(name.id):
            continue
        if names is None or name.id in names:
            parts = value.values if isinstance(value, ast.Dict) else [value]
            texts = [text for part in parts if (text := _text(part)) and is_sentence(text)]
            yield name.id, tuple(texts)


def _text(node: ast.AST | None) -> str | None:
    """Return a text with a hole for each value that is filled in, or None if it is no text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"\{[a-z0-9_.:]*\}", HOLE, node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) else HOLE for part in node.values
        )
    return None


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a function that may be sentences: no docstrings and no names."""
    for child in ast.iter_child_nodes(node):
        if _is_name(child):
            continue
        yield child
        parts = [child]
        if isinstance(child, ast.JoinedStr):
            parts = [part for part in child.values if isinstance(part, ast.FormattedValue)]
        for part in parts:
            yield from _nodes(part)


def _is_name(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.FunctionDef():
            return True
        case ast.keyword(arg=name):
            return bool(name) and ("label" in name or name in {"of", "name"})
        case ast.Call(func=ast.Name(id=name)):
            return name in DRAWING
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in DRAWING
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name in NAMED
    return False
