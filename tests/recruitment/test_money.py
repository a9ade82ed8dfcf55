"""Money cannot surprise: nothing that people do makes a study cost more than it announced."""

import re
from collections import defaultdict
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from functools import partial
from importlib import import_module
from inspect import getmembers, isfunction, signature
from itertools import count
from pkgutil import iter_modules

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from annotation.models import Assignment, Participation
from annotation.services.exclusion import exclude_work
from annotation.services.participations import finish_participation, mark_guidelines_read
from annotation.services.planning import plan_hits
from annotation.services.reference_units import degrade_copies
from annotation.services.screening import begin_stage
from recruitment import services
from recruitment.admission import collection_of, maximum, newcomers_pay
from recruitment.costs import forecast, plan_counts, spending_of
from recruitment.ledger import ledger
from recruitment.models import Channel, Payment
from recruitment.platforms import get_platform, platforms
from recruitment.services.channels import save_channel
from recruitment.services.entry import Entrant, give_consent
from recruitment.services.leaving import leave_early
from recruitment.services.lifecycle import close_study, reopen_study
from recruitment.services.participants import release_participant
from recruitment.services.platform_actions import ACTIONS, write_payees
from recruitment.services.settings import save_settings
from recruitment.terms import CLOSED_BY_PLATFORM, owed, paid_tasks
from studies.models import Generation, Screening, Study, Unit
from tests.annotation.places import take_place
from tests.annotation.services.test_screening import PROSE, answer_all
from tests.architecture.test_defences import OWN
from tests.studies.factories import make_study, open_knowingly
from tiebreak.errors import DomainError

pytestmark = pytest.mark.django_db

CHANNELS = {
    "open-link": {},
    "panel": {"person_parameter": "pid", "fee_percent": "20"},
    "prolific": {"fee_percent": "33.3", "screen_out_reward": "0.40"},
    "invitation": {"people": "ann"},
}
PEOPLE = st.integers(0, 7)
CHANGES = [
    {"ratings_per_hit": 3},
    *({"reward": Decimal(reward)} for reward in ("1.00", "9.00")),
    *({"hits_per_annotator": tasks} for tasks in (None, 1, 3)),
    {"reward": None},
]
DESIGNS = st.fixed_dictionaries(
    {
        "ratings_per_hit": st.integers(1, 2),
        "further_share": st.sampled_from([0.0, 0.5]),
        "instances": st.integers(2, 5),
        "hits_per_annotator": st.sampled_from([None, 1, 2, 20]),
        "reward": st.sampled_from([Decimal("3.00"), Decimal("0.05")]),
        "abandoned": st.sampled_from(["whole_hit", "units"]),
        "most_answers": st.sampled_from([None, 3]),
        "nonresponses": st.just("both"),
        "unlabelled_tasks": st.sampled_from(["complete", "replaced"]),
        "most_people": st.sampled_from([None, 1, 2]),
        "test": st.booleans(),
        "gold": st.booleans(),
    }
)


def a_study(*, test: bool = False, gold: bool = False, **design) -> Study:
    study = make_study(**{"comparisons_per_hit": 1, "minutes_per_hit": 2.0} | design)
    if test or gold:
        Generation.objects.update(text=PROSE)
    for role, is_wanted in ((Unit.Role.QUALIFICATION, test), (Unit.Role.GOLD, gold)):
        if is_wanted:
            degrade_copies(study=study, role=role, n=1)
    plan_hits(study=study)
    if test or gold:
        Screening.objects.create(
            study=study,
            qualification_units=int(test),
            pass_mark=1,
            check_rate=float(gold),
            checks_failed=1,
            check_action="stop",
        )
    return study


def opened(providers=("open-link",), most_people=None, **design) -> Study:
    study = open_knowingly(a_study(**design))
    for provider in providers:
        Channel.objects.create(
            study=study,
            provider=provider,
            settings=CHANNELS[provider] | {"most_people": most_people},
            external_id="there",  # without which Prolific is not ready
        )
    return study


def enter(study: Study, provider: str, name: str, now=None):
    participation = give_consent(
        study=study,
        entrant=Entrant(
            provider=provider,
            external_id=name,
            submission_id=name,
            channel=study.channels.filter(provider=provider).first(),
            paid_per=get_platform(provider).paid_per,
        ),
        now=now,
    )
    mark_guidelines_read(participation=participation, now=now)
    participation.refresh_from_db()
    return participation


# Whatever services and workers do about people: a new verb is tried, too.
VERBS = {f"worker: {name}": action for name, action in ACTIONS.items()} | {
    name: verb
    for module in iter_modules(services.__path__, f"{services.__name__}.")
    for name, verb in getmembers(import_module(module.name), isfunction)
    if verb.__module__ == module.name and not name.startswith("_")
    if {"participation", "participations", "payment", "total"} & signature(verb).parameters.keys()
}
del VERBS["note_reward"]  # what a platform reports is recorded in any case, and told


def ask(name, person, amount=Decimal(9), kind=Payment.Kind.BONUS, now=None):
    """Call a verb with what it takes; an unknown parameter has to be added here."""
    now, key = now or timezone.now(), person.public_id
    given = {"participation": person, "participations": [person], "study": person.study, "now": now}
    given |= {"amount": amount, "total": amount, "kind": kind, "was_paid": True, "reason": "Good."}
    given |= {
        "message": "Bad." * 30,
        "category": "OTHER",
        "request_key": f"{now}",
        "ending": "no_work",
    }
    given["payment"] = Payment(participation=person, kind=kind, amount=amount, created_at=now)
    taken = signature(VERBS[name]).parameters.values()
    if name.startswith("worker: "):
        words = {name: str(value) for name, value in given.items()} | {"participation": key}
        words |= {"payees": write_payees({key: amount}), "participants": "1"}
        VERBS[name](person.submission.channel, defaultdict(str, words))
    else:
        needed = {one.name for one in taken if one.default is one.empty} | given.keys()
        VERBS[name](**{one.name: given[one.name] for one in taken if one.name in needed})


def let_platforms_pay(monkeypatch) -> None:
    for platform in platforms().values():
        for verb in ("approve", "pay", "reject", "ask_to_return"):
            monkeypatch.setattr(type(platform), verb, lambda *_: "done")


ENDINGS = [
    leave_early,
    finish_participation,
    partial(exclude_work, status="returned"),
    partial(exclude_work, status="timed_out"),
]


def change(study: Study, **values) -> Study:
    study = Study.objects.get(pk=study.pk)
    for name, value in values.items():
        setattr(study, name, value)
    save_settings(study=study)
    return study


class StudyThatPays(RuleBasedStateMachine):
    """A study with a budget of what it announced, in which people do whatever they like."""

    def __init__(self):
        super().__init__()
        self.savepoint = transaction.atomic()
        self.savepoint.__enter__()
        self.now, self.names, self.promised = timezone.now(), count(), {}

    def teardown(self):
        transaction.set_rollback(True)
        self.savepoint.__exit__(None, None, None)

    @initialize(
        design=DESIGNS,
        providers=st.sets(st.sampled_from(sorted(CHANNELS)), min_size=1),
        has_budget=st.booleans(),
    )
    def begin(self, design, providers, has_budget):
        self.study = opened(sorted(providers), **design)
        self.announced = maximum(self.study).total
        cost = forecast(self.study, hits=collection_of(self.study).hits)
        assert cost.total is None or cost.total <= self.announced
        if has_budget:
            self.study = change(self.study, budget=self.announced)

    def person(self, index):
        people = list(self.study.participations.order_by("pk"))
        return people[index % len(people)] if people else None

    def channel(self, index):
        channels = list(self.study.channels.order_by("pk"))
        return channels[index % len(channels)]

    def newcomer(self, index):
        channel, study = self.channel(index), Study.objects.get(pk=self.study.pk)
        channel.study = study
        pay = newcomers_pay(channel, collection_of(study).hits)
        participation = enter(study, channel.provider, f"p{next(self.names)}", self.now)
        self.promised[participation.pk] = pay
        return participation

    @rule(index=PEOPLE, people=st.integers(1, 5), right=st.booleans())
    def arrive(self, index, people, right):
        for _ in range(people):
            with suppress(DomainError):
                self.do(self.newcomer(index), right=right)

    @rule(index=PEOPLE, right=st.booleans(), nonresponse=st.sampled_from(["", "cannot_say"]))
    def work(self, index, right, nonresponse):
        if participation := self.person(index):
            with suppress(DomainError):
                self.do(participation, right=right, nonresponse=nonresponse)

    def do(self, participation, **given):
        assignment = begin_stage(participation=participation, now=self.now)
        if assignment is None:
            assignment = take_place(participation=participation, now=self.now)
        answer_all(assignment, now=self.now, **given)

    @rule(index=PEOPLE, is_away=st.booleans())
    def take_a_task_only(self, index, is_away):
        with suppress(DomainError):
            take_place(participation=self.newcomer(index), now=self.now)
        self.now += timedelta(minutes=31 * is_away)

    @rule(index=PEOPLE, is_stale=st.booleans())
    def leave_a_place_that_another_takes(self, index, is_stale):
        with suppress(DomainError):
            leaver = self.newcomer(index)
            assignment = take_place(participation=leaver, now=self.now)
            leave_early(participation=leaver, now=self.now)
            self.do(self.newcomer(index))
            if is_stale:
                answer_all(assignment, now=self.now)

    @rule(index=PEOPLE)
    def answer_from_a_stale_tab(self, index):
        for assignment in Assignment.objects.filter(participation=self.person(index)):
            with suppress(DomainError):
                answer_all(assignment, now=self.now)

    @rule(index=PEOPLE, ending=st.sampled_from(ENDINGS))
    def end_or_return(self, index, ending):
        if participation := self.person(index):
            with suppress(DomainError):
                ending(participation=participation)

    @rule()
    def close_and_reopen(self):
        with suppress(DomainError):
            close_study(study=self.study)
            for assignment in Assignment.objects.filter(hit__study=self.study, status="active"):
                answer_all(assignment, now=self.now)
            reopen_study(study=self.study)

    @rule(values=st.sampled_from(CHANGES))
    def change_the_terms(self, values):
        with suppress(DomainError):
            self.study = change(self.study, **values)
        self.announce_again()

    @rule(index=PEOPLE, reward=st.sampled_from(["", "0.10", "4.00"]))
    def change_a_channel(self, index, reward):
        channel = self.channel(index)
        channel.settings["screen_out_reward"] = reward
        with suppress(DomainError):
            save_channel(channel=channel)
        self.announce_again()

    @rule(
        index=PEOPLE,
        verb=st.sampled_from(sorted(VERBS)),
        kind=st.sampled_from(list(Payment.Kind)),
        amount=st.integers(1, 9),
    )
    def do_what_nobody_announced(self, index, verb, kind, amount):
        if participation := self.person(index):
            with suppress(DomainError):
                ask(verb, participation, Decimal(amount), kind, self.now)
        self.announce_again()

    def announce_again(self):
        """A study without a budget may come to cost more, and says so before it does."""
        if self.study.budget is None:
            self.announced = maximum(Study.objects.get(pk=self.study.pk)).total

    @invariant()
    def everybody_is_owed_what_they_were_promised(self):
        for pk, pay in self.promised.items():
            one = Participation.objects.get(pk=pk)
            if one.status == "screened_out":
                assert (owed(one) or 0) >= pay.screen_out
            elif one.status not in CLOSED_BY_PLATFORM:
                assert (owed(one) or 0) >= pay.for_tasks(paid_tasks(one).count())

    @invariant()
    def what_is_expected_stays_within_the_maximum(self):
        if not hasattr(self, "study"):
            return
        study = Study.objects.get(pk=self.study.pk)
        cost = forecast(study, hits=collection_of(study).hits)
        listed = spending_of(Study.objects.annotate(**plan_counts()))[study.pk]
        if cost.total is not None:
            assert cost.total <= cost.maximum.total
            assert listed.paid.total + listed.committed.total <= cost.maximum.total

    @invariant()
    def the_ledger_stays_within_the_announced_maximum(self):
        if not hasattr(self, "announced"):
            return
        accounts = ledger(Study.objects.get(pk=self.study.pk), self.now + timedelta(days=1))
        due = sum((owed(row.participation) or 0 for row in accounts.rows if may_be_owed(row)), 0)
        assert accounts.owed.amount <= due
        assert due + accounts.money.rewards <= self.announced
        assert accounts.money.spent + accounts.owed.amount + accounts.owed.fees <= self.announced


def may_be_owed(row) -> bool:
    rewarded = row.participation.payments.exclude(kind=Payment.Kind.BONUS).exists()
    return not rewarded and (row.hits or row.participation.status == "screened_out")


def test_no_verb_exceeds_the_budget(monkeypatch):
    """Whom nobody expected, whose submission the platform closed, and who works."""
    let_platforms_pay(monkeypatch)
    study = opened(["prolific"], most_people=2, instances=6, ratings_per_hit=1, reward=Decimal(3))
    people = [enter(study, "prolific", "a")]
    release_participant(participation=people[0])
    for name in "bc":
        people.append(enter(study, "prolific", name))
        answer_all(take_place(participation=people[-1]))
    exclude_work(participation=people[1], status="timed_out")
    refusing, budget = set(), maximum(study).total
    Study.objects.update(budget=budget)
    for person, secret in zip(people, ("", "x", ""), strict=True):
        Channel.objects.update(secret=secret)
        for name in VERBS:
            with transaction.atomic():
                try:
                    ask(name, Participation.objects.get(pk=person.pk))
                except DomainError as refusal:
                    refusing |= {name} if refusal.code == "over_budget" else set()
                assert maximum(Study.objects.get()).total <= budget, name
                transaction.set_rollback(True)
    assert refusing >= {"approve", "pay", "pay_bonus", "pay_participant", "note_payment"}
    assert refusing >= {"worker: pay", "worker: pay-many", "store_payment"}


def test_a_place_that_was_left_and_taken_is_paid_once():
    machine = StudyThatPays()
    try:
        machine.study = opened(most_people=1, instances=3, hits_per_annotator=1, reward=Decimal(3))
        machine.announced = maximum(machine.study).total
        machine.leave_a_place_that_another_takes(index=0, is_stale=True)
        assert machine.study.participations.count() == 2
        machine.the_ledger_stays_within_the_announced_maximum()
    finally:
        machine.teardown()  # or the next tests would run in its transaction


def test_only_services_make_payments():
    made = re.compile(r"(?<!class )\bPayment(\.objects\.\w*create)?\(|payments\.\w*create\(")
    assert {path.parent.name for path in OWN if made.search(path.read_text())} == {"services"}


@pytest.mark.thorough
def test_the_ledger_never_exceeds_the_announced_maximum(monkeypatch):
    let_platforms_pay(monkeypatch)
    run_state_machine_as_test(
        StudyThatPays,
        settings=settings(
            max_examples=10,
            stateful_step_count=12,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
