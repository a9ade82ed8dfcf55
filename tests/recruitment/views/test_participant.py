"""The page of one participant: answers as they were given, evidence, and who sees what."""

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from lxml.html import fromstring

from annotation.models import Rating
from annotation.participant_evidence import evidence_of
from annotation.services.participations import finish_participation
from annotation.services.screening import begin_stage
from metrics.results.services import refresh_report
from recruitment.models import Channel, Payment, Submission
from studies.models import Membership
from tests.annotation.annotators import annotator, form_of
from tests.annotation.services.test_screening import answer_all, study_with
from tests.annotation.test_participant_evidence import rated, study_of
from tests.confirming import post_confirmed
from tests.pages import codes_on, levels_on, prose_of
from tests.recruitment.views.test_ledger import complete, paying_study
from tests.studies.factories import make_participation

pytestmark = pytest.mark.django_db


@pytest.fixture
def member(django_user_model):
    def with_role(study, role: str) -> Client:
        user = django_user_model.objects.create_user(role, is_staff=True)
        Membership.objects.create(study=study, user=user, role=role)
        client = Client()
        client.force_login(user)
        return client

    return with_role


def page_of(participation) -> str:
    args = [participation.study_id, participation.public_id]
    return reverse("recruitment:participant", args=args)


def act(participation, verb: str) -> str:
    args = [participation.study_id, participation.public_id, verb]
    return reverse("recruitment:ledger-action", args=args)


def on_a_platform(study, provider: str = "prolific"):
    ann = make_participation(study, "5f8d7a")
    complete(ann)
    channel = Channel.objects.create(study=study, provider=provider, secret="x")
    Submission.objects.update(channel=channel, platform_status="AWAITING REVIEW")
    ann.refresh_from_db()
    return ann


def test_who_is_worth_a_look_is_marked_in_every_table_of_people(member):
    study = study_of(scale="ordinal:1..5")
    slow, quick = (
        rated(study, name, "1" * 24, ms=ms) for name, ms in (("slow", 20_000), ("quick", 100))
    )
    for person, name in ((slow, "a"), (quick, "z")):  # which is not the order of their names
        person.rater.pseudonym = name * 12
        person.rater.save()
    refresh_report(study=study)
    client = member(study, "analyst")
    signs = [sign for sign in evidence_of(quick).signs if sign.is_unusual]
    for address in (
        reverse("recruitment:ledger", args=[study.pk]),
        reverse("metrics:dashboard", args=[study.pk]),
        reverse("metrics:results-tab", args=[study.pk, "by-rater"]),
    ):
        page = fromstring(client.get(address).text)
        first, *others = page.xpath("//tr[./th/a[contains(@href, '/participants/')]]")
        assert first.xpath("string(./th/a/@href)") == page_of(quick)
        shown = first.xpath("string(.//*[@data-unusual])")
        assert all(sign.said in shown for sign in signs)
        assert not any(other.xpath(".//*[@data-unusual]") for other in others)
    assert "data-unusual" in client.get(page_of(quick)).text
    assert "data-unusual" not in client.get(page_of(slow)).text


def test_it_works(member):
    study = paying_study()
    ann = make_participation(study, "ann")
    complete(ann)
    shown = member(study, "analyst").get(page_of(ann))
    assert len(shown.context["answers"]) == shown.context["participation"].hits == 1
    assert "Source text" in shown.content.decode()


@pytest.mark.parametrize("role", ["owner", "editor", "analyst"])
def test_the_page_leads_back_to_the_results_on_raters(member, role):
    study = paying_study()
    ann = make_participation(study, "ann")
    complete(ann)
    client = member(study, role)
    address = reverse("metrics:results-tab", args=[study.pk, "raters"])
    assert f'href="{address}"' in client.get(page_of(ann)).content.decode()
    assert client.get(address).status_code == 200


def test_answers_are_shown_as_they_were_on_the_screen(member):
    """Whatever side a system was on, the page says which side was chosen."""
    study = paying_study()
    browser = annotator(study)
    browser.choose(0)  # the first choice prefers the left text
    browser.choose(0)
    assert Rating.objects.values("side_a").distinct().count() >= 1
    answers = member(study, "analyst").get(page_of(browser.participation)).context["answers"]
    assert [answer.choice.side for answer in answers] == ["first", "first"]
    for answer in answers:
        left = answer.rating.unit.text_a.generation.text
        right = answer.rating.unit.text_b.generation.text
        texts = [text for _, text in answer.texts]
        assert texts == ([left, right] if answer.rating.side_a == "left" else [right, left])


def test_corrections_and_flags_are_shown(member):
    study = paying_study()
    browser = annotator(study)
    browser.send(form_of(browser.here()).filled() | {"layout": "stacked_translated"})
    Rating.objects.update(late=True, excluded=True)
    page = member(study, "analyst").get(page_of(browser.participation))
    (answer,) = page.context["answers"]
    assert answer.flags == ("late", "excluded", "translated")
    assert (page.context["evidence"].translated, page.context["evidence"].answers) == (1, 1)
    assert "data-translated" in page.content.decode()


@pytest.mark.parametrize(
    ("role", "sees_ids"), [("owner", True), ("editor", True), ("analyst", False)]
)
def test_ids_are_shown_to_those_who_recruit(member, role, sees_ids):
    ann = on_a_platform(paying_study())
    html = member(ann.study, role).get(page_of(ann)).content.decode()
    assert ("5f8d7a" in html) == sees_ids
    assert (ann.submission.completion_code in html) == sees_ids


def test_viewers_and_strangers_see_nobody(member):
    study, other = paying_study(), paying_study()
    ann = make_participation(study, "ann")
    assert member(study, "viewer").get(page_of(ann)).status_code == 403
    stranger = member(other, "owner")
    assert stranger.get(page_of(ann)).status_code == 404
    path = reverse("recruitment:participant", args=[other.pk, ann.public_id])
    assert stranger.get(path).status_code == 404


@pytest.mark.parametrize(
    ("provider", "forms"),
    [("prolific", {"bonus-form", "reject-form"}), ("panel", set()), ("open-link", set())],
)
def test_only_what_the_platform_supports_is_offered(member, provider, forms):
    ann = on_a_platform(paying_study(), provider)
    html = member(ann.study, "owner").get(page_of(ann)).content.decode()
    assert {name for name in ("bonus-form", "reject-form") if name in html} == forms


def test_only_owners_are_offered_and_may_move_money(member):
    ann = on_a_platform(paying_study())
    editor = member(ann.study, "editor")
    html = editor.get(page_of(ann)).content.decode()
    assert "bonus-form" not in html
    assert "reject-form" not in html
    for verb in ("bonus", "reject", "approve"):
        assert editor.post(act(ann, verb)).status_code == 403
    assert editor.post(reverse("recruitment:pay-many", args=[ann.study_id])).status_code == 403


def test_a_bonus_is_asked_first_and_a_second_press_pays_nothing(member, monkeypatch):
    ann = on_a_platform(paying_study())
    asked = []

    def pay(**arguments):
        asked.append(arguments)
        Payment.objects.create(
            participation=ann,
            kind="bonus",
            amount=Decimal(arguments["amount"]),
            currency="GBP",
            request_key=arguments["request_key"],
            created_at="2026-01-01T00:00Z",
        )

    monkeypatch.setattr("recruitment.services.participants.enqueue_action", pay)
    owner = member(ann.study, "owner")
    form = {
        "amount": "0.50",
        "reason": "It took longer.",
        "request_key": "k",
        "page": "participant",
    }
    question = owner.post(act(ann, "bonus"), form)
    assert not asked
    confirmed = {**dict(question.context["carry"]), "confirmed": question.context["token"]}
    done = owner.post(act(ann, "bonus"), confirmed, follow=True)
    assert levels_on(done) == ["success"]
    assert done.request["PATH_INFO"] == page_of(ann)
    assert codes_on(owner.post(act(ann, "bonus"), confirmed, follow=True)) == {"paid_already"}
    assert [arguments["amount"] for arguments in asked] == ["0.50"]


@pytest.mark.parametrize(
    ("form", "code"),
    [
        ({"amount": "much", "reason": "x", "request_key": "k"}, "amount_not_a_number"),
        ({"reason": "x", "request_key": "k"}, "amount_not_a_number"),
        ({"amount": "0.50", "request_key": "k"}, "no_reason"),
    ],
)
def test_a_bad_bonus_is_refused_on_the_page(member, form, code):
    ann = on_a_platform(paying_study())
    owner = member(ann.study, "owner")
    assert codes_on(owner.post(act(ann, "bonus"), form, follow=True)) == {code}


def test_a_short_message_is_refused_before_the_platform_is_asked(member):
    ann = on_a_platform(paying_study())
    form = {"category": "LOW_EFFORT", "message": "Bad."}
    owner = member(ann.study, "owner")
    assert codes_on(owner.post(act(ann, "reject"), form, follow=True)) == {"message_length"}


def test_the_confirmation_of_an_exclusion_shows_quality_and_no_outcome(member):
    study = paying_study(instances=2, ratings_per_hit=2)
    for name in ("ann", "bob"):
        complete(make_participation(study, name))
    ann = study.participations.first()
    editor = member(study, "editor")
    page = editor.post(act(ann, "exclude"), {"reason": "Failed checks."})
    prose = prose_of(page).lower()
    systems = [system.name for system in study.systems.all()]
    assert "agree" in prose
    assert not any(word in prose for word in (*systems, "win rate", "elo", "ranking"))
    post_confirmed(editor, act(ann, "exclude"), {"reason": "Failed checks."})
    assert study.events.get(verb="exclude").details["reason"] == "Failed checks."
    told = fromstring(editor.get(page_of(ann)).text).xpath("string(//*[@data-exclusion])")
    assert "editor" in told
    assert "Failed checks." in told


def test_what_was_found_is_beside_the_number_and_a_rule_reads_the_same_for_everybody(member):
    study = study_of(scale="ordinal:1..5")
    quick, slow = (rated(study, str(ms), "1" * 24, ms=ms) for ms in (100, 20_000))
    client, rules = member(study, "owner"), []
    for one, unusual in ((quick, {"seconds", "fast"}), (slow, set())):
        page = fromstring(client.get(page_of(one)).text)
        assert set(page.xpath("//td[1]//*[@data-unusual]/ancestor::tr/@data-sign")) == unusual
        rules.append([cell.text_content() for cell in page.xpath("//tr[@data-sign]/td[last()]")])
    assert rules[0] == rules[1]


def test_the_page_takes_as_few_statements_for_many_answers(member, django_assert_max_num_queries):
    study = paying_study(instances=6, comparisons_per_hit=6)
    for name in ("ann", "bob"):
        complete(make_participation(study, name))
    client = member(study, "owner")
    path = page_of(study.participations.first())
    client.get(path)
    with django_assert_max_num_queries(17):  # two of them say whether a payment is due
        client.get(path)


def test_a_payment_that_is_due_is_recorded_on_the_persons_own_page(member):
    study = paying_study()
    ann, bob = (make_participation(study, name) for name in ("ann", "bob"))
    complete(ann)
    finish_participation(participation=ann)
    owner, pay = member(study, "owner"), act(ann, "approve")
    assert not fromstring(member(study, "editor").get(page_of(ann)).text).xpath(
        f"//form[@action='{pay}']"
    )
    assert act(bob, "approve") not in owner.get(page_of(bob)).text  # nothing is due
    (form,) = fromstring(owner.get(page_of(ann)).text).xpath(f"//form[@action='{pay}']")
    sent = {field.name: field.value for field in form.xpath(".//input[@name='page']")}
    paid = post_confirmed(owner, pay, sent)
    assert (levels_on(paid), Payment.objects.get().participation) == (["success"], ann)
    assert paid.redirect_chain[-1][0] == page_of(ann)
    assert pay not in owner.get(page_of(ann)).text


def test_a_failed_test_stands_with_its_score_where_the_person_is_looked_at(member):
    study = study_with(test=3, pass_mark=3)
    ann = make_participation(study, "ann")
    answer_all(begin_stage(participation=ann), right=[True, False, False])
    html = fromstring(member(study, "owner").get(page_of(ann)).text)
    (test,) = html.xpath("//div[@data-attempt='qualification']")
    assert " ".join(test.text_content().split()) == "Test1 of 3 right not passed"


def test_answers_that_nobody_else_gave_are_shown_alone(member):
    """Of six items, another annotator rated one alike and two otherwise, and nobody the rest."""
    study = study_of(scale="ordinal:1..5")
    ann, _ = rated(study, "ann", "111111", ms=9000), rated(study, "bob", "122", ms=9000)
    otherwise = set(Rating.objects.filter(label="2").values_list("unit", flat=True))
    assert otherwise < set(Rating.objects.filter(rater=ann.rater).values_list("unit", flat=True))
    client = member(study, "analyst")
    alone = client.get(page_of(ann), {"answers": "alone"}).context["answers"]
    assert {answer.rating.unit_id for answer in alone} == otherwise
    page = client.get(page_of(ann))
    assert len(page.context["answers"]) == 6
    assert "answers=alone" in page.text
