"""Errors are told apart by codes: no test depends on the wording of a message.

A message may be reworded at any time. Tests therefore use `tests.refusals.refused` or compare with
the constant that holds the message.
"""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.test_imports import PACKAGES
from tests.paths import ROOT

CODED = ("DomainError", "InvalidInput", "GatewayError", "PlatformError", "NoWorkLeft")
# What holds a message: an attribute, or an exception turned into text.
MESSAGE = re.compile(r"\.(message|reason|sentence|problem)\b|\bstr\((error|.*\.value)\)")
# Texts of two words or more that are a test's own.
ALLOWED = {
    "Please wait.": "an error that the test itself raises",
    "Assignment ASSIGNMENT1 does not exist.": "the words of a platform, which its error quotes",
}


def trees(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())


def texts(node: ast.AST) -> Iterator[str]:
    """The string constants of an expression that hold two words or more."""
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and re.search(r"\w \w", str(child.value)):
            yield str(child.value)


def matched_sentences(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The sentences that `pytest.raises` and `pytest.warns` match."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("raises", "warns")):
            for keyword in node.keywords:
                if keyword.arg == "match":
                    yield from ((node.lineno, text) for text in texts(keyword.value))


def compared_sentences(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The sentences that an assertion compares with a message."""
    for statement in ast.walk(tree):
        if not isinstance(statement, ast.Assert):
            continue
        for node in ast.walk(statement.test):
            if isinstance(node, ast.Compare | ast.Call) and MESSAGE.search(ast.unparse(node)):
                yield from ((node.lineno, text) for text in texts(node))


@pytest.mark.thorough
@pytest.mark.parametrize("sentences_of", [matched_sentences, compared_sentences])
def test_no_test_depends_on_the_wording_of_a_message(sentences_of):
    offenders = [
        f"{file}:{line}: {text!r}"
        for file, tree in trees("tests")
        for line, text in sentences_of(tree)
        if text not in ALLOWED
    ]
    assert not offenders, "\n".join(offenders)


@pytest.mark.thorough
def test_every_refusal_has_a_code():
    """A code is snake_case, and a bare ValueError has none."""
    offenders = []
    for file, tree in trees(*PACKAGES):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            code = node.args[0] if node.args else None
            is_sentence = isinstance(code, ast.Constant) and not re.fullmatch(
                r"[a-z][a-z0-9_]*", str(code.value)
            )
            if node.func.id == "ValueError" or (node.func.id in CODED and is_sentence):
                offenders.append(f"{file}:{node.lineno}: {ast.unparse(node)[:80]}")
    assert not offenders, "\n".join(offenders)
