"""Licences: granted where the evidence passes, kept with it, and ended by hand or by drift."""

from dataclasses import replace
from datetime import date, timedelta
from functools import partial

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone
from lxml.html import fromstring

from annotation.models import Rating
from annotation.services.tallies import set_flags
from metrics import tasks
from metrics.licensing.evidence import current_evidence, why_no_gain
from metrics.licensing.messages import (
    MATCHED,
    NO_FURTHER_ITEMS,
    NO_INTERVAL_ALONE,
    NO_SPREAD,
    NO_WIN_RATES,
    NONE_TESTED,
    UNKNOWN_GAIN,
)
from metrics.licensing.services import (
    check_licences,
    grant_licence,
    in_force,
    licences_of,
    revoke_licence,
    studies_with_licences,
)
from metrics.models import Licence, ReportSnapshot, SectionSnapshot
from metrics.results import services
from studies.freshness import changes_noted
from studies.models import Study, StudyEvent
from tests.architecture.test_roles import member
from tests.metrics.licensing import studies
from tests.metrics.licensing.studies import (
    EASY,
    HARD,
    compute_evidence,
    judged_study,
    rate_later,
)
from tests.metrics.studies import preferences, report_of
from tests.pages import prose_of, unexplained
from tests.refusals import refused
from tests.studies.factories import make_study
from tiebreak.reading.messages import READING_IF_DRAWN
from tiebreak.report.build import report_from

pytestmark = pytest.mark.django_db
CROWD = Licence.Annotators.CROWD


def without_workers(patch: pytest.MonkeyPatch) -> list[tuple]:
    """Make reports quick, and return the tasks that would be queued."""
    requests = []
    for name in ("refresh_report_task", "refresh_section_task", "check_study_licences_task"):
        task = getattr(tasks, name)
        patch.setattr(
            task, "apply_async", lambda args, queue=None, name=name: requests.append((name, *args))
        )
    patch.setattr(services, "report_from", partial(report_from, replicates=0))
    return requests


@pytest.fixture
def requests(monkeypatch):
    return without_workers(monkeypatch)


@pytest.fixture(scope="module")
def stored(module_db, tmp_path_factory) -> str:
    with pytest.MonkeyPatch.context() as patch:
        without_workers(patch)
        return compute_evidence(judged_study(tmp_path_factory.mktemp("judged"))).pk


@pytest.fixture
def study(db, stored, requests) -> Study:
    return Study.objects.get(pk=stored)


def tomorrow() -> date:
    return timezone.now().date() + timedelta(days=1)


def grant(study, category=EASY, **changes) -> Licence:
    values = {
        "machine": "judge",
        "category": category,
        "annotators": CROWD,
        "valid_until": tomorrow(),
        "criterion": study.criteria.get(),
    }
    return grant_licence(study=study, **(values | changes))


def test_a_licence_keeps_the_numbers_it_was_granted_on_and_is_in_the_log(study):
    ruth = User.objects.create_user("ruth", is_staff=True)
    licence = grant(study, by=ruth)
    evidence = licence.evidence
    assert (evidence["epsilon"], evidence["winning_rate"], evidence["annotators"]) == (0.1, 1, 3)
    assert (evidence["labels"], evidence["instances"]) == (120, 40)
    assert evidence["coin_winning_rate"] < 0.05
    assert evidence["coins_passing"] <= 0.05
    assert evidence["agreement"] > evidence["agreement_low"] > max(evidence["guessing"].values())
    report = ReportSnapshot.objects.get(study=study).report
    assert evidence["rows_sha256"] == report["source"]["rows_sha256"]
    assert evidence["computed_at"] == SectionSnapshot.objects.get().made_at.isoformat()
    event = StudyEvent.objects.get(study=study, verb=StudyEvent.Verb.GRANT_LICENCE)
    assert event.by == ruth
    assert event.details["until"] == tomorrow().isoformat()
    assert list(in_force(study)) == [licence]


@pytest.mark.thorough
def test_a_licence_changes_no_rating_and_no_number(study):
    before = list(Rating.objects.values()), ReportSnapshot.objects.get().watermark
    grant(study)
    assert (list(Rating.objects.values()), ReportSnapshot.objects.get().watermark) == before


def test_where_the_test_is_not_passed_the_refusal_has_the_numbers(study):
    with refused("not_passed") as caught:
        grant(study, HARD)
    assert "0.10" in str(caught.value)
    assert "0.00" in str(caught.value)
    assert not licences_of(study)
    assert not study.events.filter(verb=StudyEvent.Verb.GRANT_LICENCE)


@pytest.mark.parametrize(
    ("label_of", "code"),
    [
        (lambda i, r: -1 if i % 9 == 3 * r else 1, "not_above_guessing"),
        (lambda i, r: studies.truth_of(i) * (-1 if r == 1 else 1), "coins_pass"),
    ],
)
def test_passing_the_test_is_not_enough(tmp_path, requests, monkeypatch, label_of, code):
    """Annotators give one label nearly always, or two of them always contradict each other."""
    monkeypatch.setattr(services, "report_from", partial(report_from, replicates=0))
    monkeypatch.setattr(studies, "label_of", label_of)
    study = judged_study(tmp_path)
    with changes_noted():
        set_flags(ratings=Rating.objects.filter(rater__pseudonym="r2"), excluded=True)
    row = current_evidence(compute_evidence(study), study.criteria.get()).one("judge", EASY, 0.1)
    assert (row.test.passes, row.passes, row.refusal) == (True, False, code)
    with refused(code):
        grant(study)


def test_all_items_are_not_those_of_the_category_that_passes(study):
    with refused("not_passed"):
        grant(study, "")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"machine": "another"}, "no_such_evidence"),
        ({"category": "odd"}, "no_such_evidence"),
        ({"category": "undefined"}, "no_such_evidence"),
        ({"valid_until": date(2020, 1, 1)}, "date_is_past"),
    ],
)
def test_what_is_not_there_cannot_be_licensed(study, changes, code):
    with refused(code):
        grant(study, **changes)


@pytest.mark.parametrize("speaks_of", ["dataset", "selected"])
def test_after_a_draw_the_evidence_says_which_instances_it_describes(study, speaks_of):
    row = current_evidence(study, study.criteria.get()).of("judge", 0.1).overall
    assert "drawn" not in row.scope
    drawn = replace(row, test=replace(row.test, speaks_of=speaks_of))
    assert drawn.scope.endswith(READING_IF_DRAWN[speaks_of])


@pytest.mark.thorough
def test_too_few_instances_give_no_licence(study):
    some = Rating.objects.filter(unit__instance__category=EASY).order_by("unit")
    units = sorted({rating.unit_id for rating in some})[:20]
    with changes_noted():
        set_flags(ratings=some.filter(unit__in=units), excluded=True)
    with refused("evidence_pending"):
        grant(study)
    with refused("not_testable"):
        grant(compute_evidence(study))


def test_evidence_of_earlier_ratings_is_not_enough(study, requests):
    rate_later(study, "1")
    with refused("evidence_pending"):
        grant(study)
    assert ("refresh_section_task", study.pk, "machine_replacement", "") in requests


def test_before_the_planned_number_nothing_passes(study, monkeypatch):
    monkeypatch.setattr("metrics.licensing.evidence.unreached", lambda about: object())
    with refused("number_unreached"):
        grant(study)
    page = member(study, "owner").get(page_of(study))
    assert "Passed" not in prose_of(page)
    assert page.context["machines"][0].overall.passes is None


def test_there_is_one_licence_at_a_time_for_the_same(study):
    first = grant(study)
    with refused("licence_exists"):
        grant(study)
    revoke_licence(licence=first, reason="Another model serves it.")
    assert grant(study).pk != first.pk


def test_an_expired_licence_is_not_in_force_and_may_be_granted_anew(study):
    licence = grant(study)
    Licence.objects.update(valid_until=timezone.now().date() - timedelta(days=1))
    licence.refresh_from_db()
    assert licence.state == "expired"
    assert not in_force(study)
    assert not studies_with_licences()
    assert grant(study).state == "in force"
    assert [one.state for one in licences_of(study)] == ["in force", "expired"]


def test_a_licence_is_revoked_once(study):
    licence = grant(study)
    revoke_licence(licence=licence, reason="outdated")
    assert (licence.state, licence.reason) == ("revoked", "outdated")
    with refused("licence_ended"):
        revoke_licence(licence=Licence.objects.get())
    assert study.events.filter(verb=StudyEvent.Verb.REVOKE_LICENCE).count() == 1


# Labels by bots.

ALL_BOTS = frozenset({"r0", "r1", "r2"})


@pytest.fixture
def bots_study(tmp_path, requests):
    """A study in which only bots and the judge rated."""
    return compute_evidence(judged_study(tmp_path, bots=ALL_BOTS))


def test_labels_by_bots_alone_give_no_licence(bots_study):
    with refused("only_simulated"):
        grant(bots_study)
    assert not licences_of(bots_study)


def test_where_the_test_fails_the_refusal_is_of_the_test_also_with_bots(bots_study):
    with refused("not_passed"):
        grant(bots_study, HARD)


def test_a_dry_run_grants_by_bots_and_says_so(bots_study):
    bots_study.dry_run_of = make_study(instances=1)
    bots_study.save()
    licence = grant(bots_study)
    assert (licence.evidence["simulated"], licence.evidence["labels"]) == (120, 120)
    assert "all of these labels were given by bots" in licence.evidence["sentence"]
    event = bots_study.events.get(verb=StudyEvent.Verb.GRANT_LICENCE)
    assert event.details["evidence"] == licence.evidence["sentence"]


def test_labels_by_people_and_bots_are_counted(tmp_path, requests, monkeypatch):
    monkeypatch.setattr(services, "report_from", partial(report_from, replicates=0))
    mixed = compute_evidence(judged_study(tmp_path, bots=frozenset({"r1"})))
    licence = grant(mixed)
    assert (licence.evidence["simulated"], licence.evidence["labels"]) == (40, 120)
    assert "40 of these labels were given by bots" in licence.evidence["sentence"]


def test_without_bots_nothing_is_called_simulated(study):
    licence = grant(study)
    assert licence.evidence["simulated"] == 0
    assert "bots" not in licence.evidence["sentence"]
    page = member(study, "owner").get(page_of(study))
    assert "Simulated" not in prose_of(page)


def test_the_page_says_that_ratings_are_simulated(bots_study):
    page = member(bots_study, "owner").get(page_of(bots_study))
    assert 'class="state-chip simulated"' in page.content.decode()
    assert {row.simulated for row in page.context["machines"][0].rows if row.test} == {240, 120}


# What it adds to win rates.


def test_without_further_items_the_gain_needs_them(study):
    stored = current_evidence(study, study.criteria.get())
    assert stored.of("judge", 0.1).gain == NO_FURTHER_ITEMS


def of_powered(votes, others):
    """Return the section of a criterion whose judge also rated `others` items."""
    rows = preferences(votes)
    judge = {"rater": "judge", "kind": "machine", "system_a": "a", "system_b": "b"}
    rows += [
        judge | {"unit": f"u{i}", "instance": f"i{i}", "label": 1 if i % 3 else -1}
        for i in range(len(votes) + others)
    ]
    return report_of(rows).criteria["preference"].systems


def test_a_missing_gain_has_the_reason_of_the_report():
    systems = of_powered([[-1, -1, 1], [1, 1, 1]] * 2, 20)
    reason = systems.powered["a"].stack.reason
    assert "10 independent instances" in reason
    assert why_no_gain(systems, "judge") == UNKNOWN_GAIN.format(reasons=reason)


def test_without_spread_or_win_rates_the_gain_says_so():
    systems = of_powered([[-1, -1, 1]] * 4, 20)
    rates = {name: replace(rate, reason="") for name, rate in systems.win_rate.items()}
    flat = replace(systems, win_rate=rates, prediction_powered={"judge": rates})
    assert why_no_gain(flat, "judge") == UNKNOWN_GAIN.format(reasons=NO_SPREAD)
    stacked = {name: replace(one, stack=rates[name]) for name, one in systems.powered.items()}
    others = replace(systems, win_rate=rates, prediction_powered=None, powered=stacked)
    assert why_no_gain(others, "judge") == UNKNOWN_GAIN.format(reasons=NO_INTERVAL_ALONE)
    assert why_no_gain(replace(systems, win_rate={}), "judge") == NO_WIN_RATES
    assert why_no_gain(None, "judge") == NO_WIN_RATES


# Drift.


def test_labels_that_contradict_the_machine_end_its_licence(study):
    licence = grant(study)
    rate_later(study, "-1")
    (ended,) = check_licences(study=study)
    licence.refresh_from_db()
    assert ended == licence
    assert (licence.ending, licence.ended_by) == (Licence.Ending.DRIFT, None)
    assert licence.checked["labels"] == 40
    assert licence.checked["agreement"] < licence.evidence["agreement"] - 0.1
    event = study.events.get(verb=StudyEvent.Verb.LICENCE_DRIFT)
    assert (event.by, event.details["reason"]) == (None, licence.reason)
    assert licence.reason.split().count("40") == 1


def test_new_labels_are_compared_with_the_unweighted_agreement(study):
    """They come from the drawn items as these are, and not from the dataset that they stand for."""
    licence = grant(study)
    assert licence.evidence["unweighted_agreement"] == licence.evidence["agreement"]
    licence.evidence |= {"unweighted_agreement": 0.05}
    licence.save()
    rate_later(study, "-1")
    assert check_licences(study=study) == []


def test_a_licence_ends_with_the_ratings_that_it_rests_on(study):
    licence = grant(study)
    assert check_licences(study=study) == []
    with changes_noted():
        set_flags(ratings=Rating.objects.filter(rater__kind="machine"), excluded=True)
    assert check_licences(study=study) == [licence]
    licence.refresh_from_db()
    assert (licence.ending, licence.ended_by) == (Licence.Ending.REVOKED, None)
    assert study.events.filter(verb=StudyEvent.Verb.REVOKE_LICENCE).count() == 1


def test_labels_like_the_machines_keep_the_licence(study):
    licence = grant(study)
    rate_later(study, "1")
    assert check_licences(study=study) == []
    licence.refresh_from_db()
    assert licence.is_in_force
    assert licence.checked["labels"] == 40


def test_labels_of_other_items_and_earlier_ones_are_not_compared(study):
    licence = grant(study)
    rate_later(study, "1", category=HARD)
    check_licences(study=study)
    licence.refresh_from_db()
    assert licence.checked["labels"] == 0
    assert licence.is_in_force


@pytest.mark.thorough
def test_one_label_of_each_instance_is_compared(study):
    licence = grant(study)
    rate_later(study, "1")
    rate_later(study, "-1", name="last")
    check_licences(study=study)
    licence.refresh_from_db()
    assert (licence.checked["labels"], licence.is_in_force) == (40, True)


def test_the_same_ratings_are_not_read_twice(study, monkeypatch):
    grant(study)
    check_licences(study=study)

    def read_again(_):
        raise AssertionError

    monkeypatch.setattr("metrics.licensing.drift.source_of", read_again)
    assert check_licences(study=study) == []


def test_a_licence_that_was_revoked_is_not_revoked_by_drift(study):
    revoke_licence(licence=grant(study))
    rate_later(study, "-1")
    assert check_licences(study=study) == []
    assert Licence.objects.get().ending == Licence.Ending.REVOKED


def test_workers_check_the_studies_with_licences(study, requests):
    tasks.check_licences_task()
    assert not any(name == "check_study_licences_task" for name, *_ in requests)
    grant(study)
    rate_later(study, "-1")
    tasks.check_licences_task()
    assert ("check_study_licences_task", study.pk) in requests
    tasks.check_study_licences_task(study.pk)
    assert Licence.objects.get().ending == Licence.Ending.DRIFT
    tasks.check_study_licences_task("gone")


def test_the_command_checks_one_study_or_all(study, capsys):
    grant(study)
    call_command("check_licences")
    assert capsys.readouterr().out.startswith("In force: judge, preference, category easy.")
    rate_later(study, "-1")
    call_command("check_licences", study.pk)
    assert capsys.readouterr().out.startswith("Revoked: judge, preference, category easy.")
    with pytest.raises(CommandError):
        call_command("check_licences", "nothing")


# The page.


def page_of(study) -> str:
    return reverse("metrics:licences", args=[study.pk])


def form_of(study, **changes) -> dict[str, str]:
    values = {"criterion": "preference", "machine": "judge", "category": EASY}
    return values | {"annotators": CROWD, "valid_until": tomorrow().isoformat()} | changes


def test_the_page_says_of_whom_the_numbers_speak_and_where_the_test_fails(study):
    page = member(study, "owner").get(page_of(study))
    (one,) = page.context["machines"]
    assert one.overall.passes is False
    assert unexplained(page) == []
    passes = {row.items: row.passes for row in one.rows[1:] if row.test}
    assert passes == {EASY: True, HARD: False, "old vs new": False}
    assert one.untested == {}
    assert page.context["answer"].startswith(f"judge: {EASY}.")
    words = prose_of(page)
    assert "these 3 annotators" in words
    assert "240 labels of 80 instances" in words
    described = [row for row in one.rows if row.test is None]
    assert {row.stratum.stratifier for row in described} == {"agreement"}


def test_the_results_have_a_row_for_each_decision_and_each_test(study):
    grant(study)
    page = member(study, "owner").get(reverse("metrics:results-tab", args=[study.pk, "machines"]))
    table = fromstring(page.content).xpath("//*[@aria-labelledby='stand-in-heading']/table")[0]
    decided, tested, *of_kinds = table.xpath("tbody/tr")
    assert of_kinds
    assert [len(row.xpath(".//strong")) for row in (decided, tested)] == [1, 0]
    assert EASY in decided.text_content()
    assert "0 of 3 annotators" in tested.text_content()


def test_the_answer_comes_first_and_needs_no_term_of_help(study):
    grant(study)
    page = member(study, "owner").get(page_of(study))
    assert "licen" not in prose_of(page).lower()
    html = page.content.decode().partition("<main")[2]
    assert html.index("data-answer") < min(html.index("<table"), html.index("<details"))
    (one,) = page.context["machines"]
    assert {row.passes: row.shortly for row in one.rows if row.test} == {
        False: MATCHED.format(of="0 of 3 annotators", needed=2),
        True: MATCHED.format(of="3 of 3 annotators", needed=2),
    }


def test_a_reason_for_no_test_is_given_once_and_nothing_can_be_granted(
    tmp_path, requests, monkeypatch
):
    monkeypatch.setattr(studies, "INSTANCES", 20)
    study = compute_evidence(judged_study(tmp_path))
    page = member(study, "owner").get(page_of(study))
    (one,) = page.context["machines"]
    ((reason, items),) = one.untested.items()
    assert items == [EASY, HARD, "old vs new"]
    assert {row.outcome_in_short for row in one.rows if row.test} == {"not tested"}
    assert page.context["answer"] == NONE_TESTED.format(reasons=reason)
    assert "data-nothing-to-grant" in page.content.decode()
    assert 'name="valid_until"' not in page.content.decode()


def test_the_kind_of_annotators_chooses_epsilon(study):
    owner = member(study, "owner")
    for annotators, epsilon in (("crowd", 0.1), ("trained", 0.15), ("experts", 0.2)):
        page = owner.get(page_of(study), {"annotators": annotators})
        assert {row.test.epsilon for row in page.context["machines"][0].rows if row.test} == {
            epsilon
        }


def test_an_editor_grants_and_revokes_on_the_page(study):
    editor = member(study, "editor")
    answer = editor.post(page_of(study), form_of(study))
    assert answer["Location"] == f"{page_of(study)}?criterion=preference&annotators=crowd"
    licence = Licence.objects.get()
    assert licence.granted_by.username == "editor"
    shown = prose_of(editor.get(page_of(study)))
    assert "judge, preference, category easy: in force" in shown
    address = reverse("metrics:revoke-licence", args=[study.pk, licence.public_id])
    assert editor.post(address, {"reason": "outdated"}).status_code == 302
    licence.refresh_from_db()
    assert (licence.ended_by.username, licence.reason) == ("editor", "outdated")


def test_a_refusal_is_shown_on_the_page_with_what_was_typed(study):
    page = member(study, "owner").post(page_of(study), form_of(study, category=HARD))
    assert page.status_code == 400
    assert [error.code for error in page.context["form"].non_field_errors().as_data()] == [
        "not_passed"
    ]
    assert not Licence.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "analyst"])
def test_who_may_not_change_a_study_grants_nothing(study, role):
    licence, client = grant(study), member(study, role)
    assert client.post(page_of(study), form_of(study)).status_code == 403
    address = reverse("metrics:revoke-licence", args=[study.pk, licence.public_id])
    assert client.post(address).status_code == 403
    if role == "analyst":
        assert "grant-heading" not in client.get(page_of(study)).text


def test_without_evidence_the_page_waits_for_it(tmp_path, requests):
    study = judged_study(tmp_path)
    page = member(study, "owner").get(page_of(study))
    assert page.status_code == 200
    assert page.context["evidence"] is None
    assert 'hx-select="#evidence"' in page.content.decode()


def test_a_study_without_a_machine_rater_says_so(study):
    with changes_noted():
        set_flags(ratings=Rating.objects.filter(rater__kind="machine"), excluded=True)
    compute_evidence(study)
    page = member(study, "owner").get(page_of(study))
    assert page.context["machines"] == []
    assert "data-empty" in page.content.decode()
