"""The page where instances are chosen."""

import re

import pytest
from django.urls import reverse

from metrics.choosing import _marked
from studies.models import Dataset, Generation, Job, Membership, SeparabilityScore
from studies.scoring import score_separability
from tests.studies.factories import make_open_study, make_study

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
    desk.post(at(study, "draw"), wanted)
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


def test_a_refusal_is_shown_as_its_sentence(desk):
    study = make_study(instances=4, member=desk.researcher)
    draw = {
        "design": "top",
        "instances": 9,
        "control_share": 0.2,
        "weights": "floored",
        "floor": 0.1,
        "seed": 0,
    }
    said = desk.post(at(study, "draw"), draw, follow=True).content.decode()
    assert "score them first" in said
    said = desk.post(at(study, "sample"), {"server": "http://10.0.0.1"}, follow=True)
    assert "server: Select a valid choice" in said.content.decode()


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
    for verb in ("sample", "score", "draw", "take-all", "pause", "resume", "stop"):
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
    assert '<a href="?similarity=bleu">bleu</a>' in html
    html = desk.get(at(study) + "?similarity=bleu").content.decode()
    assert "δ by <strong>bleu</strong>" in html
    assert "Instances are drawn by rouge1" in html
    assert "δ by <strong>rouge1" in desk.get(at(study) + "?similarity=<b>").content.decode()


def test_differences_of_long_texts_are_marked_at_their_beginning():
    text = "one " * 5_000 + "end"
    marked = _marked(text, "two " * 5_000)
    assert marked.count("<mark>") == 500  # of 1,000 words and spaces
    assert marked.endswith("end</span>")
    assert "".join(re.split(r"<[^>]+>", marked)) == text


def test_taking_every_instance_after_all_plans_them(desk):
    study = make_study(instances=6, comparisons_per_hit=1, member=desk.researcher)
    score_separability(study=study)
    draw = {"design": "top", "instances": 2, "control_share": 0, "weights": "floored"}
    desk.post(at(study, "draw"), {**draw, "floor": 0.1, "seed": 0})
    assert study.hits.count() == 2
    desk.post(at(study, "take-all"))
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


def test_made_up_texts_are_named_and_the_prompt_stays_for_the_next_job(desk):
    study = make_study(instances=1, member=desk.researcher)
    assert "Made up." not in desk.get(at(study)).content.decode()
    Generation.objects.all().delete()
    form = {"server": "fake", "samples": 4, "seed": 0, "instances": 4, "prompt": "Sum up: {source}"}
    desk.post(at(study, "sample"), form)
    html = desk.get(at(study)).content.decode()
    assert "Made up." in html
    assert "Sum up: {source}</textarea>" in html


def test_texts_side_by_side_have_their_systems_names_over_them(desk):
    study = make_study(instances=1, member=desk.researcher)
    score_separability(study=study)
    html = desk.get(at(study)).content.decode()
    over = re.findall(r"<h4>(.*?)</h4><p class=\"text\".*?>(Text.*?)</p>", html)
    shown = [(name, re.sub(r"<[^>]+>", "", text)) for name, text in over]
    assert shown == [("system-0", "Text 0 0 0."), ("system-1", "Text 0 1 0.")] * 2
