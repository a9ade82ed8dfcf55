"""The demo shows what it is said to show, and its studies look as if they had run here."""

import random
import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from lxml.html import fromstring

import tiebreak
from annotation.counts import progress_of
from annotation.exports.study_export import export_study
from annotation.models import Comment, Participation, Rater, Rating
from annotation.services.screening import check_records
from jobs.clock import database_now
from jobs.models import Job
from jobs.worker import run_job
from machine_raters.models import Judge, Verdict
from machine_raters.services.rating_costs import rating_costs
from metrics.demo import demo_study_of, half_way_demo_of, load_demo, start_demo
from metrics.models import ReportSnapshot
from metrics.removing import delete_simulated_study
from metrics.results.question_pages import PAGES
from metrics.results.selectors import stored_report
from recruitment.ledger import ledger
from recruitment.models import Payment
from recruitment.simulation.raters import Bot, one_connection, walk_study
from studies.design.steps import StudyState, study_frame
from studies.models import Study, StudyEvent
from tests.confirming import post_confirmed
from tests.metrics.test_freshness import rated
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_participation
from tiebreak.report.model.report import CriterionSection

OURS, LLAMA, BART = "ours-8b", "llama-3.1-8b", "bart-large"
GOOD, BIASED, RULE = "judge-70b", "judge-7b", "longer text"
Status = Participation.Status
pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def stored(module_db: None) -> int:
    owner = User.objects.create_superuser("ruth")
    job = start_demo(by=owner)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert job.status == Job.Status.DONE
    return owner.pk


@pytest.fixture
def ruth(stored: int) -> User:
    return User.objects.get(pk=stored)


@pytest.fixture
def finished(ruth: User) -> Study:
    study = demo_study_of(ruth)
    assert study is not None
    return study


@pytest.fixture
def half_way(ruth: User) -> Study:
    study = half_way_demo_of(ruth)
    assert study is not None
    return study


@pytest.fixture
def results(finished: Study) -> CriterionSection:
    report = stored_report(ReportSnapshot.objects.get(study=finished, digest=""))
    assert report is not None
    assert report.simulated
    return report.criteria["preference"]


def test_the_invented_judges_have_invented_costs_and_say_so(ruth, finished, client):
    assert {name: one.amount for name, one in rating_costs(finished).items()} == {
        GOOD: Decimal("0.0035"),
        BIASED: Decimal("0.0002"),
        RULE: 0,
    }
    client.force_login(ruth)
    figures = client.get(reverse("metrics:results-tab", args=[finished.pk, "machines"])).context
    assert "cost-agreement" in {figure.name for figure in figures["figures"]}
    page = client.get(reverse("machine_raters:judges", args=[finished.pk])).content.decode()
    assert page.count("all simulated") == 2


def test_thousands_have_one_form_on_every_page_of_results(finished, ruth, client):
    """The demo has 1,080 ratings; years, seeds and names of methods are no counts."""
    client.force_login(ruth)
    for part in PAGES:
        address = reverse("metrics:results-tab", args=[finished.pk, part.slug])
        main = fromstring(client.get(address).text).xpath("//main")[0]
        text = " ".join(main.xpath(".//text()[not(ancestor::script or ancestor::style)]"))
        text = re.sub(r"seed \d+|\d+ replicates|\b(19|20)\d\d\b", "", text)
        assert "1,080 rating" in text, part.slug
        assert re.findall(r"(?<![\w.,−])\d{4,}(?![\w.])", text) == [], part.slug


def test_one_system_wins_and_the_others_are_not_told_apart(results):
    rates = results.systems.win_rate
    assert rates[OURS].low > 0.6
    assert max(rates[LLAMA].high, rates[BART].high) < 0.5
    pair = results.systems.pairs[f"{BART} vs {LLAMA}"]
    assert pair.low < 0.5 < pair.high


def test_people_agree_and_more_where_texts_differ_more(results):
    strata = {(s.stratifier, s.stratum): s for s in results.strata}
    alpha = strata["all", "all"].human_human.krippendorff_alpha
    assert 0.3 < alpha.value < 0.45
    assert alpha.low > 0.2
    parts = [s.human_human for s in results.strata if s.stratifier == "separability"]
    agreement = [part.percentage_agreement.value for part in parts]
    assert len(agreement) == 4
    assert agreement == sorted(agreement)


def test_one_judge_agrees_like_a_person_and_the_other_prefers_longer_texts(results):
    everything = results.strata[0]
    ceiling = everything.human_human.leave_one_out.value
    judges = {
        name: machine.human_machine.leave_one_out.value
        for name, machine in everything.machines.items()
    }
    assert abs(judges[GOOD] - ceiling) < 0.06
    assert ceiling - judges[BIASED] > 0.07
    longer = {name: bias.length.value for name, bias in results.bias.machines.items()}
    assert longer[RULE] == pytest.approx(1)
    assert 0.7 < (1 + longer[BIASED]) / 2 < 0.8
    assert longer[BIASED] - longer[GOOD] > 0.2


def test_the_careless_annotator_failed_the_checks_and_was_excluded(finished, results):
    people = finished.participations.select_related("rater")
    (careless,) = people.filter(status=Status.EXCLUDED)
    checks = check_records(finished.pk)
    assert (checks[careless.rater_id].right, checks[careless.rater_id].failed) == (0, 3)
    assert max(c.failed for rater, c in checks.items() if rater != careless.rater_id) == 1
    assert careless.rater.pseudonym not in results.raters
    assert finished.events.get(verb=StudyEvent.Verb.EXCLUDE).details["hits"] == 5
    assert people.filter(status=Status.FINISHED).count() == people.count() - 1 == 12


def test_the_finished_study_ran_here_and_everybody_is_paid(finished, ruth):
    assert study_frame(finished, ruth).state == StudyState.CLOSED
    done = progress_of(finished)
    assert (done.completed, done.places) == (90, 90)
    book = ledger(finished)
    assert not any(book.totals.listed.values())
    assert book.money.spent == Decimal("71.25")
    assert not book.money.is_under_promise
    payments = Payment.objects.filter(participation__study=finished)
    assert set(payments.values_list("status", flat=True)) == {Payment.Status.PAID}
    comments = Comment.objects.filter(participation__study=finished)
    assert comments.count() == 3
    assert not comments.filter(done_at=None).exists()


def test_everything_in_the_log_happened_in_order_and_around_the_answers(finished):
    events = {event.verb: event.at for event in finished.events.all()}
    answers = Rating.objects.filter(unit__study=finished, rater__kind="human")
    times = sorted(answers.values_list("created_at", flat=True))
    assert events["open"] == finished.opened_at < times[0]
    assert times[0] < events["exclude"] < times[-1] < finished.closed_at == events["close"]
    assert timedelta(hours=23) < database_now() - finished.closed_at < timedelta(hours=25)
    assert set(answers.values_list("simulated", flat=True)) == {True}


def test_invented_judges_are_simulated_and_remain_machines_and_the_rule_is_real(finished, results):
    rows = Rating.objects.filter(unit__study=finished, rater__kind="machine").values_list(
        "rater__pseudonym", "simulated"
    )
    assert set(rows) == {(GOOD, True), (BIASED, True), (RULE, False)}
    assert set(results.all_units.machines) == {GOOD, BIASED, RULE}
    assert results.simple_raters == (RULE,)


def test_the_study_half_way_waits_for_payments_and_an_answer_to_a_comment(half_way, ruth):
    frame = study_frame(half_way, ruth)
    assert frame.state == StudyState.OPEN
    done = progress_of(half_way)
    assert (done.completed, done.places) == (48, 90)
    waiting = ledger(half_way).rows_on("awaiting_payment")
    assert [row.participation.status for row in waiting] == [Status.FINISHED] * 2
    assert Comment.objects.filter(participation__study=half_way, done_at=None).count() == 1


def test_a_visitor_can_rate_the_study_half_way_to_the_end(half_way):
    bot = Bot("visitor", accuracy=1)
    known = {(q.text,): q.options[q.answer - 1] for q in half_way.comprehension.all()}
    with one_connection():
        visit = walk_study(study=half_way, bot=bot, rng=random.Random(1), known=known).finish()
    assert not visit.problem
    assert not visit.refusals
    assert progress_of(half_way).completed == 48 + 8
    newest = half_way.participations.latest("pk")
    assert (newest.status, newest.simulated) == (Status.FINISHED, True)


def test_an_export_of_the_open_study_agrees_with_its_plan_and_log(half_way, tmp_path):
    export_study(study=half_way, out=tmp_path / "out")
    result = tiebreak.verify(tmp_path / "out")
    assert result.n_deviations == 0
    compared = {check.name for check in result.checks if check.n_compared}
    assert compared >= {"plan", "log", "design", "clocks", "exclusions"}


def test_the_demo_is_loaded_once(ruth, finished):
    assert load_demo(owner=ruth, say=lambda _: None) == finished
    assert Study.objects.count() == 2


def test_an_owner_deletes_a_demo_with_all_that_is_in_it_and_nothing_else(
    client, ruth, finished, half_way
):
    client.force_login(ruth)
    address = reverse("metrics:remove-study", args=[half_way.pk])
    assert address in client.get(reverse("metrics:dashboard", args=[half_way.pk])).text
    stay = Rating.objects.filter(unit__study=finished)
    n, payments = stay.count(), Payment.objects.filter(participation__study=finished).count()
    named = client.get(address).context["question"].sentences[0]
    assert str(Rating.objects.filter(unit__study=half_way).count()) in named
    judge = Judge.objects.create(study=half_way, kind="judge", name="a judge that ran here")
    rating = Rating.objects.filter(unit__study=half_way, rater__kind="machine").first()
    Verdict.objects.create(
        judge=judge, rating=rating, language_model="m", prompt_sha256="0" * 64, characters=1
    )
    post_confirmed(client, address)
    assert list(Study.objects.all()) == [finished]
    assert (Rating.objects.count(), Payment.objects.count()) == (n, payments)
    assert set(Rater.objects.all()) == set(Rater.objects.filter(ratings__in=stay))
    assert demo_study_of(ruth) == finished


def test_a_study_in_which_a_person_took_part_is_kept(client, ruth, half_way):
    real = make_open_study(instances=2, member=ruth)
    rated(real)
    make_participation(half_way, "visitor")
    client.force_login(ruth)
    for study in (real, half_way):
        asked = client.get(reverse("metrics:remove-study", args=[study.pk]))
        assert set(asked.context["question"].problems) == {"not_simulated"}
        with refused("not_simulated"):
            delete_simulated_study(study=study)
