"""Actions on a study, which its step *Launch* offers, and how they are confirmed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User

from annotation.services.late_answers import accept_late_answers, decline_late_answers, pending
from annotation.services.plan_checks import has_design
from annotation.services.planning import ensure_plan, plan_hits
from recruitment import confirmations
from recruitment.launch.check import LaunchCheck
from recruitment.launch.plan import PLANNING
from recruitment.services.lifecycle import close_study, open_study, pause_study, reopen_study
from studies.confirming import Question
from studies.models import Study


@dataclass(frozen=True)
class StudyAction:
    """An action. `question` is its confirmation, if any; `do` returns the success message."""

    label: str
    states: frozenset[str]
    do: Callable[[Study, User, Question | None], str]
    question: Callable[[Study], Question] | None = None
    # What is done before the question is asked, because the question is about it. It is undone unless
    # the question is confirmed.
    prepare: Callable[[Study], object] | None = None
    # Offered only while late answers are waiting for a decision.
    is_on_late: bool = False

    def question_for(self, study: Study) -> Question | None:
        """Return the confirmation that the action needs now, if it is possible at all."""
        return self.question(study) if self.question and self.is_offered(study) else None

    def prepare_question(self, study: Study) -> None:
        """Do what the confirmation is about; raises `DomainError` if that is impossible."""
        if self.prepare is not None and self.is_offered(study):
            self.prepare(study)

    def is_offered(self, study: Study) -> bool:
        return study.status in self.states and (not self.is_on_late or pending(study).exists())


def _saying(
    sentence: str, do: Callable[..., object]
) -> Callable[[Study, User, Question | None], str]:
    """Return an action with its message, in which {} is replaced with what `do` returns."""
    return lambda study, by, _: sentence.format(do(study=study, by=by))


def _open(study: Study, by: User, asked: Question | None) -> str:
    open_study(study=study, by=by, confirmed_warnings=asked.warnings if asked else ())
    return f"The study is open. {confirmations.who_can_enter(study)}"


PAUSED = "The study is paused. Annotators may finish the tasks that they have started."
CLOSED = "The study is closed. Answers that still arrive are stored and flagged late."
DECLINED = "Late answers that were declined and will never count: {}."
_ON_LATE = frozenset({"open", "paused"})
ACTIONS: dict[str, StudyAction] = {
    "plan": StudyAction(
        "Plan tasks",
        frozenset({"draft"}),
        lambda study, *_: f"Planned {plan_hits(study=study).summary}",
    ),
    "open": StudyAction(
        "Open…",
        frozenset({"draft", "paused"}),
        _open,
        confirmations.opening,
        prepare=lambda study: ensure_plan(study=study),
    ),
    "pause": StudyAction("Pause", frozenset({"open"}), _saying(PAUSED, pause_study)),
    "close": StudyAction(
        "Close…",
        frozenset({"open", "paused"}),
        _saying(CLOSED, close_study),
        confirmations.closing,
    ),
    "reopen": StudyAction(
        "Reopen…",
        frozenset({"closed"}),
        _saying("The study is open again.", reopen_study),
        confirmations.reopening,
    ),
    "accept-late": StudyAction(
        "Accept late answers…",
        _ON_LATE,
        _saying("Late answers that were accepted: {}.", accept_late_answers),
        confirmations.accepting_late,
        is_on_late=True,
    ),
    "decline-late": StudyAction(
        "Decline late answers…",
        _ON_LATE,
        _saying(DECLINED, decline_late_answers),
        confirmations.declining_late,
        is_on_late=True,
    ),
}


def offered_actions(study: Study, checks: Iterable[LaunchCheck]) -> dict[str, str]:
    """Return the labels of the actions that are possible now, with these launch checks."""
    in_the_way = {check.code for check in checks if check.is_error} - PLANNING
    refused = {"open", "reopen"} if in_the_way else set()
    if study.status == Study.Status.DRAFT and in_the_way and not has_design(study):
        refused.add("plan")
    if not (study.status in _ON_LATE and pending(study).exists()):
        refused |= {name for name, action in ACTIONS.items() if action.is_on_late}
    return {
        name: action.label
        for name, action in ACTIONS.items()
        if name not in refused and study.status in action.states
    }
