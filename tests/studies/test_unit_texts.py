"""A unit is a list of texts: pairs are those of two, and nothing else is in the tables."""

import pytest
from django.contrib.auth.models import User
from django.db.models import ProtectedError
from django.urls import reverse

from annotation.exports.tables import design_rows, reference_rows
from annotation.hot_path_sql import unit_with_texts
from annotation.imports.plan_import import StoredRows
from annotation.models import HIT, Assignment, HITUnit
from annotation.services.planning import plan_hits, remove_plan
from annotation.services.reference_units import remove_reference_unit
from annotation.views.unit_presentation import unit_page
from recruitment.services.cloning import clone_study
from studies.models import Generation, Study, Unit, UnitText, texts_of
from tests.studies.factories import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def add_unit(study: Study, key: str, texts: int) -> Unit:
    """Store a gold check that shows a text of each of the first systems."""
    generations = Generation.objects.filter(instance__key="note-0", sample_index=1)
    shown = map(UnitText.showing, generations.order_by("system__name")[:texts])
    facts = {"role": "gold", "instance": generations[0].instance, "explanation": "It is short."}
    unit = Unit.of(shown, study=study, key=key, known_labels={"preference": "-1"}, **facts)
    return Unit.objects.bulk_create([unit])[0]


@pytest.fixture
def study(client) -> Study:
    """Return a planned study, with gold checks of one text, two and three."""
    user = User.objects.create_superuser("ruth")
    client.force_login(user)
    study = make_study(instances=2, systems=3, samples=2, member=user)
    plan_hits(study=study)
    for n, key in enumerate(("one", "two", "three"), start=1):
        add_unit(study, key, n)
    return study


def texts_by_unit(study: Study) -> dict[str, list[tuple[int, str, int]]]:
    rows = UnitText.objects.filter(unit__study=study, unit__role="gold").order_by("position")
    found: dict[str, list[tuple[int, str, int]]] = {}
    for key, *text in rows.values_list("unit__key", "position", "system__name", "sample"):
        found.setdefault(key, []).append(tuple(text))
    return found


def test_texts_are_stored_in_their_order(study, django_assert_num_queries):
    in_order = [(0, "system-0", 1), (1, "system-1", 1), (2, "system-2", 1)]
    assert texts_by_unit(study) == {"one": in_order[:1], "two": in_order[:2], "three": in_order}
    with django_assert_num_queries(2):
        units = list(study.units.filter(role="gold").prefetch_related(texts_of()))
        shown = [[generation.text for generation in unit.generations] for unit in units]
        names = [unit.system_names for unit in units]
    assert shown[2] == ["Text 0 0 1.", "Text 0 1 1.", "Text 0 2 1."]
    assert names == [("system-0", ""), *[("system-0", "system-1")] * 2]


def test_queries_name_the_texts_of_a_pair_and_count_each_unit_once(
    study, django_assert_num_queries
):
    gold = study.units.filter(role="gold").order_by("pk")
    assert [u.key for u in gold.filter(text_b__isnull=True)] == ["one"]
    assert gold.last().text_b.position == 1
    assert [u.key for u in gold.exclude(text_b__system__name="system-1")] == ["one"]
    names = gold.values_list("text_a__system__name", "text_b__system__name")
    assert list(names) == [("system-0", None), *[("system-0", "system-1")] * 2]
    with django_assert_num_queries(1):
        *_, three = gold.select_related("text_a__generation", "text_b__generation")
        assert (three.text_a.generation.text, three.text_b.position) == ("Text 0 0 1.", 1)


def test_a_unit_of_three_texts_is_one_row_in_tables_and_shown_in_full(study, client):
    assert [row["unit"] for row in reference_rows(study)] == ["one", "two", "three"]
    rows = {row["unit"]: row for row in design_rows(study)}
    assert len(rows) == len(list(design_rows(study))) == study.units.count()
    systems = [(rows[key]["system_a"], rows[key]["system_b"]) for key in ("two", "three")]
    assert systems == [("system-0", "system-1")] * 2
    three = study.units.get(key="three")
    work = Assignment(pk=0, hit=HIT(study=study))
    for unit in (three, unit_with_texts(work, HITUnit(unit=three))[0]):
        page = unit_page(unit, [], a_first=False, shown={}, fields="")
        assert page.texts == ("Text 0 2 1.", "Text 0 1 1.", "Text 0 0 1.")
        assert page.source == three.instance.source
    html = client.get(reverse("recruitment:quality", args=[study.pk])).content.decode()
    assert html.count("Text 0 2 1.") == 1


def test_a_clone_has_the_same_texts(study):
    clone = clone_study(study=study).study
    assert texts_by_unit(clone) == texts_by_unit(study)


def test_texts_go_with_their_unit_and_keep_their_generations(study, client):
    three = study.units.get(key="three")
    with pytest.raises(ProtectedError):
        three.generations[2].delete()
    remove_reference_unit(study=study, key="three")
    assert set(texts_by_unit(study)) == {"one", "two"}
    remove_plan(study)
    assert UnitText.objects.count() == 3
    address = reverse("admin:studies_study_delete", args=[study.pk])
    assert client.get(address).status_code == 200
    client.post(address, {"post": "yes"})
    assert not Study.objects.exists()
    assert not UnitText.objects.exists()
    assert Generation.objects.count() == 12


@pytest.mark.parametrize(
    ("systems", "samples", "texts"),
    [
        (("system-0", "system-1"), (1, 0), [True, True]),
        (("system-0", "system-1"), (None, 9), [False, False]),
        (("system-0", ""), (1, 1), [True]),  # a single text with a `sample_index`
        (("", ""), (1, 1), [False, False]),
        ((None, None), (None, None), [False]),
    ],
)
def test_files_tell_how_many_texts_a_unit_has(systems, samples, texts):
    study = make_study(instances=1, samples=2)
    names = zip(("system_a", "system_b", "sample_a", "sample_b"), (*systems, *samples), strict=True)
    made = StoredRows(study).texts(study.dataset.instances.get(), dict(names))
    assert [text.generation is not None for text in made] == texts
    assert [text.sample for text in made] == list(samples[: len(texts)])
