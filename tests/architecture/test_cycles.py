"""No module imports itself through others, within a package or across packages."""

import sys
from pathlib import Path

import grimp
import pytest

from tests.architecture.test_imports import PACKAGES


def cycles(graph: grimp.ImportGraph) -> set[frozenset[str]]:
    """Return the sets of modules of which each imports every other, directly or not."""
    reached = {module: graph.find_upstream_modules(module) for module in graph.modules}
    return {
        frozenset(other for other in upstream if module in reached.get(other, ())) | {module}
        for module, upstream in reached.items()
        if any(module in reached.get(other, ()) for other in upstream)
    }


def test_no_modules_import_each_other():
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    assert len(graph.modules) > 100
    assert cycles(graph) == set()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "made_up"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "made_up", raising=False)
    return folder


@pytest.mark.parametrize(
    "last", ["import made_up.first", "def f():\n    from made_up import first"]
)
def test_a_cycle_is_found(package: Path, last: str):
    """Through three modules, and although the last import stands inside a function."""
    (package / "first.py").write_text("from made_up import second\n")
    (package / "second.py").write_text("from made_up.third import f\n")
    (package / "third.py").write_text(f"{last}\n")
    (package / "apart.py").write_text("from made_up import first\n")
    names = {f"made_up.{name}" for name in ("first", "second", "third")}
    assert cycles(grimp.build_graph("made_up", cache_dir=None)) == {frozenset(names)}


def test_a_chain_is_no_cycle(package: Path):
    (package / "first.py").write_text("from made_up import second\n")
    (package / "second.py").write_text("import json\n")
    assert cycles(grimp.build_graph("made_up", cache_dir=None)) == set()
