"""Bots on the real pages: the computed numbers reproduce the bots' settings."""

import io
import logging
import random
from itertools import count
from statistics import median

import pytest
from django.core.management import call_command
from django.test import Client

from annotation.exports.ratings import rating_rows
from annotation.models import Assignment, Comment, Participation, Rating
from annotation.services.planning import plan_hits
from annotation.services.reference_units import degrade_copies
from annotation.services.screening import check_records
from recruitment.simulation.raters import HEADER, Bot, simulate_raters
from studies.models import ComprehensionQuestion, Generation, Instance, Screening, Study, Unit
from tests.pages import numbers_in
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_study, open_knowingly
from tiebreak.stats.raters.bias import position_bias

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def known_draws(monkeypatch):
    """Random draws are the same each time, so that no bound has to allow for chance."""
    numbers = count(1)
    for model, name in ((Study, "seed"), (Participation, "order_seed")):
        field = model._meta.get_field(name)
        monkeypatch.setattr(field, "_get_default", lambda: f"known {next(numbers)}")


WORDS = [f"word{n}" for n in range(400)]


def readable_study(instances: int = 60, *, gold: int = 0, **design) -> Study:
    """One comparison per HIT, of a text with the source's words and a text without them."""
    study = make_study(
        instances=instances, samples=1, comparisons_per_hit=1, scale="preference", **design
    )
    rng = random.Random(0)
    for instance in Instance.objects.all():
        words = rng.sample(WORDS, 40)
        Instance.objects.filter(pk=instance.pk).update(source=" ".join(words))
        for system, share in (("system-0", 30), ("system-1", 10)):
            text = " ".join([*words[:share], *rng.sample(WORDS, 30 - share)])
            Generation.objects.filter(instance=instance, system__name=system).update(text=text)
    plan_hits(study=study)
    if gold:
        degrade_copies(study=study, role=Unit.Role.GOLD, n=gold)
        Screening.objects.create(study=study, check_rate=1)
    return open_knowingly(study)


def test_it_works():
    study = make_open_study(instances=3, hits_per_annotator=2)
    assert simulate_raters(study=study, bots=[Bot("a"), Bot("b", hits=1)]) == 15
    assert Participation.objects.filter(simulated=True, status="finished").count() == 1
    assert Rating.objects.filter(simulated=True).count() == 15


@pytest.mark.slow
def test_accuracy_and_position_bias_come_back():
    """600 answers: one standard error of a share is 0.02."""
    study = readable_study(60, ratings_per_hit=10)
    bots = [Bot(f"b{n}", accuracy=0.9, position_bias=0.4, indifference=0) for n in range(10)]
    assert simulate_raters(study=study, bots=bots, seed=1) == 600
    rows = list(rating_rows(study))
    first = sum((row["label"] == -1) == (row["side_a"] == "left") for row in rows)
    measured = position_bias(first, len(rows) - first)
    assert measured.low < 0.2 < measured.high  # b / 2: half of those would have come first anyway
    # A is closer to the source, and every unit is seen in both orders equally often.
    a_wins = sum(row["label"] == -1 for row in rows) / len(rows)
    assert a_wins == pytest.approx(0.6 * 0.9 + 0.4 * 0.5, abs=0.06)


@pytest.mark.slow
def test_speed_malice_and_drop_out_come_back():
    study = readable_study(60, ratings_per_hit=6)
    careful = [Bot(f"c{n}", seconds=10, accuracy=1, indifference=0) for n in range(2)]
    hasty = [Bot(f"h{n}", seconds=10, accuracy=1, malice=0.5, indifference=0) for n in range(2)]
    leaving = [Bot(f"l{n}", drop_out=0.1) for n in range(2)]
    simulate_raters(study=study, bots=[*careful, *hasty, *leaving], seed=2)
    people = list(Participation.objects.order_by("pk"))

    def of(group):
        return list(Rating.objects.filter(assignment__participation__in=group))

    assert median(r.duration_ms for r in of(people[:2])) == pytest.approx(10_000, rel=0.2)
    quick = [r for r in of(people[2:4]) if r.duration_ms < 2_000]
    assert len(quick) / 120 == pytest.approx(0.5, abs=0.12)
    assert {r.label for r in of(people[:2])} == {"-1"}
    wrong = sum(r.label == "1" for r in of(people[2:4]))
    assert wrong / 120 == pytest.approx(0.25, abs=0.1)
    for person in people[4:]:
        begun = Assignment.objects.filter(participation=person)
        assert begun.filter(status="active").count() == 1
        assert begun.count() < 60


@pytest.mark.slow
@pytest.mark.django_db(transaction=True, reset_sequences=True)  # a check is drawn by the HIT's id
def test_the_checks_find_who_does_not_read():
    study = readable_study(60, gold=30, ratings_per_hit=3)
    bots = [
        Bot("reads", accuracy=1, indifference=0, hits=25),
        Bot("random", malice=1, hits=25),
        Bot("sloppy", accuracy=0.75, indifference=0, hits=25),
    ]
    simulate_raters(study=study, bots=bots, seed=3)
    records = check_records(study.pk)
    reads, guesses, sloppy = (records[p.rater_id] for p in Participation.objects.order_by("pk"))
    # A spoilt copy can share more words with the source than the text it was made of.
    assert (reads.of, reads.failed <= 3) == (25, True)
    assert 6 <= guesses.right <= 19
    assert 13 <= sloppy.right <= 24


@pytest.mark.thorough
def test_bots_take_the_steps_before_the_first_hit():
    study = readable_study(30)
    ComprehensionQuestion.objects.create(study=study, text="Which?", choices="a\nb", answer=1)
    degrade_copies(study=study, role=Unit.Role.QUALIFICATION, n=5)
    Screening.objects.create(study=study, qualification_units=5, pass_mark=5)
    for n in range(6):
        simulate_raters(study=study, bots=[Bot(f"b{n}", accuracy=1, hits=2)], seed=n)
    ends = set(Participation.objects.values_list("status", flat=True))
    assert "screened_out" in ends  # two wrong guesses at the question
    assert Rating.objects.filter(unit__role="main").count() > 0


def test_a_closed_study_is_refused():
    with refused("study_not_open"):
        simulate_raters(study=make_study(), bots=[Bot("a")])


def test_nobody_else_can_say_that_they_are_a_program():
    study = make_open_study(instances=1)
    client = Client(headers={HEADER: f"{study.pk}:forged"})
    client.post(f"/s/{study.pk}/", {"choice": "agree", "version": 1})
    assert not Participation.objects.get().simulated


@pytest.mark.enable_socket
@pytest.mark.django_db(transaction=True)
def test_over_a_socket_it_is_the_same(live_server, capsys):
    study = make_open_study(instances=2, comparisons_per_hit=2)
    call_command("simulate_raters", study.pk, "--raters", "2", "--url", live_server.url)
    assert {"2", "8"} <= numbers_in(capsys.readouterr().out)
    assert Rating.objects.filter(simulated=True).count() == 8


def test_the_logging_of_the_process_is_left_alone():
    """Configuring it again would close the streams of other libraries' handlers."""
    handler = logging.StreamHandler(io.StringIO())
    handler.close = handler.stream.close
    simulate_raters(study=make_open_study(instances=1), bots=[Bot("a")])
    assert not handler.stream.closed


def test_bots_answer_without_a_label_and_give_reasons(monkeypatch):
    monkeypatch.setattr("recruitment.simulation.bots.NONRESPONSE_SHARE", 0.5)
    study = make_study(instances=12, nonresponses="both", ratings_per_hit=2)
    study.criteria.update(reason="required", reason_length=60)
    plan_hits(study=study)
    study = open_knowingly(study)
    bots = [Bot("a"), Bot("b", malice=1)]
    assert simulate_raters(study=study, bots=bots) == 120
    assert set(Rating.objects.values_list("nonresponse", flat=True)) == {"", "cannot_say", "broken"}
    assert min(len(one.reason) for one in Rating.objects.all()) >= 60


def test_bots_comment_on_the_same_share_of_items_with_the_same_seed():
    said = []
    for _ in range(2):
        study = readable_study(20)
        simulate_raters(study=study, bots=[Bot("a", comments=0.3)], seed=1)
        comments = Comment.objects.filter(participation__study=study)
        said.append(sorted(comments.values_list("assignment__position", flat=True)))
    assert said[0] == said[1]
    assert 2 <= len(said[0]) <= 10
    assert Rating.objects.count() == 40
