"""What stands between a study and its first annotator: one list for the page and for opening."""

from collections.abc import Collection, Iterable

from recruitment.launch import channels, limits, plan, questions, texts
from recruitment.launch.check import LaunchCheck, Look
from studies.models import Study
from tiebreak.errors import DomainError

# What annotators would stumble over, whenever they come.
ALWAYS: tuple[Look, ...] = (
    plan.planned,
    questions.criteria,
    questions.reference_units,
    texts.missing_texts,
)
# What spoils a study from its first answer on, and cannot be helped later.
AT_FIRST: tuple[Look, ...] = (
    plan.plan_as_designed,
    questions.guidelines,
    questions.gold_checks_for_all,
    texts.dummy_texts,
    texts.identical_texts,
    texts.empty_texts,
    texts.too_few_generations,
    plan.scores,
    limits.enough_answers,
    limits.enough_people,
    limits.limits_agree,
    limits.time_to_answer,
    limits.repeats_fit,
    channels.somebody_can_enter,
    channels.nobody_else_can_enter,
    channels.platforms_know_enough,
    channels.public_address,
)


def launch_checks(study: Study) -> list[LaunchCheck]:
    """Everything that is wrong with opening this study, errors first. Reads only.

    A study that was open before is asked only what annotators would stumble over.
    """
    looks = ALWAYS if study.opened_at is not None else ALWAYS + AT_FIRST
    found = [check for look in looks for check in look(study)]
    return sorted(found, key=lambda check: not check.is_error)


class LaunchRefused(DomainError):
    """A study that was not opened, with the checks that stand in the way."""

    def __init__(self, code: str, message: str, checks: Iterable[LaunchCheck]) -> None:
        super().__init__(code, message)
        self.checks = tuple(checks)


def check_can_open(study: Study, *, confirmed_warnings: Collection[str] = ()) -> list[LaunchCheck]:
    """The warnings of a study that can be opened.

    Raises `LaunchRefused` with every error, or else with every warning that nobody confirmed. Its
    code is `unconfirmed_warnings`, or that of the only error, or `launch_blocked` for several.
    """
    checks = launch_checks(study)
    errors = [check for check in checks if check.is_error]
    if errors:
        code = errors[0].code if len(errors) == 1 else "launch_blocked"
        raise LaunchRefused(code, _listed(errors), errors)
    warnings = [check for check in checks if check.code not in confirmed_warnings]
    if warnings:
        sentence = f"{_listed(warnings)} Confirm this to open the study all the same."
        raise LaunchRefused("unconfirmed_warnings", sentence, warnings)
    return checks


def _listed(checks: Iterable[LaunchCheck]) -> str:
    return " ".join(check.sentence for check in checks)
