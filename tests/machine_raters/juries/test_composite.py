"""A composite follows, on each item, the members that agree best with annotators on other such items."""

import pytest

from annotation.imports.study_import import import_study
from annotation.models import Rating
from studies.models import Instance
from tests.machine_raters.juries.test_juries import jury_of
from tests.refusals import refused
from tests.tiebreak.formats.bundles import make_bundle, write_lines

pytestmark = pytest.mark.django_db
KINDS = ("chat", "news")
RATED, ITEMS = 8, 12
TRUTH = [1, 1, -1, -1] * 3


def imported(tmp_path, right, *, rated=RATED):
    """Import items of two kinds of which people rated the first, and machines all.

    ``right`` says, for each machine, of which kinds its labels are people's.
    """
    bundle = make_bundle(tmp_path / "bundle")
    numbers, systems = range(ITEMS), ("old", "new")
    instances = [{"id": f"i{n:02}", "source": "S", "category": KINDS[n % 2]} for n in numbers]
    texts = [
        {"instance": f"i{n:02}", "system": s, "sample_index": 0, "text": f"{s} {n}"}
        for n in numbers
        for s in systems
    ]
    write_lines(bundle / "instances.jsonl", instances)
    write_lines(bundle / "generations.jsonl", texts)

    def rating(n, rater, label, **more):
        about = {"system_a": "old", "system_b": "new", "sample_index": 0} | more
        return {"unit": f"u{n:02}", "instance": f"i{n:02}", "rater": rater, "label": label} | about

    people = [rating(n, rater, TRUTH[n]) for n in range(rated) for rater in ("r", "s", "t")]
    machines = [
        rating(n, name, TRUTH[n] if KINDS[n % 2] in kinds else -TRUTH[n], kind="machine")
        for name, kinds in right.items()
        for n in numbers
    ]
    write_lines(bundle / "ratings.jsonl", people + machines)
    return import_study(path=bundle).study


def decided(jury) -> list[tuple[str | None, str]]:
    rows = Rating.objects.filter(rater=jury.rater).order_by("unit__key")
    return list(rows.values_list("label", "raw"))


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_each_kind_of_item_has_the_member_that_agrees_best_also_where_nobody_rated(tmp_path, names):
    study = imported(tmp_path, dict(zip(names, [("chat",), ("news",)], strict=True)))
    jury = jury_of(study, "a", "b", rule="composite")
    expected = [(str(label), names[n % 2]) for n, label in enumerate(TRUTH)]
    assert decided(jury) == expected


def test_equally_good_members_share_an_item_whatever_they_are_called(tmp_path):
    study = imported(tmp_path, {"a": KINDS, "b": KINDS, "c": ()})
    jury = jury_of(study, "a", "b", "c", rule="composite")
    assert {raw for _, raw in decided(jury)} == {"a, b"}
    assert [label for label, _ in decided(jury)] == [str(label) for label in TRUTH]


def test_an_item_has_no_say_in_whom_it_follows(tmp_path):
    """Each of two rated items makes another member the best, and follows the one of the other item."""
    study = imported(tmp_path, {"a": ("chat",), "b": ("news",)}, rated=2)
    Instance.objects.update(category="one")
    followed = [raw for _, raw in decided(jury_of(study, "a", "b", rule="composite"))]
    assert followed[:2] == ["b", "a"]  # a is right on the first, b on the second
    assert set(followed[2:]) == {"a, b"}


def test_without_items_that_two_annotators_rated_there_is_no_composite(tmp_path):
    study = imported(tmp_path, {"a": KINDS, "b": KINDS}, rated=1)
    with refused("too_few_labelled"):
        jury_of(study, "a", "b", rule="composite")
