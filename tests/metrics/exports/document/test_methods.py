"""The sentences of the methods about intervals."""

from types import SimpleNamespace

import pytest

from tiebreak.reading.document import summary
from tiebreak.reading.document.references import BOOTSTRAP, FEW_INSTANCES, TWO_WAY


def sentences(monkeypatch, used, *kinds):
    """Return the sentences on a report whose criteria resample ``kinds``."""
    monkeypatch.setattr(summary, "references_of", lambda _: used)
    criteria = {str(number): SimpleNamespace(resampling=kind) for number, kind in enumerate(kinds)}
    return [*summary._intervals(SimpleNamespace(replicates=2_500, criteria=criteria))]


def test_without_intervals_nothing_is_said_about_them(monkeypatch):
    assert sentences(monkeypatch, [], "unit") == []


@pytest.mark.parametrize(
    ("kinds", "over"),
    [(["unit"], " over items"), (["instance"], " over instances"), (["unit", "instance"], "")],
)
def test_intervals_by_replicates_say_of_what(monkeypatch, kinds, over):
    (sentence,) = sentences(monkeypatch, [BOOTSTRAP], *kinds)
    expected = f" Intervals are 95% intervals from up to 2,500 bootstrap replicates{over}."
    assert sentence == expected


@pytest.mark.parametrize(
    ("used", "said"), [(TWO_WAY, "other annotators"), (FEW_INSTANCES, "fewer than 100")]
)
def test_intervals_for_other_annotators_and_of_few_instances_come_first(monkeypatch, used, said):
    first, second = sentences(monkeypatch, [used, BOOTSTRAP], "unit")
    assert said in first
    assert second.startswith(" Other intervals are 95% intervals")
    assert sentences(monkeypatch, [used], "unit") == [first]
