"""The admin's home: studies as cards, told apart, and raw tables for superusers alone."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from lxml.html import fromstring

from annotation.models import Comment
from jobs.models import Job
from metrics.collecting.needs import needs_of
from metrics.home import PER_PAGE, is_demo_loading, study_cards
from metrics.results.services import refresh_report
from recruitment.admission import maximum
from recruitment.ledger import WITHOUT_RATINGS, ledger, listed_by_study
from recruitment.models import Channel, Payment
from recruitment.simulation.raters import Bot, simulate_raters
from studies.models import Membership, Study
from tests.annotation.annotators import annotator
from tests.metrics.test_freshness import rated
from tests.pages import codes_on
from tests.studies.factories import make_open_study, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def home(client: Client, query: str = "") -> str:
    return client.get(reverse("admin:index") + query).content.decode()


def test_both_addresses_lead_to_the_list(client, ruth):
    study = make_study(instances=1, member=ruth)
    page = client.get("/", follow=True)
    assert page.redirect_chain[-1][0] == reverse("admin:index")
    assert f'data-study="{study.pk}"' in page.content.decode()


def test_a_card_has_state_progress_and_the_next_step(client, ruth):
    make_study(instances=1, member=ruth, minutes_per_hit=3)
    html = home(client)
    assert 'data-status="draft"' in html
    assert reverse("recruitment:launch", args=[Study.objects.get().pk]) in html
    assert ">Review and open<" in html
    Study.objects.all().delete()
    study = make_open_study(instances=1, member=ruth)
    assert re.search(r'class="progress">\s*0 of 3', home(client))
    assert reverse("metrics:dashboard", args=[study.pk]) in home(client)


def test_a_draft_whose_total_is_not_known_has_what_a_person_gets(client, ruth):
    make_study(instances=1, member=ruth, reward=3, hits_per_annotator=2)
    (money,) = fromstring(home(client)).xpath("//td[@data-label='Money']")
    assert " ".join(money.text_content().split()) == "3.00 GBP a person no total yet"


def test_a_study_with_simulated_ratings_is_marked(client, ruth):
    by_a_person, by_a_bot = (make_open_study(instances=1, member=ruth) for _ in range(2))
    rated(by_a_person)
    refresh_report(study=by_a_person)
    assert "data-simulated" not in home(client)
    simulate_raters(study=by_a_bot, bots=[Bot("one", hits=1)], seed=0)
    assert home(client).count("data-simulated") == 1  # before there is a report


def test_equal_titles_are_told_apart(client, ruth):
    studies = [make_study(instances=1, member=ruth) for _ in range(2)]
    html = home(client)
    assert all(f"<code>{study.pk}</code>" in html for study in studies)
    Study.objects.filter(pk=studies[0].pk).update(title="Another")
    make_study(instances=1)  # of the same title, and somebody else's
    assert "<code>" not in home(client)


def test_dry_runs_and_studies_of_others_are_left_out(client, ruth):
    original = make_study(instances=1, member=ruth)
    copy = make_study(instances=1, member=ruth)
    Study.objects.filter(pk=copy.pk).update(dry_run_of=original)
    make_study(instances=1)
    assert re.findall(r'data-study="(\w+)"', home(client)) == [original.pk]


def test_only_superusers_see_groups_users_and_tables(client, ruth):
    tables = reverse("admin:auth_user_changelist")
    assert tables not in home(client)
    assert f'href="{reverse("admin:studies_study_changelist")}"' not in home(client)
    assert client.get(tables).status_code == 403
    ruth.user_permissions.set(Permission.objects.filter(codename="view_user"))
    assert client.get(tables).status_code == 403
    client.force_login(User.objects.create_superuser("root"))
    assert tables in home(client)


def test_the_list_takes_few_statements_however_many_studies(
    client, ruth, django_assert_max_num_queries
):
    for _ in range(PER_PAGE + 2):
        Membership.objects.create(study=make_open_study(instances=1), user=ruth)
    with django_assert_max_num_queries(14):
        first = home(client)
    assert first.count("data-study=") == PER_PAGE
    assert home(client, "?page=2").count("data-study=") == 2


def listed(client: Client) -> list[str]:
    return re.findall(r'data-study="(\w+)"', home(client))


def test_studies_that_need_the_member_come_first_then_open_ones_newest_first(client, ruth):
    """A draft and an open study in which nothing is left, or in which a comment waits, need somebody."""
    closed = make_open_study(instances=1, member=ruth)
    full = make_open_study(
        instances=1, member=ruth, comparisons_per_hit=1, ratings_per_hit=1, guidelines=""
    )
    annotator(full).choose()
    commented = make_open_study(instances=1, member=ruth)
    quiet = [make_open_study(instances=1, member=ruth) for _ in range(2)]
    draft = make_study(instances=1, member=ruth)
    paused = make_open_study(instances=1, member=ruth)
    Study.objects.filter(pk=closed.pk).update(status="closed")
    Study.objects.filter(pk=paused.pk).update(status="paused")
    annotator(commented).here()
    by = commented.participations.get()
    Comment.objects.create(participation=by, text="Odd.", created_at=timezone.now())
    needing = [draft, commented, full]
    expected = [*needing, *reversed(quiet), paused, closed]
    (caption,) = fromstring(home(client)).xpath("//table[@class='studies']/caption")
    assert caption.text_content() == "Your studies 7, those that need you first"
    assert listed(client) == [study.pk for study in expected]
    frames = {card.frame.study.pk: card.frame for card in study_cards(ruth, None)}
    assert {study.pk for study in needing} == {pk for pk, f in frames.items() if f.needs_person}


@pytest.fixture
def owing(ruth: User) -> list[Study]:
    """Studies with other leases and pay: in each, one person of two finished and was not paid."""
    terms = [{"reward": Decimal(2)}, {"reward": Decimal(1), "lease_minutes": 5}, {"reward": None}]
    studies = []
    for one in terms:
        study = make_open_study(instances=2, comparisons_per_hit=1, member=ruth, **one)
        for _ in range(2):
            annotator(study).choose()
        first = study.participations.first()
        study.participations.filter(pk=first.pk).update(status="finished")
        studies.append(study)
    return studies


def test_what_a_study_needs_is_in_the_page_as_it_arrives(client, ruth, owing):
    """Who is owed money comes first, even from a closed study, with the sentence that Collect has."""
    draft = make_study(instances=1, member=ruth)
    Study.objects.filter(pk=owing[1].pk).update(status="closed")
    cards = {card.frame.study.pk: card for card in study_cards(ruth, None)}
    first, closed, unpaid = owing
    assert list(cards)[:3] == [closed.pk, first.pk, draft.pk]
    for study in (first, closed):
        need = cards[study.pk].need
        there = needs_of(Study.objects.get(pk=study.pk))[0]
        assert (need.code, need.sentence) == (there.code, there.sentence)
        assert there.button.startswith(need.button)
    assert cards[unpaid.pk].need is None
    page = fromstring(home(client))
    (lead,) = page.xpath("//table//*[contains(@class, 'primary')]")
    assert lead.get("data-need") == "awaiting_payment"
    assert lead.get("href").endswith("?list=awaiting_payment")
    fetched = page.xpath("//table//*[@hx-get]/ancestor::tr/@data-study")
    assert fetched == ([draft.pk] if draft.reward else [])
    Membership.objects.update(role="viewer")
    assert {card.need for card in study_cards(ruth, None)} == {None}


def test_the_lists_of_many_studies_are_those_of_each(owing):
    now = timezone.now() + timedelta(minutes=20)  # after which one lease has ended
    found = listed_by_study(owing, now)
    for study in owing:
        whole = ledger(study, now).totals.listed
        assert found[study.pk] == {name: whole[name] for name in WITHOUT_RATINGS}
    assert len({tuple(lists.values()) for lists in found.values()}) == len(owing)


def test_a_draft_says_what_it_is_expected_to_cost_and_at_most(client, ruth):
    study = make_study(
        instances=2, member=ruth, reward=Decimal(3), hits_per_annotator=2, minutes_per_hit=5
    )
    (row,) = fromstring(home(client)).xpath(f"//tr[@data-study='{study.pk}']")
    assert not row.xpath(".//*[@data-most]")
    (part,) = row.xpath(".//*[@hx-get]")
    arrives = fromstring(f"<div>{client.get(part.get('hx-get')).text}</div>")
    # In the form of what other rows have: a sum, and below it the most.
    (sum_,), (most,) = (arrives.xpath(f"./*[@class='{name}']") for name in ("money", "n"))
    assert [one.get("class") for one in part] == ["money", "n"]
    assert all(re.search(r"[1-9]\.\d\d GBP", one.text_content()) for one in (sum_, most))


def test_a_study_needs_only_who_may_change_it(client, ruth):
    quiet = make_open_study(instances=1, member=ruth)
    draft = make_study(instances=1, member=ruth)
    assert listed(client) == [draft.pk, quiet.pk]
    Membership.objects.filter(study=draft).update(role="analyst")
    assert listed(client) == [quiet.pk, draft.pk]


@pytest.fixture
def paid(ruth: User) -> Study:
    """A study of 6 responses at 0.50 and 20% fees: somebody was paid, and no response is complete."""
    study = make_open_study(
        instances=2, member=ruth, reward=Decimal("1.00"), hits_per_annotator=2, minutes_per_hit=5
    )
    annotator(study).choose()
    channel = Channel.objects.create(study=study, provider="panel", settings={"fee_percent": "20"})
    participation = study.participations.get()
    participation.submission.channel = channel
    participation.submission.save()
    Payment.objects.create(
        participation=participation,
        amount="1.00",
        currency="GBP",
        kind="reward",
        status="paid",
        created_at=timezone.now(),
    )
    return study


def test_money_is_spent_and_committed_with_fees(client, ruth, paid):
    (card,) = study_cards(ruth, None)
    assert card.spending.paid.total == Decimal("1.20")
    assert card.spending.committed.total == Decimal("3.60")  # 6 × 0.50 × 1.2


def test_the_list_has_the_most_that_a_study_can_cost_until_it_is_closed(client, ruth, paid):
    (card,) = study_cards(ruth, None)
    assert card.spending.most == maximum(Study.objects.get(pk=paid.pk)).total > 0
    (shown,) = fromstring(home(client)).xpath("//*[@data-most]")
    assert f"{card.spending.most} " in shown.text
    Study.objects.update(status="closed")
    assert not fromstring(home(client)).xpath("//*[@data-most]")


def test_a_draft_commits_nothing_and_a_closed_study_only_what_was_completed(client, ruth, paid):
    Study.objects.update(status="closed")
    assert study_cards(ruth, None)[0].spending.committed.total == 0
    Study.objects.update(status="draft")
    assert study_cards(ruth, None)[0].spending.committed.total == 0


def test_what_is_committed_is_unknown_without_the_tasks_per_person(client, ruth, paid):
    Study.objects.update(hits_per_annotator=None)
    assert study_cards(ruth, None)[0].spending.committed is None


def test_viewers_see_no_money(ruth, paid):
    Membership.objects.update(role="viewer")
    assert study_cards(ruth, None)[0].spending is None


def test_the_demo_is_loaded_by_a_worker_and_once(client, ruth, monkeypatch):
    monkeypatch.setattr("jobs.services.enqueue", lambda *_, **__: None)
    client.post(reverse("metrics:try-demo"))
    assert is_demo_loading(ruth)
    assert 'role="status"' in home(client)
    again = client.post(reverse("metrics:try-demo"), follow=True)
    assert codes_on(again) == {"job_unfinished"}
    assert Job.objects.filter(kind="demo").count() == 1


def test_only_steps_that_somebody_did_count_as_done(client, ruth):
    client.post(reverse("admin:studies_study_add"), {"title": "T", "unit_kind": "comparison"})
    assert study_cards(ruth, None)[0].frame.n_done == 0


def test_home_counts_the_steps_that_launch_lists(client, ruth):
    study = make_study(instances=1, member=ruth, minutes_per_hit=3)
    launch = fromstring(client.get(reverse("recruitment:launch", args=[study.pk])).text)
    steps = launch.xpath("//ol[@class='steps']/li/@data-state")
    shown = fromstring(home(client)).xpath("string(//*[@class='progress'])")
    n_done, n = map(int, re.findall(r"\d+", shown))
    assert (n_done, n) == (sum(state == "done" for state in steps), len(steps))


def test_a_list_of_drafts_has_one_primary_button(client, ruth):
    for _ in range(3):
        make_study(instances=1, member=ruth)
    assert len(re.findall(r'class="button primary"', home(client))) == 1
