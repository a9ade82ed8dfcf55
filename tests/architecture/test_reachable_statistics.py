"""Every public statistic reaches people: a report, a page or a command uses it.

A definition is reached if the report, an app or a command imports it, or if a definition that is
reached uses it. A function that estimates one statistic is reached with the statistic, which the report
estimates together with others. Tests and benchmarks do not count.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.paths import ROOT
from tiebreak import similarity, stats

Definition = tuple[str, str]
USERS = (
    *(
        "tiebreak/report",
        "tiebreak/reading",
        "tiebreak/commands",
        "metrics",
        "studies",
        "annotation",
        "recruitment",
    ),
    *("api", "jobs", "machine_raters"),
)
LIBRARY = ("tiebreak/stats", "tiebreak/similarity")


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _files(*roots: str) -> Iterator[Path]:
    for root in roots:
        path = ROOT / root
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


@cache
def _tree(module: str) -> ast.Module:
    path = ROOT.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _definitions(module: str) -> dict[str, ast.stmt]:
    """Return the functions, classes and constants of a module."""
    nodes: dict[str, ast.stmt] = {}
    for node in _tree(module).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            nodes[node.name] = node
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        nodes |= {target.id: node for target in targets if isinstance(target, ast.Name)}
    return nodes


@cache
def _imports(module: str) -> dict[str, Definition]:
    """Return what each imported name of a module refers to."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _resolved(module: str, name: str) -> Definition | None:
    """Return where the library defines a name that a module uses, or None."""
    while module.startswith("tiebreak."):
        if name in _definitions(module):
            return module, name
        if name not in _imports(module):
            return None
        source = _imports(module)[name]
        if source == (module, name):  # a package that imports its own module
            return None
        module, name = source
    return None


def _used_by(definition: Definition) -> Iterator[Definition]:
    module, name = definition
    names = {n.id for n in ast.walk(_definitions(module)[name]) if isinstance(n, ast.Name)}
    yield from filter(None, (_resolved(module, used) for used in names))


def _used_by_people(users: tuple[str, ...]) -> Iterator[Definition]:
    """Return what reports, pages and commands import, also as an attribute of a module."""
    for path in _files(*users):
        module = _module(path)
        for source, name in _imports(module).values():
            if source.startswith("tiebreak."):
                yield from filter(None, [_resolved(source, name)])
        for node in ast.walk(_tree(module)):
            if isinstance(node, ast.Attribute):
                yield from filter(None, (_resolved(package, node.attr) for package in _packages()))


def _packages() -> tuple[str, ...]:
    return tuple(root.replace("/", ".") for root in LIBRARY)


@cache
def reached(users: tuple[str, ...] = USERS) -> frozenset[Definition]:
    waiting, known = list(_used_by_people(users)), set[Definition]()
    while waiting:
        definition = waiting.pop()
        if definition not in known:
            known.add(definition)
            waiting += _used_by(definition)
    return frozenset(known)


def public() -> dict[str, Definition]:
    """Return where each public function and class of the library's statistics is defined."""
    return {
        name: _resolved(package, name) or (package, name)
        for package, library in zip(_packages(), (stats, similarity), strict=True)
        for name in library.__all__
        if callable(getattr(library, name))
    }


def is_reached(definition: Definition) -> bool:
    statistics = (used for used in _used_by(definition) if used[1].endswith("_statistic"))
    return definition in reached() or any(used in reached() for used in statistics)


def unreachable() -> list[str]:
    return [name for name, definition in public().items() if not is_reached(definition)]


def unreachable_lines() -> int:
    """Return how many lines of the statistics no report, page or command reaches."""
    return sum(
        (node.end_lineno or 0) - node.lineno + 1
        for path in _files(*LIBRARY)
        if path.name != "__init__.py"
        for name, node in _definitions(_module(path)).items()
        if (_module(path), name) not in reached()
    )


def test_every_public_statistic_is_used_by_a_report_a_page_or_a_command() -> None:
    assert not unreachable(), "they reach nobody: use them or delete them"


@pytest.mark.thorough
def test_only_what_is_used_is_reached() -> None:
    assert ("tiebreak.stats.raters.additive", "alpha_statistic") in reached()  # by a function
    assert reached(("jobs",)).isdisjoint(public().values())  # which knows nothing of statistics


if __name__ == "__main__":
    print(f"{unreachable_lines()} lines that no report, page or command reaches:", *unreachable())
