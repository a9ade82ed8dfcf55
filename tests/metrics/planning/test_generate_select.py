"""Generate & select: the page, its forms and its jobs."""

import html
import re
import sys

import pytest
from django.core.exceptions import NON_FIELD_ERRORS
from django.urls import reverse
from django.utils import timezone

from annotation.exports.tables import separability_rows
from annotation.services.planning import plan_hits
from jobs.models import Job
from jobs.services import STOPPED
from metrics.messages import PILOT_SAVES_NOTHING
from metrics.planning.generate_select import _marked
from studies.instance_selection.scoring import score_separability
from studies.models import (
    Dataset,
    Generation,
    InstanceSelection,
    Membership,
    SeparabilityScore,
)
from tests.annotation.pilots import draft_of, import_pilot
from tests.confirming import post_confirmed
from tests.pages import codes_on, numbers_in
from tests.studies.factories import make_open_study, make_study
from tiebreak.similarity import EntityJaccard

pytestmark = pytest.mark.django_db


@pytest.fixture
def researcher_client(client, django_user_model):
    client.researcher = django_user_model.objects.create_user("rea", is_staff=True)
    client.force_login(client.researcher)
    return client


def at(study, action: str = "") -> str:
    names = [study.pk, action] if action else [study.pk]
    return reverse("metrics:selection-action" if action else "metrics:generate-select", args=names)


def test_it_works(researcher_client):
    study = make_study(instances=8, member=researcher_client.researcher)
    assert researcher_client.get(at(study) + "?pair=1").context["pair"]["n"] == 0
    score_separability(study=study)
    design = "?design=uniform&instances=4&control_share=0.5&weights=floored&floor=0.1&seed=1"
    assert researcher_client.get(at(study) + "?pair=1").context["pair"]["n"] == 8
    page = researcher_client.get(at(study) + design)
    assert "uses <strong>ROUGE-1</strong> as its similarity" in page.content.decode()
    ((_, drawn, _),) = page.context["previews"]["rows"]
    assert (drawn.instances, drawn.of) == (4, 8)
    assert not study.selected.exists()  # a preview draws nothing


@pytest.mark.parametrize(
    ("design", "cost"),
    [
        # Each of 3 pairs has 4 of 8 instances, each for 3 annotators, and a HIT costs 2.
        ({"comparisons_per_hit": 5}, "72.00"),
        # 12 units in HITs of 5 are three HITs.
        ({"comparisons_per_hit": 5, "bundling": "mixed"}, "18.00"),
    ],
)
def test_the_cost_is_that_of_the_hits_that_are_planned(researcher_client, design, cost):
    study = make_study(
        instances=8,
        systems=3,
        member=researcher_client.researcher,
        reward=4,
        hits_per_annotator=2,
        **design,
    )
    score_separability(study=study)
    wanted = {
        "design": "uniform",
        "instances": 4,
        "control_share": 0.5,
        "weights": "floored",
        "floor": 0.1,
        "seed": 1,
    }
    assert f"{cost} GBP" in researcher_client.get(at(study), wanted).content.decode()
    post_confirmed(researcher_client, at(study, "draw"), wanted)
    assert study.places.count() * 2 == float(cost)


def test_a_pair_without_scores_is_named_before_anything_is_drawn(researcher_client):
    study = make_study(instances=4, systems=3, member=researcher_client.researcher)
    score_separability(study=study)
    SeparabilityScore.objects.filter(system_b__name="system-2").delete()
    design = "?design=uniform&instances=2&control_share=0.5&weights=floored&floor=0.1&seed=1"
    page = researcher_client.get(at(study) + design)
    (message,) = errors_of(page, "design_form", code="pair_not_scored")
    assert "system-0 and system-2; system-1 and system-2" in message
    assert page.context["previews"] is None


def test_a_stopped_job_cannot_be_resumed(researcher_client):
    study = make_study(instances=1, member=researcher_client.researcher)
    job = Job.objects.create(owner=study.pk, kind="sampling")
    researcher_client.post(at(study, "stop"), {"job": job.public_id})
    html = researcher_client.get(at(study)).content.decode()
    assert STOPPED in html
    assert f'action="{at(study, "resume")}"' not in html
    page = researcher_client.post(at(study, "resume"), {"job": job.public_id}, follow=True)
    assert codes_on(page) == {"not_stopped"}


DRAW = {
    "design": "top",
    "instances": 9,
    "control_share": 0.2,
    "weights": "floored",
    "floor": 0.3,
    "seed": 77,
}
FORMS = {"sample": "sampling_form", "score": "scoring_form", "draw": "design_form"}
SAMPLE = {"server": "fake", "samples": 3, "seed": 77, "instances": 4, "prompt": "Sum up {source}"}


def fields_of(html: str) -> dict[str, str]:
    """Return the markup of each field by its name."""
    fields = re.findall(r'<div class="field">(.*?name="(.*?)".*?)</div>', html, re.S)
    return {name: field for field, name in fields}


def errors_of(page, form: str, *, code: str) -> list[str]:
    """Return the messages of a form's non-field errors that have this code."""
    errors = page.context[form].errors.as_data().get(NON_FIELD_ERRORS, [])
    return [error.message for error in errors if error.code == code]


@pytest.mark.parametrize(
    ("action", "form", "field", "code", "kept"),
    [
        ("sample", SAMPLE | {"samples": 1}, "samples", "min_value", 'value="77"'),
        ("sample", SAMPLE | {"server": "http://10.0.0.1"}, "server", "invalid_choice", "Sum up {"),
        ("sample", SAMPLE | {"temperatures": "hot"}, "temperatures", "bad_temperatures", '"hot"'),
        ("score", {"similarity": "none"}, "similarity", "invalid_choice", ""),
        ("draw", DRAW | {"control_share": 2}, "control_share", "max_value", '"77"'),
    ],
)
def test_a_refused_form_keeps_its_values_and_marks_the_field(
    researcher_client, *, action, form, field, code, kept
):
    study = make_study(instances=4, member=researcher_client.researcher)
    answer = researcher_client.post(at(study, action), form)
    html = answer.content.decode()
    assert answer.status_code == 400
    assert kept in html
    refused = {name for name, markup in fields_of(html).items() if "errorlist" in markup}
    assert refused == {field}
    assert answer.context[FORMS[action]].has_error(field, code=code)
    assert "autofocus" in fields_of(html)[field]
    assert html.count("autofocus") == 1
    assert not Job.objects.exists()


def test_a_refusal_of_a_service_is_shown_in_its_form(researcher_client):
    study = make_study(instances=4, member=researcher_client.researcher)
    page = researcher_client.post(at(study, "draw"), DRAW)
    assert errors_of(page, "design_form", code="not_scored")
    html = page.content.decode()
    assert 'name="seed" value="77"' in html
    assert 'tabindex="-1" autofocus' in html
    key = f"sampling:dataset:{study.dataset_id}"
    Job.objects.create(owner=study.pk, kind="sampling", exclusive_key=key)
    Generation.objects.update(is_dummy=True)
    page = researcher_client.post(at(study, "sample"), SAMPLE)
    assert errors_of(page, "sampling_form", code="job_unfinished")
    assert "Sum up {source}</textarea>" in page.content.decode()


def test_drawing_in_an_open_study_is_refused(researcher_client):
    study = make_open_study(instances=4, member=researcher_client.researcher)
    page = researcher_client.post(at(study, "draw"), DRAW | {"instances": 2})
    assert errors_of(page, "design_form", code="not_a_draft")


def test_the_url_of_a_refused_form_redirects_to_the_page(researcher_client):
    study = make_study(instances=1, member=researcher_client.researcher)
    assert researcher_client.get(at(study, "sample"))["Location"] == at(study)
    # The links on the page that is shown at this URL work as well.
    assert 'href="?' not in researcher_client.post(at(study, "sample"), {}).content.decode()


def part(study, name: str) -> str:
    return reverse(f"metrics:{name}", args=[study.pk])


def test_only_the_list_of_jobs_is_polled_and_only_while_they_run(researcher_client):
    study = make_study(instances=1, member=researcher_client.researcher)
    Generation.objects.update(params={"server": "lab"})
    job = Job.objects.create(owner=study.pk, kind="sampling", total=9)
    html = researcher_client.get(at(study)).content.decode()
    assert 'http-equiv="refresh"' not in html
    again = 'hx-get="' + part(study, "generate-select-jobs") + '"'
    assert html.count(again) == 1
    moving = researcher_client.get(part(study, "generate-select-jobs"))
    assert {"0", "9"} <= numbers_in(moving.content.decode())
    assert again in moving.content.decode()
    assert "HX-Trigger" not in moving
    for form in ("sample_server", "score_similarity", "id_design"):
        assert form in html
        assert form not in moving.content.decode()
    Job.objects.filter(pk=job.pk).update(status="done", done=9)
    ended = researcher_client.get(part(study, "generate-select-jobs"))
    assert again not in ended.content.decode()
    assert "jobs-ended" in ended["HX-Trigger"]


def test_results_are_reloaded_with_the_similarity_of_the_page(researcher_client):
    study = make_study(instances=3, member=researcher_client.researcher)
    score_separability(study=study)
    score_separability(study=study, similarity_name="bleu")
    address = f"{part(study, 'generate-select-results')}?similarity=bleu&amp;pair=1"
    assert (
        f'hx-get="{address}"'
        in researcher_client.get(at(study) + "?similarity=bleu").content.decode()
    )
    page = researcher_client.get(address.replace("&amp;", "&"))
    assert page.context["shown"] == "BLEU"
    assert "<form" not in page.content.decode()


def test_htmx_pauses_a_job_without_a_page_load(researcher_client):
    study = make_study(instances=1, member=researcher_client.researcher)
    job = Job.objects.create(owner=study.pk, kind="sampling")
    headers = {"HX-Request": "true"}
    part = researcher_client.post(at(study, "pause"), {"job": job.public_id}, headers=headers)
    job.refresh_from_db()
    assert job.status == "paused"
    assert part.context["status_message"]
    assert "<html" not in part.content.decode()


def test_jobs_are_told_apart_by_their_options(researcher_client):
    study = make_study(instances=1, member=researcher_client.researcher)
    options = {"server": "gpu1", "samples": 7, "seed": 3, "temperatures": [], "instances": 50}
    jobs = [
        ("sampling", options),
        ("sampling", options | {"server": "fake", "temperatures": [0.3, 1.0]}),
        ("scoring", {"similarity": "bertscore", "encoder": "roberta-large"}),
        ("scoring", {}),
    ]
    for kind, options in jobs:
        Job.objects.create(owner=study.pk, kind=kind, options=options)
    rouge, bertscore, dummies, gpu1 = (
        row.summary for row in researcher_client.get(at(study)).context["jobs"]
    )
    assert "gpu1" in gpu1
    assert numbers_in(gpu1.replace("gpu1", "")) == {"7", "3"}
    assert numbers_in(dummies) == {"7", "0.3", "1", "50", "3"}
    assert ("BERTScore" in bertscore, "roberta-large" in bertscore) == (True, True)
    assert rouge == "ROUGE-1"


def test_a_similarity_that_is_not_installed_names_the_missing_package(
    researcher_client, monkeypatch
):
    monkeypatch.setitem(sys.modules, "spacy", None)
    study = make_study(
        instances=1, member=researcher_client.researcher, similarity=EntityJaccard.name
    )
    name = EntityJaccard.name
    html = researcher_client.get(at(study)).content.decode()
    assert f'<option value="{name}" disabled>' in html
    assert '<option value="rouge1">' in html
    assert "tiebreak[entities]" in fields_of(html)["similarity"]
    refused = researcher_client.post(at(study, "score"), {"similarity": name})
    assert refused.status_code == 400
    assert refused.context["scoring_form"].has_error("similarity", code="not_installed")
    assert not Job.objects.exists()


def test_no_form_takes_the_address_of_a_model_server(researcher_client, settings):
    settings.TIEBREAK_MODEL_SERVERS = {}
    study = make_study(instances=1, member=researcher_client.researcher)
    for server in ("http://169.254.169.254", "gpu1"):
        form = {"server": server, "samples": 3, "seed": 0}
        researcher_client.post(at(study, "sample"), form)
    assert not Job.objects.exists()


def test_the_instances_of_an_open_study_cannot_be_changed(researcher_client):
    study = make_open_study(instances=4, member=researcher_client.researcher)
    assert (
        f'hx-get="{part(study, "selection-preview")}"'
        not in researcher_client.get(at(study)).content.decode()
    )
    assert codes_on(researcher_client.post(at(study, "take-all"), follow=True)) == {"not_a_draft"}


def test_a_non_member_gets_no_page_and_no_action_of_a_study(researcher_client):
    study = make_study(instances=2)
    Generation.objects.all().delete()
    assert researcher_client.get(at(study)).status_code == 404
    for name in ("generate-select-jobs", "generate-select-results", "selection-preview"):
        assert researcher_client.get(part(study, name)).status_code == 404
    for action in (
        "sample",
        "score",
        "draw",
        "take-all",
        "pause",
        "resume",
        "stop",
        "remove-dummies",
    ):
        assert researcher_client.post(at(study, action)).status_code == 404
    assert not Generation.objects.exists()


def test_a_job_of_another_study_cannot_be_paused(researcher_client):
    study, other = (
        make_study(instances=1, member=researcher_client.researcher),
        make_study(instances=1),
    )
    job = Job.objects.create(owner=other.pk, kind="sampling")
    researcher_client.post(at(study, "pause"), {"job": job.public_id})
    job.refresh_from_db()
    assert job.status == "queued"


def test_other_temperatures_are_sampled_on_some_instances_and_compared(researcher_client):
    study = make_study(instances=8, member=researcher_client.researcher)
    score_separability(study=study)
    Generation.objects.update(is_dummy=True)
    form = {"server": "fake", "samples": 3, "seed": 0, "instances": 4, "temperatures": "0.3, 1"}
    researcher_client.post(at(study, "sample"), form)
    assert Generation.objects.exclude(system__variant_of=None).count() == 2 * 2 * 4 * 3
    researcher_client.post(at(study, "score"), {"similarity": study.similarity})
    pair = researcher_client.get(at(study) + "?robustness=1").context["pair"]
    assert {"τ = 0.3", "τ = 1"} <= {variant.name for variant in pair["variants"]}
    for odd in ("hot", "0", "-1", "3", " ".join(f"0.{n}" for n in range(1, 10))):
        page = researcher_client.post(
            at(study, "sample"), form | {"temperatures": odd}, follow=True
        )
        assert page.context["sampling_form"].has_error("temperatures", code="bad_temperatures")


def test_scores_by_another_similarity_are_linked(researcher_client):
    study = make_study(instances=3, member=researcher_client.researcher)
    score_separability(study=study)
    assert researcher_client.get(at(study) + "?pair=1").context["other_similarities"] == []
    score_separability(study=study, similarity_name="bleu")
    html = researcher_client.get(at(study) + "?pair=1").content.decode()
    assert f'<a href="{at(study)}?pair=1&amp;similarity=bleu#pair-1">' in html
    page = researcher_client.get(at(study) + "?similarity=bleu").context
    assert (page["shown"], page["study_similarity"], page["is_study_similarity"]) == (
        "BLEU",
        "ROUGE-1",
        False,
    )
    assert researcher_client.get(at(study) + "?similarity=<b>").context["shown"] == "ROUGE-1"


def test_differences_of_long_texts_are_marked_at_their_beginning(monkeypatch):
    monkeypatch.setattr("metrics.planning.generate_select.MAX_MARKED", 100)
    text = "one " * 5_000 + "end"
    marked = _marked(text, "two " * 5_000)
    assert marked.count("<mark>") == 50  # the words among 100 words and spaces
    assert marked.endswith("end</span>")
    assert "".join(re.split(r"<[^>]+>", marked)) == text


def test_using_every_instance_plans_them_all(researcher_client):
    study = make_study(instances=6, comparisons_per_hit=1, member=researcher_client.researcher)
    score_separability(study=study)
    draw = {"design": "top", "instances": 2, "control_share": 0, "weights": "floored"}
    post_confirmed(researcher_client, at(study, "draw"), {**draw, "floor": 0.1, "seed": 0})
    assert study.hits.count() == 2
    post_confirmed(researcher_client, at(study, "take-all"))
    assert study.hits.count() == 6
    assert not study.units.exclude(phase="all").exclude(phase="").exists()


def test_a_prompt_without_the_source_is_refused(researcher_client):
    study = make_study(instances=1, member=researcher_client.researcher)
    form = {
        "server": "fake",
        "samples": 3,
        "seed": 0,
        "instances": 4,
        "prompt": "Summarise {sauce}",
    }
    page = researcher_client.post(at(study, "sample"), form, follow=True)
    assert page.context["sampling_form"].has_error("prompt", code="no_source")
    assert not Job.objects.exists()


def server_field(html: str) -> str:
    return re.search(r'<select name="server".*?</select>', html, re.S)[0]


def test_without_a_model_server_there_is_no_default(researcher_client, settings):
    settings.TIEBREAK_MODEL_SERVERS = {}
    study = make_study(instances=1, member=researcher_client.researcher)
    Generation.objects.all().delete()
    html = researcher_client.get(at(study)).content.decode()
    assert re.findall(r'<option value="(.*?)"', server_field(html)) == ["", "fake"]
    assert "selected" not in server_field(html).replace('value="" selected', "")
    assert "TIEBREAK_MODEL_SERVERS" in fields_of(html)["server"]
    without_server = {"samples": 3, "seed": 0, "instances": 4}
    for form in (without_server, without_server | {"server": ""}):
        assert researcher_client.post(at(study, "sample"), form).status_code == 400
    assert not Job.objects.exists()
    assert not Generation.objects.exists()


def test_dummy_texts_are_never_preselected(researcher_client, settings):
    study = make_study(instances=1, member=researcher_client.researcher)
    Generation.objects.all().delete()
    researcher_client.post(at(study, "sample"), SAMPLE)
    assert Generation.objects.filter(is_dummy=True).count() == 6
    assert '"fake" selected' not in server_field(researcher_client.get(at(study)).content.decode())
    settings.TIEBREAK_MODEL_SERVERS = {"gpu1": {"provider": "http", "base_url": "http://g:1/v1"}}
    html = researcher_client.get(at(study)).content.decode()
    assert re.findall(r'<option value="(.*?)"', server_field(html)) == ["gpu1", "fake"]
    assert '"fake" selected' not in server_field(html)


def test_dummy_texts_are_marked_wherever_they_are_shown(researcher_client):
    study = make_study(instances=2, member=researcher_client.researcher)
    Dataset.objects.update(created_by=researcher_client.researcher)
    score_separability(study=study)
    addresses = [
        at(study) + "?pair=1",
        reverse("admin:studies_dataset_change", args=[study.dataset_id]),
        reverse("recruitment:preview", args=[study.pk]) + "?page=unit",
    ]
    for address in addresses:
        assert "data-dummy" not in researcher_client.get(address).content.decode(), address
    Generation.objects.update(is_dummy=True)
    for planned in (False, True):
        if planned:
            plan_hits(study=study)
        for address in addresses:
            assert "data-dummy" in researcher_client.get(address).content.decode(), address


def test_dummy_texts_are_removed_once_their_number_is_confirmed(researcher_client):
    study = make_study(instances=2, member=researcher_client.researcher)
    Generation.objects.update(is_dummy=True)
    html = researcher_client.get(at(study) + "?pair=1").content.decode()
    assert '<input type="hidden" name="number" value="20">' in html
    for number in ("", "19", "x" * 9, "٢٠"):
        page = researcher_client.post(at(study, "remove-dummies"), {"number": number}, follow=True)
        assert codes_on(page) == {"dummies_changed"}
    assert Generation.objects.count() == 20
    researcher_client.post(at(study, "remove-dummies"), {"number": "20"})
    assert not Generation.objects.exists()
    assert "dummies-heading" not in researcher_client.get(at(study) + "?pair=1").content.decode()


def test_dummy_texts_are_counted_and_the_prompt_is_kept_for_the_next_job(researcher_client):
    study = make_study(instances=1, member=researcher_client.researcher)
    assert "dummies-heading" not in researcher_client.get(at(study) + "?pair=1").content.decode()
    Generation.objects.all().delete()
    form = {"server": "fake", "samples": 4, "seed": 0, "instances": 4, "prompt": "Sum up: {source}"}
    researcher_client.post(at(study, "sample"), form)
    page = researcher_client.get(at(study) + "?pair=1")
    assert page.context["dummies"].texts == 8
    assert "dummies-heading" in page.content.decode()
    assert "Sum up: {source}</textarea>" in page.content.decode()


def test_texts_side_by_side_have_their_systems_names_over_them(researcher_client):
    study = make_study(instances=1, member=researcher_client.researcher)
    score_separability(study=study)
    html = researcher_client.get(at(study) + "?pair=1").content.decode()
    headings_and_texts = re.findall(r"<h4>(.*?)</h4><p class=\"text\".*?>(Text.*?)</p>", html)
    shown = [(name, re.sub(r"<[^>]+>", "", text)) for name, text in headings_and_texts]
    assert shown == [("system-0", "Text 0 0 0."), ("system-1", "Text 0 1 0.")] * 2


DESIGN = {
    "design": "top",
    "instances": "2",
    "control_share": "0",
    "weights": "floored",
    "floor": "0.1",
    "seed": "1",
}


def test_a_draw_that_cannot_be_planned_keeps_the_previous_draw(researcher_client):
    study = make_study(instances=8, comparisons_per_hit=1, member=researcher_client.researcher)
    score_separability(study=study)
    post_confirmed(researcher_client, at(study, "draw"), DESIGN)
    assert study.selected.exists()
    drawn = set(study.selected.values_list("instance", "phase"))
    study.criteria.all().delete()
    refused = post_confirmed(researcher_client, at(study, "draw"), DESIGN | {"instances": "6"})
    assert errors_of(refused, "design_form", code="incomplete_design")
    post_confirmed(researcher_client, at(study, "take-all"))
    assert set(study.selected.values_list("instance", "phase")) == drawn
    assert set(study.units.values_list("instance", flat=True)) == {
        instance for instance, _ in drawn
    }


def test_a_floor_that_hides_every_separability_is_refused(researcher_client):
    study = make_study(instances=8, member=researcher_client.researcher)
    score_separability(study=study)
    odd = DESIGN | {"design": "proportional", "floor": "1e308"}
    for answer in (
        researcher_client.get(at(study), odd),
        researcher_client.post(at(study, "draw"), odd),
    ):
        assert answer.context["design_form"].has_error("floor", code="max_value")
    assert not study.selected.exists()


def test_an_unfinished_job_is_listed_however_old_it_is(researcher_client):
    study = make_study(instances=1, member=researcher_client.researcher)
    old = Job.objects.create(owner=study.pk, kind="sampling", status="running")
    for _ in range(8):
        Job.objects.create(
            owner=study.pk,
            kind="scoring",
            status="done",
            finished_at=timezone.now(),
        )
    html = researcher_client.get(part(study, "generate-select-jobs")).content.decode()
    assert f'value="{old.public_id}"' in html
    assert 'hx-get="' + part(study, "generate-select-jobs") + '"' in html
    assert html.count("<li ") == 6


def test_an_unknown_job_is_refused(researcher_client):
    study = make_study(instances=1, member=researcher_client.researcher)
    for odd in ("", "\0", "x" * 500):
        answer = researcher_client.post(at(study, "pause"), {"job": odd}, follow=True)
        assert codes_on(answer) == {"no_such_job"}


def test_an_open_study_has_no_selection_preview(researcher_client):
    study = make_open_study(instances=4, member=researcher_client.researcher)
    score_separability(study=study)
    page = researcher_client.get(part(study, "selection-preview"), DESIGN)
    assert (page.context["is_draft"], page.context["previews"]) == (False, None)


BY_DOUBT = {"design": "doubt", "instances": 40, "control_share": 0.25, "weights": "floored"}
BY_DOUBT |= {"floor": 0.1, "seed": 1}


def test_a_draw_by_doubt_is_previewed_with_what_the_pilot_shows_and_drawn(
    researcher_client, tmp_path
):
    pilot = import_pilot(tmp_path)
    Membership.objects.create(study=pilot, user=researcher_client.researcher)
    draft = draft_of(pilot)
    address = reverse("metrics:selection-preview", args=[draft.pk])
    page = researcher_client.get(address, BY_DOUBT | {"pilot": pilot.pk})
    ((_, preview, planned),) = page.context["previews"]["rows"]
    assert (preview.instances, preview.of, preview.control, planned.units) == (40, 120, 10, 40)
    assert preview.delta is None
    assert preview.note in html.unescape(page.text)
    assert "None" not in page.text
    entered = dict(page.context["previews"]["design"])
    post_confirmed(researcher_client, at(draft, "draw"), entered)
    assert draft.selected.count() == 40
    assert InstanceSelection.objects.get(study=draft).pilot == pilot
    page = researcher_client.get(at(draft))
    assert f'<option value="{pilot.pk}" selected>' in page.text
    assert "Do not conclude that machine raters are right" in page.text


def test_a_preview_with_a_pilot_compares_all_ways_of_choosing(researcher_client, tmp_path):
    pilot = import_pilot(tmp_path)
    Membership.objects.create(study=pilot, user=researcher_client.researcher)
    draft = draft_of(pilot)
    asked = BY_DOUBT | {"pilot": pilot.pk, "design": "length"}
    page = researcher_client.get(part(draft, "selection-preview"), asked)
    shown = page.context["previews"]["gains"]
    assert [way.design for way, _ in shown] == InstanceSelection.Design.labels
    for way, gains in shown:
        assert way.design.capitalize() in html.unescape(page.text)
        assert bool(gains) != bool(way.refusal)
        assert way.refusal in html.unescape(page.text)
    saves = [
        way.design
        for way, of in shown
        if way.gains and any(one.low > 1 for one in way.gains.values())
    ]
    finding = page.context["previews"]["pilot_finding"]
    assert all(design in finding for design in saves)
    assert (finding == PILOT_SAVES_NOTHING) == (not saves)
    assert finding in html.unescape(page.text)
    without = researcher_client.get(part(draft, "selection-preview"), asked | {"pilot": ""})
    assert without.context["previews"]["gains"] == []


def test_a_draw_by_doubt_is_refused_where_the_pilot_shows_no_gain(researcher_client, tmp_path):
    pilot = import_pilot(tmp_path, guesses=True)
    Membership.objects.create(study=pilot, user=researcher_client.researcher)
    draft = draft_of(pilot)
    address = reverse("metrics:selection-preview", args=[draft.pk])
    page = researcher_client.get(address, BY_DOUBT | {"pilot": pilot.pk})
    assert errors_of(page, "design_form", code="gain_not_shown")
    assert page.context["previews"] is None
    page = researcher_client.get(address, BY_DOUBT)
    assert errors_of(page, "design_form", code="no_pilot")


def test_studies_of_others_and_of_other_datasets_are_no_pilots(researcher_client, tmp_path):
    pilot, member = import_pilot(tmp_path), researcher_client.researcher
    draft = draft_of(pilot)
    Membership.objects.create(study=draft, user=member)
    make_study(member=member)
    page = researcher_client.get(at(draft))
    assert "pilot" not in page.context["design_form"].fields
    assert "machine raters doubt</em>" not in page.text
    page = researcher_client.get(at(draft), BY_DOUBT | {"pilot": pilot.pk})
    assert errors_of(page, "design_form", code="no_pilot")
    Membership.objects.create(study=pilot, user=member, role=Membership.Role.ANALYST)
    page = researcher_client.get(at(draft))
    assert list(page.context["design_form"].fields["pilot"].queryset) == [pilot]
    assert "machine raters doubt</em>" in page.text


def test_examples_have_normalised_separability_and_their_scenario(researcher_client):
    study = make_study(instances=6, member=researcher_client.researcher)
    score_separability(study=study)
    page = researcher_client.get(part(study, "generate-select-results"))
    exported = {row["instance"]: row for row in separability_rows(study)}
    shown = page.context["pair"]
    for _, rows in shown["extremes"]:
        for row in rows:
            of = exported[row["score"].instance.key]
            assert (row["normalised"], row["scenario"]) == (of["separability"], of["scenario"])
            assert row["scenario"] in page.content.decode()
    assert shown["figure"].sentence in html.unescape(page.content.decode())
