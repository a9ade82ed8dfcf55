"""Judges whose server lets them write nothing but an allowed answer, and servers that cannot."""

import pytest
from django.urls import reverse

from annotation.models import Rating
from machine_raters.judging.services import try_judge
from machine_raters.kinds import KINDS
from machine_raters.models import JudgeFailure, Verdict
from machine_raters.services.machine_raters import start_machine_rater
from studies.model_servers import RequestTally
from tests.machine_raters.judging.scripted import add_training_item
from tests.machine_raters.judging.test_judging import judge_for
from tests.refusals import refused
from tests.studies.factories import make_open_study
from tests.tiebreak.gateway.stub_server import StubServer, choices_of
from tiebreak.gateway import GatewayError

pytestmark = pytest.mark.django_db

ANSWERS = ["A", "No preference", "B"]


@pytest.fixture
def serve(settings):
    """Start a server on the loopback as the server `here`."""
    running = []

    def start(**options) -> StubServer:
        stub = StubServer(**options).__enter__()
        running.append(stub)
        address = {"base_url": stub.base_url, "allowed_hosts": [stub.host]}
        server = {"provider": "http", **address, "options": {"initial_backoff_s": 0.01}}
        settings.TIEBREAK_MODEL_SERVERS = {"here": server}
        return stub

    yield start
    for stub in running:
        stub.__exit__(None, None, None)


def judged(study, **options):
    job = start_machine_rater(machine=judge_for(study, **options))
    job.refresh_from_db()
    return job


def page(client, admin_user, study) -> str:
    client.force_login(admin_user)
    return client.get(reverse("machine_raters:judges", args=[study.pk])).content.decode()


@pytest.mark.parametrize("owner", ["vllm", "other"])
def test_the_server_constrains_the_answer_to_those_of_the_scale(study, serve, owner):
    stub = serve(owner=owner)
    job = judged(study, constraint="always")
    assert (job.status, job.done, job.failed) == ("done", 8, 0)
    assert {tuple(choices_of(body)) for body in stub.generations} == {tuple(ANSWERS)}
    # The answer is always the text shown first, which is another system's in the other order.
    assert sorted(Rating.objects.values_list("label", flat=True)) == ["-1"] * 4 + ["1"] * 4
    assert set(Verdict.objects.values_list("is_constrained", flat=True)) == {True}
    raw = "A" if owner == "vllm" else '{"answer": "A"}'
    assert set(Rating.objects.values_list("raw", flat=True)) == {raw}


def test_a_constrained_judge_is_not_invited_to_think(study, serve):
    add_training_item(study, "1")
    stub = serve()
    judged(study, constraint="always", examples=1)
    system, _, example, _ = stub.generations[0]["messages"]
    assert "think first" not in system["content"]
    assert example["content"] == "B"


def test_a_server_that_refuses_is_not_asked_on_and_the_page_says_what_to_do(
    serve, client, admin_user
):
    study = make_open_study(instances=50, comparisons_per_hit=2, ratings_per_hit=1)
    stub = serve(owner="other", choices="refused")
    job = judged(study, constraint="always")
    assert job.status == "failed"
    assert Rating.objects.count() == 0
    assert len(stub.generations) < 200 <= 4 * study.units.count()
    assert set(JudgeFailure.objects.values_list("code", flat=True)) == {"no_choices"}
    assert "Use a server with structured outputs" in page(client, admin_user, study)


def test_one_refusal_is_enough_to_stop_a_job():
    tally = RequestTally(done=0)
    tally.note(GatewayError("no_choices", "No."))
    assert tally.must_stop


def test_where_a_server_cannot_the_researcher_may_choose_free_answers_which_are_counted(
    study, serve, client, admin_user
):
    serve(owner="other", choices="refused")
    job = judged(study, constraint="where_possible")
    assert (job.status, job.done) == ("done", 8)
    assert set(Verdict.objects.values_list("is_constrained", flat=True)) == {False}
    # The free texts of this server name no answer: strict reading is still in place.
    assert set(Rating.objects.values_list("label", flat=True)) == {None}
    assert "constrained 0 of 8 answers" in page(client, admin_user, study)


def test_a_server_that_ignores_the_constraint_is_noticed(study, serve):
    serve(owner="other", choices="ignored")
    judged(study, constraint="always")
    [judge] = KINDS["judge"].listed(study)
    assert judge.unparsed == 8
    [warning] = judge.progress.warnings
    assert " 8 unreadable " in warning


def test_a_dry_run_says_whether_answers_were_constrained(study, serve):
    serve(owner="other", choices="refused")
    judge = judge_for(study, constraint="where_possible")
    job = try_judge(judge=judge)
    job.refresh_from_db()
    assert {answer["is_constrained"] for answer in job.result["answers"]} == {False}


def test_dummy_models_are_constrained_too(study, settings):
    settings.TIEBREAK_MODEL_SERVERS = {"here": {"provider": "fake"}}
    judged(study, constraint="always")
    assert Rating.objects.filter(label__isnull=False).count() == 8


@pytest.mark.parametrize(
    ("spec", "options", "code"),
    [
        ("ratio", {"constraint": "always"}, "no_labels"),
        ("ratio", {"answered_by": "probability"}, "too_many_labels"),
        (
            "ordinal:1..5",
            {"constraint": "always", "answered_by": "probability"},
            "nothing_to_constrain",
        ),
    ],
)
def test_a_criterion_without_labels_has_nothing_to_choose_from(spec, options, code):
    study = make_open_study(scale=spec, instances=1, unit_kind="generation", samples=1)
    with refused(code):
        judge_for(study, **options)
    assert judge_for(study)
