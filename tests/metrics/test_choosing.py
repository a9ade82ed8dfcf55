"""The page where instances are chosen."""

import re
import sys

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.services.planning import plan_hits
from metrics.choosing import _marked
from studies.models import Dataset, Generation, Job, Membership, SeparabilityScore
from studies.scoring import score_separability
from tests.confirming import post_confirmed
from tests.studies.factories import make_open_study, make_study
from tiebreak.similarity import EntityJaccard

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(client, django_user_model):
    client.researcher = django_user_model.objects.create_user("rea", is_staff=True)
    client.force_login(client.researcher)
    return client


def at(study, verb: str = "") -> str:
    names = [study.pk, verb] if verb else [study.pk]
    return reverse("metrics:choose" if verb else "metrics:choosing", args=names)


def test_it_works(desk):
    study = make_study(instances=8, member=desk.researcher)
    assert "Nothing is scored" in desk.get(at(study)).content.decode()
    score_separability(study=study)
    design = "?design=uniform&instances=4&control_share=0.5&weights=floored&floor=0.1&seed=1"
    html = desk.get(at(study) + design).content.decode()
    assert "8 instances scored" in html
    assert "4 of 8" in html
    assert not study.selected.exists()  # looking draws nothing


@pytest.mark.parametrize(
    ("design", "cost"),
    [
        # 4 of 8 instances for each of 3 pairs, each for 3 annotators, at 2 a HIT.
        ({"comparisons_per_hit": 5}, "72.00"),
        # 12 units in HITs of 5: three HITs.
        ({"comparisons_per_hit": 5, "bundling": "mixed"}, "18.00"),
    ],
)
def test_the_cost_is_that_of_the_hits_that_are_planned(desk, design, cost):
    study = make_study(
        instances=8,
        systems=3,
        member=desk.researcher,
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
    assert f"for about {cost} GBP" in desk.get(at(study), wanted).content.decode()
    post_confirmed(desk, at(study, "draw"), wanted)
    assert study.places.count() * 2 == float(cost)


def test_a_pair_without_scores_is_named_before_anything_is_drawn(desk):
    study = make_study(instances=4, systems=3, member=desk.researcher)
    score_separability(study=study)
    SeparabilityScore.objects.filter(system_b__name="system-2").delete()
    design = "?design=uniform&instances=2&control_share=0.5&weights=floored&floor=0.1&seed=1"
    html = desk.get(at(study) + design).content.decode()
    assert "for system-0 and system-2; system-1 and system-2: score them first" in html
    assert "Draw these" not in html


def test_a_job_that_was_stopped_offers_no_going_on(desk):
    study = make_study(instances=1, member=desk.researcher)
    job = Job.objects.create(study=study, dataset=study.dataset, kind="sampling")
    desk.post(at(study, "stop"), {"job": job.public_id})
    html = desk.get(at(study)).content.decode()
    assert "Stopped by a researcher." in html
    assert "Go on" not in html
    said = desk.post(at(study, "resume"), {"job": job.public_id}, follow=True).content.decode()
    assert "Start a new one" in said


DRAW = {
    "design": "top",
    "instances": 9,
    "control_share": 0.2,
    "weights": "floored",
    "floor": 0.3,
    "seed": 77,
}
SAMPLE = {"server": "fake", "samples": 3, "seed": 77, "instances": 4, "prompt": "Sum up {source}"}


def fields_of(html: str) -> dict[str, str]:
    """By its label, what stands at each field."""
    found = re.findall(r'<div class="field"><label[^>]*>(.*?):?</label>(.*?)</div>', html, re.S)
    return dict(found)


@pytest.mark.parametrize(
    ("verb", "form", "label", "says", "kept"),
    [
        ("sample", SAMPLE | {"samples": 1}, "Generations each (K)", "greater than", 'value="77"'),
        ("sample", SAMPLE | {"server": "http://10.0.0.1"}, "Server", "Select a valid", "Sum up {"),
        ("sample", SAMPLE | {"temperatures": "hot"}, "Other temperatures (τ)", "List up", '"hot"'),
        ("score", {"similarity": "none"}, "Similarity", "Select a valid choice", ""),
        ("draw", DRAW | {"control_share": 2}, "Control share", "less than or equal", '"77"'),
    ],
)
def test_a_refused_form_keeps_what_was_entered_and_says_at_which_field(
    desk, *, verb, form, label, says, kept
):
    study = make_study(instances=4, member=desk.researcher)
    answer = desk.post(at(study, verb), form)
    html = answer.content.decode()
    assert answer.status_code == 400
    assert kept in html
    said = {name for name, field in fields_of(html).items() if "errorlist" in field}
    assert said == {label}
    assert says in fields_of(html)[label]
    assert "autofocus" in fields_of(html)[label]
    assert html.count("autofocus") == 1
    assert not Job.objects.exists()


def test_what_a_service_refuses_is_said_in_its_form(desk):
    study = make_study(instances=4, member=desk.researcher)
    html = desk.post(at(study, "draw"), DRAW).content.decode()
    assert "score them first" in html.partition('id="draw"')[2]
    assert 'name="seed" value="77"' in html
    assert 'tabindex="-1" autofocus' in html
    Job.objects.create(study=study, dataset=study.dataset, kind="sampling")
    Generation.objects.update(is_dummy=True)
    html = desk.post(at(study, "sample"), SAMPLE).content.decode()
    assert "let it go on, or stop it first" in html.partition("score-heading")[0]
    assert "Sum up {source}</textarea>" in html


def test_a_draw_that_is_refused_because_the_study_opened_says_so(desk):
    study = make_open_study(instances=4, member=desk.researcher)
    html = desk.post(at(study, "draw"), DRAW | {"instances": 2}).content.decode()
    assert "Clone the study to draw others." in html


def test_the_address_of_a_refused_form_leads_back_to_the_page(desk):
    study = make_study(instances=1, member=desk.researcher)
    assert desk.get(at(study, "sample"))["Location"] == at(study)
    # The links of the page that is shown there work as well.
    assert 'href="?' not in desk.post(at(study, "sample"), {}).content.decode()


def part(study, name: str) -> str:
    return reverse(f"metrics:choosing-{name}", args=[study.pk])


def test_only_the_jobs_are_asked_for_again_and_only_while_they_run(desk):
    study = make_study(instances=1, member=desk.researcher)
    job = Job.objects.create(study=study, dataset=study.dataset, kind="sampling", total=9)
    html = desk.get(at(study)).content.decode()
    assert 'http-equiv="refresh"' not in html
    assert html.count("every 2s") == 1
    moving = desk.get(part(study, "jobs"))
    assert "0 of 9" in moving.content.decode()
    assert "every 2s" in moving.content.decode()
    assert "HX-Trigger" not in moving
    for form in ("sample_server", "score_similarity", "id_design"):
        assert form in html
        assert form not in moving.content.decode()
    Job.objects.filter(pk=job.pk).update(status="done", done=9)
    ended = desk.get(part(study, "jobs"))
    assert "every 2s" not in ended.content.decode()
    assert "jobs-ended" in ended["HX-Trigger"]


def test_what_jobs_made_is_shown_as_it_was_asked_for(desk):
    study = make_study(instances=3, member=desk.researcher)
    score_separability(study=study)
    score_separability(study=study, similarity_name="bleu")
    address = f"{part(study, 'results')}?similarity=bleu"
    assert f'hx-get="{address}"' in desk.get(at(study) + "?similarity=bleu").content.decode()
    html = desk.get(address).content.decode()
    assert "δ by <strong>BLEU</strong>" in html
    assert "<form" not in html


def test_a_job_is_paused_without_loading_the_page_anew(desk):
    study = make_study(instances=1, member=desk.researcher)
    job = Job.objects.create(study=study, dataset=study.dataset, kind="sampling")
    headers = {"HX-Request": "true"}
    html = desk.post(at(study, "pause"), {"job": job.public_id}, headers=headers).content.decode()
    assert "Paused" in html
    assert "The job pauses" in html
    assert "<html" not in html


def test_jobs_are_told_apart_by_what_they_were_asked(desk):
    study = make_study(instances=1, member=desk.researcher)
    options = {"server": "gpu1", "samples": 7, "seed": 3, "temperatures": [], "instances": 50}
    jobs = [
        ("sampling", options),
        ("sampling", options | {"server": "fake", "temperatures": [0.3, 1.0]}),
        ("scoring", {"similarity": "bertscore", "encoder": "roberta-large"}),
        ("scoring", {}),
    ]
    for kind, asked in jobs:
        Job.objects.create(study=study, dataset=study.dataset, kind=kind, options=asked)
    html = desk.get(at(study)).content.decode()
    assert "server gpu1, K = 7, each system&#x27;s own τ, seed 3" in html
    assert "dummy texts, K = 7, τ = 0.3, 1 on 50 instances, seed 3" in html
    assert "BERTScore, encoder roberta-large" in html
    assert ">ROUGE-1<" in html


def test_a_similarity_that_is_not_installed_is_shown_with_what_to_install(desk, monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    study = make_study(instances=1, member=desk.researcher, similarity=EntityJaccard.name)
    name = EntityJaccard.name
    html = desk.get(at(study)).content.decode()
    assert f'<option value="{name}" disabled>entity Jaccard (not installed)</option>' in html
    assert '<option value="rouge1">' in html
    assert (
        "Install it with: pip install &#x27;tiebreak[entities]&#x27;"
        in fields_of(html)["Similarity"]
    )
    refused = desk.post(at(study, "score"), {"similarity": name})
    assert refused.status_code == 400
    assert not Job.objects.exists()


def test_06_a_model_servers_address_comes_from_no_page(desk, settings):
    settings.TIEBREAK_MODEL_SERVERS = {}
    study = make_study(instances=1, member=desk.researcher)
    for server in ("http://169.254.169.254", "gpu1"):
        form = {"server": server, "samples": 3, "seed": 0}
        desk.post(at(study, "sample"), form)
    assert not Job.objects.exists()


def test_an_open_study_keeps_its_instances(desk):
    study = make_open_study(instances=4, member=desk.researcher)
    assert "its instances stand" in desk.get(at(study)).content.decode()
    said = desk.post(at(study, "take-all"), follow=True).content.decode()
    assert "stand" in said


def test_07_another_researchers_study_does_not_exist(desk):
    study = make_study(instances=2)
    Generation.objects.all().delete()
    assert desk.get(at(study)).status_code == 404
    for name in ("jobs", "results", "draw"):
        assert desk.get(part(study, name)).status_code == 404
    for verb in (
        "sample",
        "score",
        "draw",
        "take-all",
        "pause",
        "resume",
        "stop",
        "remove-dummies",
    ):
        assert desk.post(at(study, verb)).status_code == 404
    assert not Generation.objects.exists()


def test_07_a_job_of_another_study_is_not_touched(desk):
    own, other = make_study(instances=1, member=desk.researcher), make_study(instances=1)
    job = Job.objects.create(study=other, dataset=other.dataset, kind="sampling")
    desk.post(at(own, "pause"), {"job": job.public_id})
    job.refresh_from_db()
    assert job.status == "queued"


def test_a_systems_model_and_decoding_are_set_with_the_dataset(desk):
    study = make_study(instances=1, member=desk.researcher)
    Dataset.objects.update(created_by=desk.researcher)
    systems = list(study.dataset.systems.order_by("name"))
    values = {"name": "Notes", "notes": "", "systems-TOTAL_FORMS": 2, "systems-INITIAL_FORMS": 2}
    for n, system in enumerate(systems):
        values |= {
            f"systems-{n}-id": system.pk,
            f"systems-{n}-dataset": study.dataset_id,
            f"systems-{n}-name": system.name,
            f"systems-{n}-language_model": f"model-{n}",
            f"systems-{n}-prompt_template": "Summarise: {source}",
            f"systems-{n}-decoding": '{"temperature": 0.7}',
        }
    address = reverse("admin:studies_dataset_change", args=[study.dataset_id])
    assert desk.post(address, values).status_code == 302
    systems[0].refresh_from_db()
    assert (systems[0].language_model, systems[0].decoding) == ("model-0", {"temperature": 0.7})
    bad = values | {"systems-0-decoding": '{"trust_remote_code": true}'}
    assert "no other settings" in desk.post(address, bad).content.decode()
    assert Membership.objects.count() == 1
    assert "model-0" in desk.get(address).content.decode()


def test_a_system_may_have_a_server_of_its_own(desk, settings):
    settings.TIEBREAK_MODEL_SERVERS = {"gpu1": {"provider": "http", "base_url": "http://g:1/v1"}}
    study = make_study(instances=1, member=desk.researcher)
    Dataset.objects.update(created_by=desk.researcher)
    html = desk.get(reverse("admin:studies_dataset_change", args=[study.dataset_id]))
    assert '<option value="gpu1">gpu1</option>' in html.content.decode()
    assert "g:1" not in html.content.decode()


def test_other_temperatures_are_sampled_on_some_instances_and_shown_beside_the_own(desk):
    study = make_study(instances=8, member=desk.researcher)
    score_separability(study=study)
    Generation.objects.update(is_dummy=True)
    form = {"server": "fake", "samples": 3, "seed": 0, "instances": 4, "temperatures": "0.3, 1"}
    desk.post(at(study, "sample"), form)
    assert Generation.objects.exclude(system__variant_of=None).count() == 2 * 2 * 4 * 3
    desk.post(at(study, "score"), {"similarity": study.similarity})
    html = desk.get(at(study) + "?robustness=1").content.decode()
    assert "τ = 0.3" in html
    assert "τ = 1<" in html
    for odd in ("hot", "0", "-1", "3", " ".join(f"0.{n}" for n in range(1, 10))):
        said = desk.post(at(study, "sample"), form | {"temperatures": odd}, follow=True)
        assert "numbers above 0 and up to 2" in said.content.decode()


def test_what_is_scored_otherwise_is_a_link_away(desk):
    study = make_study(instances=3, member=desk.researcher)
    score_separability(study=study)
    assert "Scored too" not in desk.get(at(study)).content.decode()
    score_separability(study=study, similarity_name="bleu")
    html = desk.get(at(study)).content.decode()
    assert f'<a href="{at(study)}?similarity=bleu#pair-1">BLEU</a>' in html
    html = desk.get(at(study) + "?similarity=bleu").content.decode()
    assert "δ by <strong>BLEU</strong>" in html
    assert "Instances are drawn by ROUGE-1" in html
    assert "δ by <strong>ROUGE-1" in desk.get(at(study) + "?similarity=<b>").content.decode()


def test_differences_of_long_texts_are_marked_at_their_beginning(monkeypatch):
    monkeypatch.setattr("metrics.choosing.MOST_MARKED", 100)
    text = "one " * 5_000 + "end"
    marked = _marked(text, "two " * 5_000)
    assert marked.count("<mark>") == 50  # of 100 words and spaces
    assert marked.endswith("end</span>")
    assert "".join(re.split(r"<[^>]+>", marked)) == text


def test_taking_every_instance_after_all_plans_them(desk):
    study = make_study(instances=6, comparisons_per_hit=1, member=desk.researcher)
    score_separability(study=study)
    draw = {"design": "top", "instances": 2, "control_share": 0, "weights": "floored"}
    post_confirmed(desk, at(study, "draw"), {**draw, "floor": 0.1, "seed": 0})
    assert study.hits.count() == 2
    post_confirmed(desk, at(study, "take-all"))
    assert study.hits.count() == 6
    assert not study.units.exclude(phase="all").exclude(phase="").exists()


def test_a_prompt_without_the_source_is_refused(desk):
    study = make_study(instances=1, member=desk.researcher)
    form = {
        "server": "fake",
        "samples": 3,
        "seed": 0,
        "instances": 4,
        "prompt": "Summarise {sauce}",
    }
    said = desk.post(at(study, "sample"), form, follow=True).content.decode()
    assert "Write {source} where" in said
    assert not Job.objects.exists()


def server_field(html: str) -> str:
    return re.search(r'<select name="server".*?</select>', html, re.S)[0]


def test_without_a_model_server_there_is_no_default(desk, settings):
    settings.TIEBREAK_MODEL_SERVERS = {}
    study = make_study(instances=1, member=desk.researcher)
    Generation.objects.all().delete()
    html = desk.get(at(study)).content.decode()
    assert re.findall(r'<option value="(.*?)"', server_field(html)) == ["", "fake"]
    assert "selected" not in server_field(html).replace('value="" selected', "")
    assert "TIEBREAK_MODEL_SERVERS" in fields_of(html)["Server"]
    unasked = {"samples": 3, "seed": 0, "instances": 4}
    for form in (unasked, unasked | {"server": ""}):
        assert desk.post(at(study, "sample"), form).status_code == 400
    assert not Job.objects.exists()
    assert not Generation.objects.exists()


def test_dummy_texts_are_never_preselected(desk, settings):
    study = make_study(instances=1, member=desk.researcher)
    Generation.objects.all().delete()
    desk.post(at(study, "sample"), SAMPLE)
    assert Generation.objects.filter(is_dummy=True).count() == 6
    assert '"fake" selected' not in server_field(desk.get(at(study)).content.decode())
    settings.TIEBREAK_MODEL_SERVERS = {"gpu1": {"provider": "http", "base_url": "http://g:1/v1"}}
    html = desk.get(at(study)).content.decode()
    assert re.findall(r'<option value="(.*?)"', server_field(html)) == ["gpu1", "fake"]
    assert '"fake" selected' not in server_field(html)


def test_dummy_texts_are_marked_wherever_they_are_shown(desk):
    study = make_study(instances=2, member=desk.researcher)
    Dataset.objects.update(created_by=desk.researcher)
    score_separability(study=study)
    addresses = {
        at(study): "· dummy text<",
        reverse("admin:studies_dataset_change", args=[study.dataset_id]): "dummy text</strong>",
        reverse("recruitment:preview", args=[study.pk]) + "?page=unit": "Dummy texts",
    }
    for address, mark in addresses.items():
        assert mark not in desk.get(address).content.decode(), address
    Generation.objects.update(is_dummy=True)
    for planned in (False, True):
        if planned:
            plan_hits(study=study)
        for address, mark in addresses.items():
            assert mark in desk.get(address).content.decode(), address


def test_dummy_texts_are_removed_once_their_number_is_confirmed(desk):
    study = make_study(instances=2, member=desk.researcher)
    Generation.objects.update(is_dummy=True)
    html = desk.get(at(study)).content.decode()
    assert '<input type="hidden" name="number" value="20">' in html
    for number in ("", "19", "x" * 9, "٢٠"):
        said = desk.post(at(study, "remove-dummies"), {"number": number}, follow=True)
        assert "There are 20 dummy texts now" in said.content.decode()
    assert Generation.objects.count() == 20
    desk.post(at(study, "remove-dummies"), {"number": "20"})
    assert not Generation.objects.exists()
    assert "dummy texts (testing only)" not in desk.get(at(study)).content.decode()


def test_dummy_texts_are_named_and_the_prompt_stays_for_the_next_job(desk):
    study = make_study(instances=1, member=desk.researcher)
    assert "dummy texts (testing only)" not in desk.get(at(study)).content.decode()
    Generation.objects.all().delete()
    form = {"server": "fake", "samples": 4, "seed": 0, "instances": 4, "prompt": "Sum up: {source}"}
    desk.post(at(study, "sample"), form)
    html = desk.get(at(study)).content.decode()
    assert "8 dummy texts (testing only)" in html
    assert "Sum up: {source}</textarea>" in html


def test_texts_side_by_side_have_their_systems_names_over_them(desk):
    study = make_study(instances=1, member=desk.researcher)
    score_separability(study=study)
    html = desk.get(at(study)).content.decode()
    over = re.findall(r"<h4>(.*?)</h4><p class=\"text\".*?>(Text.*?)</p>", html)
    shown = [(name, re.sub(r"<[^>]+>", "", text)) for name, text in over]
    assert shown == [("system-0", "Text 0 0 0."), ("system-1", "Text 0 1 0.")] * 2


DESIGN = {
    "design": "top",
    "instances": "2",
    "control_share": "0",
    "weights": "floored",
    "floor": "0.1",
    "seed": "1",
}


def test_a_draw_that_cannot_be_planned_leaves_the_former_one(desk):
    study = make_study(instances=8, comparisons_per_hit=1, member=desk.researcher)
    score_separability(study=study)
    post_confirmed(desk, at(study, "draw"), DESIGN)
    assert study.selected.exists()
    drawn = set(study.selected.values_list("instance", "phase"))
    study.criteria.all().delete()
    refused = post_confirmed(desk, at(study, "draw"), DESIGN | {"instances": "6"})
    assert "The study still needs a criterion" in refused.content.decode()
    post_confirmed(desk, at(study, "take-all"))
    assert set(study.selected.values_list("instance", "phase")) == drawn
    assert set(study.units.values_list("instance", flat=True)) == {each for each, _ in drawn}


def test_a_floor_beside_which_no_separability_counts_is_refused(desk):
    study = make_study(instances=8, member=desk.researcher)
    score_separability(study=study)
    odd = DESIGN | {"design": "proportional", "floor": "1e308"}
    for answer in (desk.get(at(study), odd), desk.post(at(study, "draw"), odd)):
        assert "no δ counts" in answer.content.decode()
    assert not study.selected.exists()


def test_a_job_under_way_is_listed_however_old_it_is(desk):
    study = make_study(instances=1, member=desk.researcher)
    old = Job.objects.create(study=study, dataset=study.dataset, kind="sampling", status="running")
    for _ in range(8):
        Job.objects.create(
            study=study,
            dataset=study.dataset,
            kind="scoring",
            status="done",
            finished_at=timezone.now(),
        )
    html = desk.get(part(study, "jobs")).content.decode()
    assert f'value="{old.public_id}"' in html
    assert "every 2s" in html
    assert html.count("<li>") == 6


def test_a_job_that_is_none_is_refused(desk):
    study = make_study(instances=1, member=desk.researcher)
    for odd in ("", "\0", "x" * 500):
        answer = desk.post(at(study, "pause"), {"job": odd}, follow=True)
        assert "This study has no such job" in answer.content.decode()


def test_what_it_would_bring_is_not_said_of_a_study_that_was_opened(desk):
    study = make_open_study(instances=4, member=desk.researcher)
    score_separability(study=study)
    html = desk.get(part(study, "draw"), DESIGN).content.decode()
    assert "its instances stand" in html
    assert "would bring" not in html
