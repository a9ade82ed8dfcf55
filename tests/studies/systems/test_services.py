"""Systems of a draft: added, changed until their texts are made, and how many texts they make."""

import pytest
from django.core.exceptions import ValidationError

from jobs.models import Job
from jobs.services import stop_job
from studies.instance_selection.sampling import SamplingJob, start_sampling
from studies.model_servers import FAKE
from studies.models import Generation, Instance, Study, System
from studies.systems.prompts import placeholders_of
from studies.systems.services import add_system, change_system, describe_systems
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def study() -> Study:
    study = make_study(instances=3)
    Generation.objects.all().delete()
    return study


def test_a_system_is_added_last_to_a_draft_and_its_dataset(study):
    added = add_system(study=study, name="new", language_model="tiny", decoding={"seed": 3})
    assert [system.name for system in study.ordered_systems()] == ["system-0", "system-1", "new"]
    assert added.dataset == study.dataset
    study.study_systems.all().delete()
    add_system(study=study, name="newer")
    assert len(study.ordered_systems()) == 4


def test_a_system_can_be_added_to_a_draft_that_has_texts():
    study = make_study(instances=2)
    add_system(study=study, name="new", prompt_template="{source}")
    assert [pair[1].name for pair in study.system_pairs()] == ["system-1", "new", "new"]


def test_no_system_is_added_where_it_cannot_be(study):
    with refused("not_a_draft"):
        add_system(study=make_open_study(instances=2), name="new")
    with refused("no_dataset"):
        add_system(study=Study.objects.create(title="Without texts"), name="new")
    with refused("name_taken"):
        add_system(study=study, name="system-1")
    with pytest.raises(ValidationError):
        add_system(study=study, name="new", decoding={"trust_remote_code": True})
    assert System.objects.count() == 4


@pytest.mark.parametrize(
    ("template", "unknown"),
    [
        ("Sum up {Source}", "{Source}"),
        ("{source} and {topic}", "{topic}"),
        ("{source} for {field reader}", "{field reader}"),
        ("{source}, {reference}", "{reference}"),  # no instance has one
    ],
)
def test_a_placeholder_that_no_instance_fills_is_refused_by_name(study, template, unknown):
    with refused("unknown_placeholder") as refusal:
        add_system(study=study, name="new", prompt_template=template)
    assert unknown in refusal.value.message
    assert "{source}" in refusal.value.message


@pytest.mark.parametrize(
    "template",
    ["{source}", '{source} as {"title": "", "body": []}', r"{source} \boxed{answer}, x_{ij}", ""],
)
def test_other_braces_are_the_prompts_own(study, template):
    assert add_system(study=study, name="new", prompt_template=template).pk


def test_a_prompt_that_fills_in_nothing_is_refused_unless_the_turns_follow_it(study):
    with refused("no_source"):
        add_system(study=study, name="new", prompt_template="Be brief.")
    Instance.objects.update(messages=[{"role": "user", "content": "Hi"}])
    assert add_system(study=study, name="new", prompt_template="Be brief.").pk


def test_the_columns_of_the_table_are_placeholders(study):
    assert placeholders_of(study.dataset) == ["{source}", "{category}"]
    Instance.objects.filter(key="note-2").update(reference="R.", metadata={"topic": "roads"})
    known = ["{source}", "{reference}", "{category}", "{field topic}"]
    assert placeholders_of(study.dataset) == known
    add_system(study=study, name="new", prompt_template="".join(known))


def test_a_system_is_changed_until_its_texts_are_made(study):
    system = study.ordered_systems()[0]
    change_system(study=study, system=system, name="renamed", language_model="tiny")
    system.refresh_from_db()
    assert (system.name, system.language_model) == ("renamed", "tiny")
    start_sampling(study=study, options={"server": FAKE, "samples": 2})
    change_system(study=study, system=system, language_model="small")  # dummies are removed anyway
    Generation.objects.update(is_dummy=False)
    for values in ({"name": "x"}, {"prompt_template": "{source}"}, {"decoding": {"seed": 1}}):
        with refused("texts_made"):
            change_system(study=study, system=system, **values)
    with refused("texts_made"):
        describe_systems(study=study, rows=[{"name": "renamed", "language_model": "large"}])
    assert change_system(study=study, system=system, language_model="small").name == "renamed"


def test_what_wrote_imported_texts_can_be_said_and_they_keep_their_name():
    study = make_study(instances=2)
    system = study.ordered_systems()[0]
    assert change_system(study=study, system=system, language_model="tiny").language_model == "tiny"
    with refused("texts_imported"):
        change_system(study=study, system=system, name="other")


def test_a_system_does_not_change_while_its_texts_are_made(study):
    Job.objects.create(owner=study.pk, kind="sampling", status="running")
    with refused("job_unfinished"):
        change_system(study=study, system=study.ordered_systems()[0], language_model="tiny")


def test_a_name_is_not_changed_to_one_that_is_taken(study):
    with refused("name_taken"):
        change_system(study=study, system=study.ordered_systems()[0], name="system-1")


def test_a_system_makes_as_many_texts_as_it_says_and_from_its_own_seed(study):
    first, second = study.ordered_systems()
    change_system(study=study, system=first, decoding={"samples": 1, "seed": 9})
    start_sampling(study=study, options={"server": FAKE, "samples": 3, "seed": 1})
    job = Job.objects.get()
    assert (job.status, job.done, job.total) == ("done", 12, 12)
    assert (first.generations.count(), second.generations.count()) == (3, 9)
    seeds = set(first.generations.values_list("seed", flat=True))
    Generation.objects.all().delete()
    start_sampling(study=study, options={"server": FAKE, "samples": 3, "seed": 2})
    assert set(first.generations.values_list("seed", flat=True)) == seeds


def test_the_prompt_of_a_job_is_checked_like_that_of_a_system(study):
    with refused("unknown_placeholder"):
        start_sampling(study=study, options={"server": FAKE, "prompt": "{source} {topic}"})


def import_texts(study: Study, name: str) -> None:
    rows = [
        Generation(
            instance=instance, system=study.systems.get(name=name), sample_index=0, text="Theirs."
        )
        for instance in study.dataset.instances.all()
    ]
    Generation.objects.bulk_create(rows)


def test_no_text_is_generated_under_a_name_with_imported_ones(study, settings, monkeypatch):
    settings.TIEBREAK_MODEL_SERVERS = {"here": {"provider": "vllm", "model": "tiny"}}
    asked = {"server": "here", "samples": 2}
    import_texts(study, "system-0")
    monkeypatch.setattr("studies.instance_selection.sampling.send", lambda job: None)
    job = start_sampling(study=study, options=asked)
    chunks = list(SamplingJob().plan(job))
    assert [chunk.payload["system"] for chunk in chunks] == [study.systems.get(name="system-1").pk]
    stop_job(job=job)
    import_texts(study, "system-1")
    with refused("imported_texts") as refusal:
        start_sampling(study=study, options=asked)
    assert "system-0" in refusal.value.message
    Generation.objects.update(params={"server": "here"})  # as exported, and imported again
    assert start_sampling(study=study, options=asked)


def test_imported_texts_have_variants_at_other_temperatures(study, settings, monkeypatch):
    settings.TIEBREAK_MODEL_SERVERS = {"here": {"provider": "vllm", "model": "tiny"}}
    import_texts(study, "system-0")
    import_texts(study, "system-1")
    monkeypatch.setattr("studies.instance_selection.sampling.send", lambda job: None)
    at = {"temperatures": [0.3], "instances": 3}
    assert start_sampling(study=study, options={"server": "here", **at})
