"""Actions that cannot be undone ask for confirmation, and typed changes are never lost."""

import re
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from lxml import html as lxml_html

from annotation.services.planning import plan_hits
from recruitment.models import Channel, Payment, encrypted
from recruitment.services.lifecycle import close_study, reopen_study
from studies.instance_selection.scoring import score_separability
from studies.models import Generation, Study
from tests.annotation.places import take_place
from tests.annotation.services.test_late_answers import closed_midway
from tests.annotation.services.test_ratings import START, answer_all
from tests.confirming import post_confirmed
from tests.pages import codes_on, levels_on, numbers_in, prose_of, send_step
from tests.studies.factories import make_open_study, make_participation, make_study

pytestmark = pytest.mark.django_db


def do(study: Study, verb: str) -> str:
    return reverse("recruitment:launch-action", args=[study.pk, verb])


def state(study: Study) -> str:
    return Study.objects.get(pk=study.pk).status


def worked_on(member: User, **design) -> Study:
    """Create an open study with 1 of 6 responses completed and one task in progress."""
    study = make_open_study(instances=2, member=member, **design)
    answer_all(take_place(participation=make_participation(study, "ann"), now=START), now=START)
    take_place(participation=make_participation(study, "bob"))
    return study


def test_closing_shows_numbers_first_and_closes_once_confirmed(client, ruth):
    study = worked_on(ruth)
    page = client.post(do(study, "close"))
    completed, missing, live = page.context["question"].sentences[:3]
    assert [numbers_in(sentence) for sentence in (completed, missing, live)] == [
        {"1", "6"},
        {"5"},
        {"1"},
    ]
    assert state(study) == "open"
    client.post(do(study, "close"))  # without the token of the page
    assert state(study) == "open"
    client.post(do(study, "close"), {"confirmed": page.context["token"]})
    assert state(study) == "closed"
    assert study.events.first().by == ruth


def test_a_state_that_changed_meanwhile_asks_again(client, ruth):
    study = make_study(instances=2, member=ruth)
    plan_hits(study=study)
    token = client.post(do(study, "open")).context["token"]
    Generation.objects.filter(instance__key="note-0").update(text="The same.")
    again = client.post(do(study, "open"), {"confirmed": token})
    assert again.context["has_changed"]
    assert again.context["question"].warnings.keys() == {"identical_texts"}
    assert {"5", "10"} <= numbers_in(prose_of(again))
    assert state(study) == "draft"
    client.post(do(study, "open"), {"confirmed": again.context["token"]})
    assert state(study) == "open"


def test_answers_that_come_meanwhile_do_not_keep_a_busy_study_from_closing(client, ruth):
    study = worked_on(ruth)
    token = client.post(do(study, "close")).context["token"]
    answer_all(take_place(participation=make_participation(study, "cyn"), now=START), now=START)
    client.post(do(study, "close"), {"confirmed": token})
    assert state(study) == "closed"


def test_a_draft_lists_its_checks_before_anything_is_pressed(client, ruth):
    study = make_study(instances=2, member=ruth, guidelines="")
    page = client.get(reverse("recruitment:launch", args=[study.pk]))
    assert {"not_planned", "no_guidelines"} <= {row.code for row in page.context["rows"]}


def test_late_answers_are_decided_on_a_page_that_shows_no_outcome(client, ruth):
    study, _ = closed_midway()
    study.memberships.create(user=ruth)
    page = client.get(reverse("recruitment:launch", args=[study.pk]))
    assert "accept-late" not in page.context["actions"]
    post_confirmed(client, do(study, "reopen"))
    assert state(study) == "open"
    page = client.post(do(study, "accept-late"))
    assert {"4", "1"} <= numbers_in(page.context["question"].sentences[0])
    assert "system-0" not in page.content.decode()
    assert levels_on(post_confirmed(client, do(study, "accept-late"))) == ["success"]
    assert study.events.first().details == {"answers": 4, "people": 1}
    assert study.events.first().verb == "accept-late"


def act(study, participation, verb):
    return reverse("recruitment:ledger-action", args=[study.pk, participation.public_id, verb])


@pytest.mark.parametrize("verb", ["exclude", "approve", "release", "ask-to-return"])
def test_acts_on_people_are_asked_first(client, ruth, verb):
    study = worked_on(ruth, reward=Decimal("2.00"))
    ann = study.participations.order_by("pk").first()
    page = client.post(act(study, ann, verb))
    assert page.context["question"].facts[0] == ann.public_id
    ann.refresh_from_db()
    assert ann.status == "active"
    assert not Payment.objects.exists()


def test_excluding_says_how_many_ratings_leave_and_is_logged(client, ruth):
    study = worked_on(ruth)
    ann = study.participations.order_by("pk").first()
    page = client.post(act(study, ann, "exclude"))
    assert numbers_in(page.context["question"].sentences[0]) == {"5", "1"}
    confirmed = {"confirmed": page.context["token"], "reason": "Failed the checks."}
    client.post(act(study, ann, "exclude"), confirmed)
    event = study.events.get(verb="exclude")
    assert (event.by, event.details) == (
        ruth,
        {"annotator": ann.rater.pseudonym, "hits": 1, "reason": "Failed the checks."},
    )


def test_a_draw_says_what_it_replaces_and_is_logged(client, ruth):
    study = make_study(instances=8, member=ruth)
    score_separability(study=study)
    plan_hits(study=study)
    design = {
        "design": "uniform",
        "instances": 4,
        "control_share": 0.5,
        "weights": "floored",
        "floor": 0.1,
        "seed": 1,
    }
    address = reverse("metrics:selection-action", args=[study.pk, "draw"])
    page = client.post(address, design)
    assert numbers_in(page.context["question"].sentences[1]) == {"8"}
    assert not study.selected.exists()
    post_confirmed(client, address, design)
    assert study.selected.count() == 4
    assert study.events.get(verb="draw").by == ruth
    take_all = reverse("metrics:selection-action", args=[study.pk, "take-all"])
    page = client.post(take_all)
    assert numbers_in(page.context["question"].sentences[1]) == {
        "4"
    }  # the instances drawn and planned
    assert study.selected.count() == 4


@pytest.fixture
def platform(ruth, monkeypatch) -> Channel:
    study = make_open_study(
        instances=2, member=ruth, reward=Decimal("1.50"), minutes_per_hit=2, hits_per_annotator=1
    )
    asked = []
    monkeypatch.setattr(
        "recruitment.services.platform_actions.enqueue_action",
        lambda **arguments: asked.append(arguments),
    )
    channel = study.channels.create(
        provider="prolific",
        secret=encrypted("t"),
        settings={"description": "Read.", "fee_percent": "33.3"},
    )
    channel.asked = asked
    return channel


def ask(channel, verb):
    return reverse("recruitment:platform-action", args=[channel.study_id, "prolific", verb])


def opened(client, platform) -> dict[str, str]:
    """The digests with which the form of a platform's settings was opened."""
    page = client.get(reverse("recruitment:channels", args=[platform.study_id]))
    forms = lxml_html.document_fromstring(page.content.decode()).forms
    [form] = [one for one in forms if one.xpath(".//*[@id='prolific_description']")]
    return {"opened": form.fields["opened"]}


def test_publishing_says_what_it_costs_and_is_logged(client, ruth, platform):
    platform.settings["most_people"] = 20
    platform.save(update_fields=["settings"])
    page = client.post(ask(platform, "publish"), {"participants": "20"})
    assert {"20", "1.50", "30.00", "9.99"} <= numbers_in(prose_of(page))
    assert platform.asked == []
    post_confirmed(client, ask(platform, "publish"), {"participants": "20"})
    assert [arguments["participants"] for arguments in platform.asked] == ["20"]
    assert platform.study.events.get(verb="publish").by == ruth


@pytest.mark.parametrize("verb", ["start", "stop", "approve-all"])
def test_what_starts_ends_or_pays_on_a_platform_is_asked_first(client, platform, verb):
    platform.external_id = "60ab"
    platform.save()
    page = client.post(ask(platform, verb))
    assert page.context["question"]
    assert platform.asked == []


def test_no_number_of_people_is_refused_before_anything_is_asked(client, platform):
    for places in ("", "0", "-3", "many", "1" * 30):
        page = client.post(ask(platform, "publish"), {"participants": places}, follow=True)
        assert codes_on(page) == {"no_participants"}
    assert platform.asked == []


def test_the_steps_of_an_open_study_can_be_sent_as_they_stand(client, ruth):
    study = worked_on(ruth)
    for name in ("studies:data", "studies:task", "recruitment:quality", "recruitment:size"):
        assert send_step(client, reverse(name, args=[study.pk])).status_code == 302, name


def test_a_form_with_errors_saves_nothing_and_keeps_what_was_typed(client, ruth):
    study = make_study(instances=2, member=ruth)
    size = reverse("recruitment:size", args=[study.pk])
    page = send_step(client, size, currency="EUR", comparisons_per_hit="many")
    assert page.status_code == 200
    assert {'value="EUR"', 'value="many"'} <= set(
        re.findall(r'value="[^"]*"', page.content.decode())
    )
    study.refresh_from_db()
    assert study.currency != "EUR"


def test_a_channel_button_saves_the_channel_settings_first(client, platform):
    typed = {"has_settings": "1", "description": "Typed just now.", "fee_percent": "20"}
    client.post(ask(platform, "sync"), opened(client, platform) | typed)
    platform.refresh_from_db()
    assert platform.settings["description"] == "Typed just now."
    close = reverse(
        "recruitment:change-channel-state", args=[platform.study_id, "prolific", "close"]
    )
    later = {"description": "Typed later."}
    client.post(close, opened(client, platform) | typed | later)
    platform.refresh_from_db()
    assert platform.settings["description"] == "Typed later."
    assert platform.closed_at is not None


def test_invalid_settings_prevent_an_action_but_a_channel_can_still_be_closed(client, platform):
    typed = {"has_settings": "1", "description": "Typed.", "fee_percent": "many"}
    page = client.post(ask(platform, "sync"), typed)
    assert page.status_code == 400
    assert 'value="many"' in page.content.decode()
    assert platform.asked == []
    close = reverse(
        "recruitment:change-channel-state", args=[platform.study_id, "prolific", "close"]
    )
    page = client.post(close, typed)
    assert 'value="many"' in page.content.decode()
    platform.refresh_from_db()
    assert platform.closed_at is not None


def test_a_token_is_not_written_into_the_page_that_asks(client, platform):
    typed = {"has_settings": "1", "description": "Typed.", "token": "s3cret", "participants": "5"}
    page = client.post(ask(platform, "publish"), opened(client, platform) | typed)
    assert "s3cret" not in page.content.decode()
    assert page.context["carry"] == [("participants", "5")]


def test_links_for_platforms_are_made_of_the_public_address(client, ruth, settings):
    settings.TIEBREAK_PUBLIC_URL = "https://rate.example.org"
    study = make_open_study(instances=1, member=ruth)
    page = client.get(reverse("recruitment:channels", args=[study.pk])).content.decode()
    assert f'value="https://rate.example.org/s/{study.pk}/"' in page


def test_reopening_twice_is_refused(client, ruth):
    study = make_open_study(instances=1, member=ruth)
    close_study(study=study)
    reopen_study(study=study)
    assert "wrong_state" in codes_on(post_confirmed(client, do(study, "reopen")))
