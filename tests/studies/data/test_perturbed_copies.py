"""Perturbed copies of a scoring study's texts: made by page, API and command, and marked as copies."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from lxml.html import fromstring

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.services.planning import plan_hits
from annotation.services.reference_units import degrade_copies
from studies.data.perturbed_copies import add_perturbed_copies
from studies.instance_selection.sampling import start_sampling
from studies.models import Generation, Study, StudyEvent, System, Unit
from studies.services import use_dataset_systems
from tests.annotation.annotators import annotator
from tests.machine_raters.judging.scripted import model
from tests.refusals import refused
from tests.studies.factories import make_study, open_knowingly
from tiebreak.perturbations import Edit, edited, perturbed

pytestmark = pytest.mark.django_db
__all__ = ["model"]
TYPOS, ENDING = "characters/typos/major", "sentences/ending/major"
PROSE = (
    "It was written by the clerk on Monday. It is kept in a box. It is about water. Read note {}."
)


def scoring_study(**options) -> Study:
    study = make_study(
        **{"instances": 3, "systems": 1, "samples": 2, "scale": "ordinal:1..5"} | options,
        unit_kind="generation",
    )
    for text in Generation.objects.select_related("instance"):
        text.text = PROSE.format(f"{text.instance.key} {text.sample_index}")
        text.save()
    return study


def test_each_text_gets_a_copy_that_says_of_what_and_what_was_changed():
    study = scoring_study()
    made = add_perturbed_copies(study=study, names=[TYPOS, ENDING], seed=7)
    assert (made.copies, made.refused) == (12, {})
    assert made.systems == tuple(s.name for s in study.ordered_systems()[1:])
    for copy in Generation.objects.exclude(system__perturbed_from=None).select_related("system"):
        about = copy.params["perturbation"]
        original = Generation.objects.get(
            instance=copy.instance_id,
            system__name=about["system"],
            sample_index=about["sample_index"],
        )
        assert copy.sample_index == original.sample_index
        assert edited(original.text, [Edit(*edit) for edit in about["edits"]]) == copy.text
        assert about["name"] == copy.system.perturbation
        assert copy.system.perturbed_from_id == original.system_id
        assert copy.system.name == f"system-0 [perturbed: {about['name']}]"
    typos = Generation.objects.filter(system__perturbation=TYPOS).first()
    source = PROSE.format("note-0 0")
    assert typos.text == perturbed(source, TYPOS, seed=7).text
    event = StudyEvent.objects.get(study=study, verb="perturb")
    assert event.details["copies"] == 12


def test_copies_are_made_once_and_can_be_planned_like_originals():
    study = scoring_study()
    add_perturbed_copies(study=study, names=[TYPOS])
    assert add_perturbed_copies(study=study, names=[TYPOS]).copies == 0
    assert study.systems.count() == 2
    assert plan_hits(study=study).units == 12


def test_copies_compete_in_no_other_study():
    study = scoring_study()
    add_perturbed_copies(study=study, names=[TYPOS])
    assert [s.name for s in System.objects.competing()] == ["system-0"]
    other = Study.objects.create(title="Other", dataset=study.dataset)
    assert use_dataset_systems(study=other) == 1


def test_texts_that_cannot_be_changed_are_counted_and_get_no_copy():
    study = scoring_study()
    Generation.objects.filter(sample_index=0).update(text="Short.")
    made = add_perturbed_copies(study=study, names=[TYPOS, "words/fictional/major"])
    assert made.refused == {"text_too_short": 6}
    assert made.copies == 6
    Generation.objects.filter(system__perturbed_from=None).update(text="Short.")
    system = System.objects.count()
    with refused("no_copies"):
        add_perturbed_copies(study=study, names=["characters/deletion/minor"])
    assert System.objects.count() == system


def test_only_drafts_that_score_single_texts_get_copies(monkeypatch):
    with refused("not_a_scoring_study"):
        add_perturbed_copies(study=make_study(), names=[TYPOS])
    study = scoring_study()
    with refused("no_perturbation"):
        add_perturbed_copies(study=study, names=[])
    with refused("unknown_perturbation"):
        add_perturbed_copies(study=study, names=["words/typos/minor"])
    monkeypatch.setattr("studies.data.perturbed_copies.MAX_COPIES", 5)
    with refused("too_many_copies"):
        add_perturbed_copies(study=study, names=[TYPOS])
    Study.objects.filter(pk=study.pk).update(status="closed")
    with refused("not_a_draft"):
        add_perturbed_copies(study=study, names=[TYPOS])


def test_a_system_of_another_kind_with_the_name_is_never_taken():
    study = scoring_study()
    System.objects.create(dataset=study.dataset, name=f"system-0 [perturbed: {TYPOS}]")
    with refused("name_taken"):
        add_perturbed_copies(study=study, names=[TYPOS])
    assert Generation.objects.count() == 6


def test_the_page_makes_copies_and_shows_them(admin_client):
    study = scoring_study()
    address = reverse("studies:perturbed-copies", args=[study.pk])
    assert "has no copies yet" in admin_client.get(address).content.decode()
    filled = fromstring(admin_client.get(address).content).xpath("//*[contains(@class, 'primary')]")
    assert [one.tag for one in filled] == ["button"]
    page = admin_client.post(address, {"seed": 2, "characters": TYPOS}, follow=True)
    copy = Generation.objects.filter(system__perturbation=TYPOS).first()
    shown = page.content.decode()
    assert copy.text in shown
    assert PROSE.format("note-0 0") in shown
    assert "not a system's own texts" in admin_client.get(
        reverse("studies:data", args=[study.pk])
    ).content.decode().replace("&#x27;", "'")
    refused_page = admin_client.post(address, {"seed": 2})
    assert "Choose at least one perturbation" in refused_page.content.decode()
    comparison = reverse("studies:perturbed-copies", args=[make_study().pk])
    assert "cannot be scored in it" in admin_client.get(comparison).content.decode()


def test_the_command_makes_the_same_copies():
    study = scoring_study()
    out = StringIO()
    call_command("add_perturbed_copies", study.pk, TYPOS, seed=7, json=True, stdout=out)
    assert json.loads(out.getvalue())["copies"] == 6
    with refused("not_a_scoring_study", CommandError):
        call_command("add_perturbed_copies", make_study().pk, TYPOS)


def test_exports_mark_copies_and_imports_keep_the_mark(tmp_path):
    study = scoring_study()
    add_perturbed_copies(study=study, names=[TYPOS])
    plan_hits(study=study)
    open_knowingly(study)
    person = annotator(study)
    for _ in range(6):
        person.choose(3)
    export_study(study=Study.objects.get(pk=study.pk), out=tmp_path / "b", formats=("jsonl",))
    rows = [json.loads(line) for line in (tmp_path / "b/ratings.jsonl").open()]
    marks = {(row["system_a"], row["perturbation"], row.get("original_system", "")) for row in rows}
    assert marks == {
        ("system-0", "", ""),
        (f"system-0 [perturbed: {TYPOS}]", TYPOS, "system-0"),
    }
    texts = [json.loads(line) for line in (tmp_path / "b/generations.jsonl").open()]
    assert all(
        ("perturbation" in text.get("params", {})) == ("perturbed" in text["system"])
        for text in texts
    )
    again = import_study(path=tmp_path / "b").study
    copies = again.systems.get(name=f"system-0 [perturbed: {TYPOS}]")
    assert (str(copies.perturbed_from), copies.perturbation) == ("system-0", TYPOS)
    assert again.systems.get(name="system-0").perturbed_from is None


def test_gold_checks_of_a_kind_say_what_was_changed(admin_user):
    comparison = make_study(member=admin_user)
    Generation.objects.filter(instance__dataset=comparison.dataset).update(text=PROSE)
    changed = "sentences/reordering/major"
    degrade_copies(study=comparison, role=Unit.Role.GOLD, n=2, perturbation=changed, seed=0)
    for unit in comparison.units.select_related("text_b__generation", "text_b__system"):
        assert unit.text_b.system.is_control
        assert unit.text_b.generation.params["perturbation"]["name"] == changed
        assert unit.known_labels == {"preference": "-1"}
        assert "no sentence is where it was" in unit.explanation


def test_nothing_is_sampled_among_copies(model):
    study = scoring_study()
    Generation.objects.update(params={"server": "here"})
    add_perturbed_copies(study=study, names=[TYPOS])
    System.objects.update(language_model="tiny", prompt_template="Write.")
    copies = Generation.objects.exclude(system__perturbed_from=None)
    before = list(copies.values_list("pk", flat=True))
    model(lambda request: "A new text.")
    start_sampling(study=study, options={"server": "here", "samples": 3})
    assert Generation.objects.filter(text="A new text.").count() == 3
    assert list(copies.values_list("pk", flat=True)) == before


def test_a_perturbation_of_which_there_is_no_copy_leaves_no_system():
    study = scoring_study()
    Generation.objects.update(
        text="委员会星期一开会并同意了新桥的计划居民们对这个决定表示欢迎市长说工程将在明年开始"
    )
    made = add_perturbed_copies(study=study, names=[TYPOS, "words/deletion/minor"])
    assert (made.copies, made.refused) == (6, {"no_spaces": 6})
    assert set(System.objects.values_list("perturbation", flat=True)) == {"", TYPOS}
