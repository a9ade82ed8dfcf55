"""The launch checks: one list, used by the study's page and when the study is opened."""

from collections.abc import Collection, Iterable

from django.db import transaction

from annotation.services.planning import ensure_plan, hits_to_collect
from recruitment.launch import (
    analysis_plan,
    blinding,
    channels,
    limits,
    money,
    plan,
    questions,
    texts,
)
from recruitment.launch.check import LaunchCheck, Look
from recruitment.launch.plan import PLANNING
from studies.models import Study, StudyEvent
from tiebreak.errors import DomainError, InvalidInput

# With more items Launch shows what can be known before the tasks are planned.
MOST_ITEMS = 2_000
# Checked each time the study opens: annotators could not work.
ALWAYS: tuple[Look, ...] = (
    plan.planned,
    questions.criteria,
    questions.reference_units,
    texts.missing_texts,
    money.within_budget,
)
# What each page of a draft's steps checks, too, for it reads neither texts nor the plan.
QUICK: tuple[Look, ...] = (
    questions.consent_beside_guidelines,
    questions.nobody_rates_what_the_test_told,
    questions.gold_checks_for_all,
    questions.gold_action_can_happen,
    money.within_budget,
    money.pay_as_promised,
    limits.limits_agree,
    limits.time_to_answer,
)
# Checked when the study opens for the first time: these cannot be fixed after the first answer.
AT_FIRST: tuple[Look, ...] = (
    plan.plan_as_designed,
    money.tasks_for_each_payment,
    money.pay_as_promised,
    analysis_plan.plan_can_be_followed,
    questions.guidelines,
    questions.consent,
    questions.nobody_rates_what_the_test_told,
    questions.gold_checks_for_all,
    questions.gold_action_can_happen,
    questions.gold_checks_look_like_other_items,
    questions.expected_answers_favour_nobody,
    texts.dummy_texts,
    texts.raw_markdown,
    texts.absent_fields,
    texts.identical_texts,
    texts.empty_texts,
    texts.too_few_generations,
    blinding.blinding,
    plan.scores,
    plan.systems_are_connected,
    limits.enough_answers,
    limits.enough_people,
    limits.limits_agree,
    limits.time_to_answer,
    limits.repeats_fit,
    channels.somebody_can_enter,
    channels.nobody_else_can_enter,
    channels.platforms_know_enough,
    channels.pay_can_be_claimed,
    channels.public_address,
)


def launch_checks(study: Study) -> list[LaunchCheck]:
    """Return all problems with opening this study, errors first. Changes nothing.

    For a study that was open before, only problems that would keep annotators from working.
    """
    looks = ALWAYS if study.opened_at is not None else ALWAYS + AT_FIRST
    checks = [check for look in looks for check in look(study)]
    return sorted(checks, key=lambda check: not check.is_error)


def quick_checks(study: Study) -> list[LaunchCheck]:
    """Return what a draft's steps show at once of what the launch will say."""
    return [check for look in QUICK for check in look(study)]


def shown_checks(study: Study) -> list[LaunchCheck]:
    """Return what there is to know about a study in its state, errors first. Changes nothing.

    Of a draft, all that opening it will ask about, with its tasks as they would be planned; of a
    study that runs, also each warning that was confirmed when it opened and still holds.
    """
    checks = launch_checks(study)
    if study.status == Study.Status.DRAFT and PLANNING & {check.code for check in checks}:
        return _once_planned(study, checks)
    runs = study.status in {Study.Status.OPEN, Study.Status.PAUSED} and study.dry_run_of_id is None
    if runs and (confirmed := _confirmed(study)):
        found = (check for look in AT_FIRST for check in look(study))
        checks += [check for check in found if check.code in confirmed]
    return checks


def _confirmed(study: Study) -> set[str]:
    opened = study.events.filter(verb=StudyEvent.Verb.OPEN)
    lists = opened.values_list("details__confirmed_warnings", flat=True)
    return {code for codes in lists for code in codes or ()}


def _once_planned(study: Study, checks: list[LaunchCheck]) -> list[LaunchCheck]:
    """Return the checks of a draft as if its tasks were planned, which is undone again.

    A page does this each time that it is shown, so a draft with many items is not planned.
    """
    with transaction.atomic():
        try:
            if hits_to_collect(study) * study.comparisons_per_hit > MOST_ITEMS:
                return checks
            ensure_plan(study=study)
        except (DomainError, InvalidInput):
            return checks
        planned = launch_checks(study)
        transaction.set_rollback(True)
    return [*planned, *(check for check in checks if check.code in PLANNING)]


class LaunchRefused(DomainError):
    """The study was not opened; `checks` says why."""

    def __init__(self, code: str, message: str, checks: Iterable[LaunchCheck]) -> None:
        super().__init__(code, message)
        self.checks = tuple(checks)


def check_can_open(study: Study, *, confirmed_warnings: Collection[str] = ()) -> list[LaunchCheck]:
    """Return the warnings of a study that can be opened.

    Raises `LaunchRefused` with all errors or, if there are none, with all unconfirmed warnings. Its
    code is `unconfirmed_warnings`, the code of the only error, or `launch_blocked` for several.
    """
    checks = launch_checks(study)
    errors = [check for check in checks if check.is_error]
    if errors:
        code = errors[0].code if len(errors) == 1 else "launch_blocked"
        raise LaunchRefused(code, _listed(errors), errors)
    warnings = [check for check in checks if check.code not in confirmed_warnings]
    if warnings:
        sentence = f"{_listed(warnings)} Confirm the warnings to open the study anyway."
        raise LaunchRefused("unconfirmed_warnings", sentence, warnings)
    return checks


def _listed(checks: Iterable[LaunchCheck]) -> str:
    return " ".join(check.sentence for check in checks)
