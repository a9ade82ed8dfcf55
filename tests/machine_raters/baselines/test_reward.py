"""A simple rater that prefers the text to which a reward model gives the higher score."""

import pytest
from django.urls import reverse

from annotation.models import Rating
from jobs.models import Job
from machine_raters.exported_raters import machine_rater_rows
from machine_raters.models import Baseline
from machine_raters.services.machine_raters import create_machine_rater, start_machine_rater
from studies.models import Generation, Instance
from tests.machine_raters.baselines.test_baselines import counts, labels, open_study
from tests.refusals import refused

pytestmark = pytest.mark.django_db


def add(study, **changes) -> Baseline:
    options = {"method": "reward", "server": "here", "language_model": "tiny"} | changes
    return create_machine_rater(
        kind="baseline", study=study, name="reward", criterion=study.criteria.get(), **options
    )


def conversations(stub) -> list[list[str]]:
    bodies = [body for path, body in stub.requests if path == "/classify"]
    return [[turn["role"] for turn in body["messages"]] for body in bodies]


def test_the_text_with_the_higher_score_is_preferred_and_both_scores_are_kept(server):
    study = open_study(("short", "a longer text"), ("a longer text", "short"))
    baseline = add(study)
    assert labels(baseline) == ["1", "-1"]
    assert conversations(server) == [["user", "assistant"]] * 4
    source = 3  # words of the instance's source, and the marks of the turns
    raws = set(Rating.objects.values_list("raw", flat=True))
    assert raws == {f"A {source + 1}, B {source + 3}", f"A {source + 3}, B {source + 1}"}
    assert Job.objects.get().queue == "gpu"


def test_equal_scores_are_a_tie_or_no_rating_where_the_scale_has_none(server):
    assert labels(add(open_study(("same", "same")))) == ["0"]


def test_on_a_scale_without_a_tie_equal_scores_are_no_rating(server):
    baseline = add(open_study(("same", "same"), scale="preference"))
    assert (labels(baseline), counts(baseline)) == ([], (0, 0, 1))


def test_the_turns_before_the_text_are_read_where_there_is_no_source(server):
    study = open_study(("one", "two words"))
    turns = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    turns.append({"role": "user", "content": "And?"})
    Instance.objects.update(source="", messages=turns)
    add(study)
    assert conversations(server) == [["user", "assistant", "user", "assistant"]] * 2


def test_a_model_without_scores_stops_with_a_sentence_and_can_be_tried_again(server):
    server.scores = 2
    baseline = add(open_study(("one", "two words")))
    job = Job.objects.get()
    assert (job.status, labels(baseline)) == ("failed", [])
    server.scores = 1
    start_machine_rater(machine=baseline)
    assert labels(baseline) == ["1"]


def test_a_text_that_cannot_be_sent_leaves_its_item_open(server):
    study = open_study(("one", "two words"), ("one", "two words"))
    first = Generation.objects.order_by("instance", "system").first()
    Instance.objects.filter(pk=first.instance_id).update(source="", messages=[])
    Generation.objects.filter(pk=first.pk).update(text="")
    baseline = add(study)
    assert labels(baseline) == ["1"]
    assert Job.objects.get().failed == 1


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"server": ""}, "no_server"),
        ({"server": "there"}, "no_such_server"),
        ({"language_model": ""}, "no_model"),
        ({"method": "longer"}, "server_not_used"),
    ],
)
def test_a_reward_model_needs_a_server_and_other_rules_none(server, changes, code):
    with refused(code):
        add(open_study(("one", "two words")), **changes)
    assert not Baseline.objects.exists()


def test_it_is_added_on_the_page_and_by_the_interface(server, client, admin_user):
    study = open_study(("one", "two words"))
    client.force_login(admin_user)
    wanted = {"name": "page", "criterion": "preference", "method": "reward"}
    wanted |= {"server": "here", "language_model": "tiny", "seed": 0}
    client.post(reverse("machine_raters:baselines", args=[study.pk]), wanted)
    page = client.get(reverse("machine_raters:judges", args=[study.pk])).content.decode()
    assert "tiny on here" in page
    address = reverse("api:machine-rater-list", args=[study.pk])
    body = wanted | {"name": "api", "kind": "baseline"}
    added = client.post(address, body, content_type="application/json")
    assert (added.status_code, added.json()["rated"]) == (201, 1)
    rows = {row["rater"]: row["settings"] for row in machine_rater_rows(study)}
    assert rows["api"]["language_model"] == "tiny"
