"""Fields of the instances that a language model writes: what is asked, stored, shown and refused."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from jobs.models import Job
from studies.instance_selection.written_fields import write_field, writers_of
from studies.models import Instance, Study, StudyEvent
from tests.jobs.scripted import Scripted, bare_study
from tests.refusals import refused
from tests.studies.factories import make_open_study
from tiebreak.formats.shown_fields import field_texts, metadata_text
from tiebreak.gateway import Failed, GatewayError, Sample, Sampled

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
NAME = "by_model"
OPTIONS = {"name": NAME, "server": "lab", "language_model": "tiny"}
OPTIONS |= {"prompt_template": "Answer {source}", "decoding": {"temperature": 0.2, "seed": 3}}


@pytest.fixture
def answers(settings, monkeypatch):
    """Let a function answer what the server `lab` is asked."""
    settings.TIEBREAK_MODEL_SERVERS = {"lab": {"provider": "http", "base_url": "http://lab:1/v1"}}

    def answered(
        answer=lambda _, request: sampled(request, f"About: {request.prompt}"),
    ) -> Scripted:
        models = Scripted(answer)
        monkeypatch.setattr("studies.model_servers.open_models", lambda spec: models)
        return models

    return answered


def sampled(request, text: str, finish_reason: str = "stop") -> Sampled:
    return Sampled(request.id, (Sample(text, finish_reason, request.seed, 7),), "tiny-1.0", 11)


def written(study: Study, **options) -> Job:
    job = write_field(study=study, **OPTIONS | options)
    job.refresh_from_db()
    return job


def values_of(study: Study) -> list:
    rows = Instance.objects.filter(dataset=study.dataset).order_by("pk")
    return [one.metadata.get(NAME) for one in rows]


def test_each_text_says_how_it_was_written(answers):
    study, models = bare_study(3), answers()
    job = written(study)
    assert (job.status, job.done, job.total, models.asked) == ("done", 3, 3, 3)
    first = study.dataset.instances.first()
    value = first.metadata[NAME]
    assert metadata_text(value) == value["text"] == f"About: Answer {first.source}"
    how = value["written_by"]
    assert (how["language_model"], how["model"]) == ("tiny", "tiny-1.0")
    assert (how["prompt"], how["temperature"]) == (OPTIONS["prompt_template"], 0.2)
    assert len({value["written_by"]["seed"] for value in values_of(study)}) == 3
    assert "lab" not in repr(value)
    assert writers_of(study.dataset_id)[NAME].endswith(f"temperature 0.2, {how['at']}")
    event = study.events.get(verb=StudyEvent.Verb.WRITE_FIELD)
    assert event.details == {"field": NAME, "model": "tiny"}


def test_what_is_cut_off_empty_or_refused_is_no_reference_and_is_asked_for_again(answers):
    study = bare_study(4)
    bad = GatewayError("too_long", "The prompt is too long.")
    replies = {
        1: lambda request: sampled(request, "Whole."),
        2: lambda request: sampled(request, "Half a", "length"),
        3: lambda request: sampled(request, " "),
        4: lambda request: Failed(request.id, bad),
    }
    answers(lambda number, request: replies[number](request))
    job = written(study)
    assert (job.status, job.done, job.failed) == ("failed", 1, 3)
    assert [bool(value) for value in values_of(study)] == [True, False, False, False]
    models = answers()
    job = written(study, decoding={"temperature": 0.2, "seed": 4, "max_tokens": 900})
    assert (job.status, models.asked) == ("done", 3)
    first, *others = values_of(study)
    assert (first["text"], {one["written_by"]["max_tokens"] for one in others}) == ("Whole.", {900})


def test_an_imported_column_and_texts_written_otherwise_are_not_mixed(answers):
    study = bare_study(2)
    answers()
    study.dataset.instances.filter(key__endswith="1").update(metadata={"passage": "P"})
    with refused("field_imported"):
        written(study, name="passage")
    written(study)
    for other in (
        {"language_model": "large"},
        {"prompt_template": "Say {source}"},
        {"decoding": {"temperature": 1.0}},
    ):
        with refused("written_otherwise"):
            written(study, **other)
    assert written(study).done == 2


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"name": "Reference"}, "reserved_name"),
        ({"name": "a|b"}, "bad_field_name"),
        ({"server": "other"}, "no_such_server"),
        ({"server": "fake"}, "no_such_server"),
        ({"server": ""}, "no_server"),
        ({"language_model": ""}, "no_model"),
        ({"prompt_template": "Say."}, "no_source"),
        ({"prompt_template": "{source} {field by_model}"}, "field_in_prompt"),
    ],
)
def test_what_cannot_be_written_is_refused(answers, options, code):
    answers()
    with refused(code):
        written(bare_study(2), **options)


def test_an_annotator_sees_a_models_text_only_if_the_study_names_it(answers):
    study = make_open_study()
    answers()
    written(study)  # also after it was opened: only what judges may read changes
    metadata = study.dataset.instances.first().metadata
    assert not list(field_texts(study.fields, metadata, "raters"))
    (shown,) = field_texts(NAME, metadata, "raters")
    assert shown.text == metadata[NAME]["text"]


def test_a_field_that_an_opened_study_shows_is_not_written(answers):
    study = make_open_study()
    Study.objects.filter(pk=study.pk).update(fields=NAME)
    answers()
    with refused("field_is_shown"):
        written(study)


def test_an_export_says_who_wrote_a_field_and_is_imported_with_it(answers, tmp_path):
    study = make_open_study()
    answers()
    written(study)
    export_study(study=study, out=tmp_path / "out", formats=["hf"])
    says = f"{NAME.replace('_', chr(92) + '_')} was written by a language model"
    assert says in (tmp_path / "out" / "codebook.md").read_text()
    assert says in (tmp_path / "out" / "hf" / "README.md").read_text()
    again = import_study(path=tmp_path / "out").study
    assert again.dataset != study.dataset
    assert writers_of(again.dataset_id) == writers_of(study.dataset_id)
    assert values_of(again) == values_of(study)


def test_the_page_refuses_beside_the_form_and_shows_what_was_written(answers):
    user = User.objects.create_user("ruth", is_staff=True)
    study, browser = make_open_study(member=user), Client()
    browser.force_login(user)
    answers()
    address = reverse("studies:written-fields", args=[study.pk])
    asked = {**OPTIONS, "temperature": "0.2"}
    asked.pop("decoding")
    refusal = browser.post(address, asked | {"name": "source"})
    assert refusal.status_code == 400
    assert [e.code for e in refusal.context["form"].non_field_errors().as_data()] == [
        "reserved_name"
    ]
    assert browser.post(address, asked).status_code == 302
    (field,) = browser.get(address).context["fields"]
    assert (field.name, field.texts) == (NAME, study.dataset.instances.count())
    assert field.example.startswith("About: Answer")
