"""Generate & select reads in order: what there is of each stage, what comes next, and a trial."""

import pytest
from django.urls import reverse
from lxml.html import fromstring

from annotation.services.planning import draw_and_plan, plan_hits
from jobs.models import Job
from metrics.planning.separability_figure import selection_chart
from metrics.planning.stages import stages_of
from studies.instance_selection.scoring import score_separability
from studies.models import Generation, InstanceSelection, Study, System
from tests.api.clients import at as address, problem_of, program
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.judging.test_judging import judge_for
from tests.pages import codes_on
from tests.studies.factories import make_open_study, make_study

__all__ = ["model"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def ruth(client, django_user_model):
    user = django_user_model.objects.create_superuser("ruth", password="a long password")
    client.force_login(user)
    return user


def at(study: Study, action: str = "") -> str:
    if action:
        return reverse("metrics:selection-action", args=[study.pk, action])
    return reverse("metrics:generate-select", args=[study.pk])


def draw(study: Study, number: int) -> None:
    design = InstanceSelection(study=study, design="top", instances=number, control_share=0)
    draw_and_plan(study=study, design=design)


def test_what_comes_next_follows_what_is_there():
    study = make_study(instances=6)
    texts = list(Generation.objects.all())
    Generation.objects.all().delete()
    study.study_systems.all().delete()
    assert stages_of(study).next == "systems"
    study = make_study(instances=6)
    Generation.objects.filter(system__name="system-1").delete()
    assert stages_of(study).next == "generate"
    study = make_study(instances=6)
    assert (stages_of(study).texts, stages_of(study).next) == (60, "score")
    score_separability(study=study)
    assert (stages_of(study).scored, stages_of(study).next) == (6, "draw")
    draw(study, 4)
    stages = stages_of(study)
    assert (stages.drawn, stages.units, stages.hits, stages.places) == (4, 20, 4, 12)
    assert stages.next == ""
    assert len(texts) == 60


def test_one_text_of_each_system_is_nothing_to_score():
    study = make_study(instances=4, samples=1, comparisons_per_hit=1)
    assert (stages_of(study).most_samples, stages_of(study).next) == (1, "draw")
    plan_hits(study=study)
    assert stages_of(study).next == ""
    assert stages_of(make_open_study(instances=2)).next == ""


def test_imported_texts_are_told_from_those_made_here():
    study = make_study(instances=2, samples=2)
    Generation.objects.filter(system__name="system-1").update(params={"server": "lab"})
    assert [(row.texts, row.imported) for row in stages_of(study).systems] == [
        (4, True),
        (4, False),
    ]


def test_every_stage_is_on_the_page_in_order(client, ruth):
    study = make_study(instances=6, member=ruth)
    page = client.get(at(study)).content.decode()
    headings = [
        page.index(f'id="{name}"') for name in ("next", "generate", "score", "draw", "plan")
    ]
    assert headings == sorted(headings)
    assert page.count('class="chart') == 0


@pytest.mark.parametrize(
    ("made", "texts", "offered"),
    [
        ([], [], set()),
        (["system-0", "system-1"], [], {"sample", "try"}),
        (["system-0", "system-1"], ["system-0"], {"sample", "try"}),
        (["system-0", "system-1"], ["system-0", "system-1"], {"sample", "try", "score", "preview"}),
        ([], ["system-0", "system-1"], {"score", "preview"}),
    ],
)
def test_only_what_can_be_done_is_offered(client, ruth, made, texts, offered):
    study = make_study(instances=4, member=ruth)
    Generation.objects.exclude(system__name__in=texts).delete()
    Generation.objects.filter(system__name__in=made).update(params={"server": "lab"})
    study.study_systems.exclude(system__name__in=[*made, *texts]).delete()
    page = fromstring(client.get(at(study)).content)
    addresses = {*page.xpath("//form/@action"), *page.xpath("//button/@formaction")}
    shown = {name for name in ("sample", "try", "score") if at(study, name) in addresses}
    shown |= {"preview" for _ in page.xpath("//*[@id='preview-selection']")}
    assert shown == offered
    assert (at(study, "take-all") in addresses) == ("preview" in offered)


def test_scores_are_offered_while_some_are_missing(client, ruth):
    study = make_study(instances=4, member=ruth)

    def offered():
        page = fromstring(client.get(at(study)).content)
        section = page.get_element_by_id("score")
        possible = section.xpath(".//option[not(@disabled)]/@value")
        return {"rouge1", "bleu"} & {*possible}, bool(section.xpath("./form"))

    assert offered() == ({"rouge1", "bleu"}, True)
    score_separability(study=study)
    assert offered() == ({"bleu"}, False)
    score_separability(study=study, similarity_name="bleu")
    assert offered() == (set(), False)
    text = Generation.objects.filter(system__name="system-1").first()
    text.pk, text.sample_index = None, 99
    text.save()
    assert offered() == ({"rouge1", "bleu"}, True)


def test_the_chosen_part_is_marked_where_it_is_drawn_or_proposed(client, ruth):
    study = make_study(instances=8, member=ruth)
    score_separability(study=study)
    assert not selection_chart(study, list(study.selected.all()))
    design = {"design": "top", "instances": 3, "control_share": 0, "weights": "floored"}
    part = reverse("metrics:selection-preview", args=[study.pk])
    proposed = client.get(part, design | {"floor": 0.1, "seed": 1}).context["chosen"]
    assert proposed.finding.startswith("3 of 8 ")
    draw(study, 5)
    drawn = client.get(at(study)).context["chosen"]
    assert drawn.finding.startswith("5 of 8 ")
    assert [name for _, name in drawn.legend] == ["chosen", "not chosen"]


@pytest.fixture
def tried(model, client, ruth):
    """Return a study whose second system is tried by the page."""
    model(lambda request: "A short text.")
    study = make_study(instances=4, member=ruth)
    Generation.objects.all().delete()
    System.objects.update(server="here", language_model="tiny")
    form = {"server": "here", "samples": 2, "seed": 0, "instances": 4, "system": "system-1"}
    assert client.post(at(study, "try"), form).status_code == 302
    return study


def test_a_trial_says_what_all_texts_take(client, tried):
    trial = client.get(at(tried)).context["trial"]
    assert (trial["system"], len(trial["texts"]), trial["total"]) == ("system-1", 3, 8)
    assert trial["whole"]["tokens"] == 24
    assert (trial["whole"]["amount"], bool(trial["whole"]["unknown_because"])) == (None, True)
    html = client.get(at(tried)).content.decode()
    assert html.count("A short text.") == 3
    assert not Generation.objects.exists()


def test_a_trial_costs_what_a_judge_of_the_same_model_would(client, tried):
    priced = {"server": "here", "language_model": "tiny"}
    judge_for(tried, prompt_price="1000", answer_price="1000", **priced)
    job = Job.objects.get(kind="system-trial")
    for text in job.result["texts"]:
        text |= {"prompt_tokens": 100, "tokens": 6}
    job.save()
    whole = client.get(at(tried)).context["trial"]["whole"]
    # 4 prompts of 100 tokens and 8 texts of 6, a thousandth for each token
    assert (whole["prompt_tokens"], whole["tokens"], whole["amount"]) == (400, 48, "0.4480")


def test_a_program_tries_a_system_as_the_page_does(client, ruth, tried):
    page = client.get(at(tried)).context["trial"]
    by_program, key = program(ruth), tried.pk
    body = {"server": "here", "samples": 2, "system": "system-1"}

    def post(**changed):
        answer = by_program.post(address("job-trial", key), body | changed, "application/json")
        return answer.status_code, answer.json()

    status, job = post()
    assert (status, job["kind"], job["status"], job["done"]) == (201, "system-trial", "done", 3)
    texts = job["result"]["texts"]
    assert [text["text"] for text in texts] == [text["text"] for text in page["texts"]]
    found = by_program.get(address("job-trial-forecast", key)).json()
    whole = {name: page["whole"][name] for name in ("prompt_tokens", "tokens", "amount")}
    assert found | whole == found
    assert (found["job"], found["system"], found["texts"]) == (job["id"], "system-1", 8)
    assert found["unknown_because"] == page["whole"]["unknown_because"]
    assert not Generation.objects.exists()
    assert post(system="none")[1]["code"] == "unknown_system"
    assert post(server="x")[0] == 400


def test_without_a_trial_there_is_no_forecast(ruth):
    study = make_study(instances=2, member=ruth)
    refusal = program(ruth).get(address("job-trial-forecast", study.pk))
    assert problem_of(refusal) == (404, "not_tried")


@pytest.mark.parametrize(
    ("changed", "code"), [({"system": "none"}, "unknown_system"), ({"server": "x"}, "")]
)
def test_a_refused_trial_keeps_the_form(client, ruth, changed, code):
    study = make_study(instances=4, member=ruth)
    Generation.objects.all().delete()
    form = {"server": "fake", "samples": 3, "seed": 9, "instances": 4, "system": "system-1"}
    page = client.post(at(study, "try"), form | changed)
    assert page.status_code == 400
    shown = page.context["sampling_form"]
    assert shown["seed"].value() == "9"
    assert not code or shown.has_error("__all__", code=code)
    assert not Job.objects.exists()


def test_what_a_job_made_is_counted_when_it_ends(client, ruth):
    study = make_study(instances=4, member=ruth)
    Generation.objects.all().delete()
    form = {"server": "fake", "samples": 2, "seed": 0, "instances": 4}
    client.post(at(study, "sample"), form)
    part = client.get(reverse("metrics:generate-select-jobs", args=[study.pk])).content.decode()
    for name in ("next", "made", "scored"):
        assert f'id="{name}"' in part
    assert part.count('hx-swap-oob="true"') == 3
    assert codes_on(client.get(at(study))) == set()


def test_tasks_of_every_instance_are_planned_without_a_question(client, ruth):
    study = make_study(instances=4, member=ruth)
    client.post(at(study, "take-all"))
    assert stages_of(study).hits == 4
    assert client.post(at(study, "take-all")).status_code == 200  # it would replace them
