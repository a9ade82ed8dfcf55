"""The step *Launch*: what annotators see, every check in one list, the price, and opening."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.contrib import messages
from django.db import transaction
from django.db.models import prefetch_related_objects
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.formats import date_format

from annotation.counts import progress_of
from annotation.services.plan_checks import has_design
from annotation.services.screening import role_counts
from jobs.models import Job
from recruitment.admission import OPEN_LINK, note_admitted
from recruitment.confirmations import final_of, frozen_settings
from recruitment.early_stops import who_fails
from recruitment.forms import DryRunForm
from recruitment.launch.channels import somebody_can_enter
from recruitment.launch.check import FROZEN, LAUNCH, LaunchCheck
from recruitment.launch.limits import enough_people_left
from recruitment.launch.plan import PLANNING
from recruitment.ledger import ledger
from recruitment.services.channels import channel_statuses
from recruitment.services.cloning import clone_study
from recruitment.services.dry_runs import dry_runs_of, suggested_raters
from recruitment.services.launch_checks import shown_checks
from recruitment.step_pages import cost_context
from recruitment.study_actions import ACTIONS, offered_actions
from recruitment.views.preview import pages_in, unplanned_unit
from studies.access import changes_study, shows_study, user_of
from studies.confirming import ask, is_confirmed
from studies.design.steps import ShownStep, StepState, StudyFrame, StudyState, place_of, study_frame
from studies.models import Study, Unit
from studies.public_address import is_local, public_url
from studies.refusals import told
from tiebreak.digits import duration

CLONED = (
    "This is the clone: a separate draft with the same design, screening, reference items, selected"
    " instances and channels. Plan its tasks and connect its platforms again."
)
# Where a sentence ends and another begins.
FIRST_END = re.compile(r"(?<=[.!?]) (?=\W*[A-Z])")
# What an open step says of itself, too.
OF_STEPS = {"no_criteria", "incomplete_design"}
WILL_OPEN = (StudyState.UNFINISHED, StudyState.READY)
ADDRESS = "Annotators will enter through {channels} when the study is open."
LOCAL = (
    "It works on this computer only. Before you send it to anyone, the administrator has to run the"
    " server at a public address."
)


@dataclass(frozen=True)
class Row:
    """A line of the review: what was found in one step, and the address where it is changed.

    The first sentence stands there whole, and the rest opens, except of what keeps the study from opening.
    """

    state: Literal["must", "should", "note", "done"]
    code: str
    title: str
    sentence: str
    url: str = ""
    link: str = ""

    @property
    def said(self) -> str:
        return self.sentence if self.state == "must" else FIRST_END.split(self.sentence, 1)[0]

    @property
    def rest(self) -> str:
        return self.sentence.removeprefix(self.said).lstrip()


@shows_study
def launch(request: HttpRequest, study: Study) -> HttpResponse:
    prefetch_related_objects([study], "channels")  # which several checks look at
    note_admitted(study)
    progress = progress_of(study)
    is_paid = study.opened_at is not None and study.reward is not None and not study.dry_run_of_id
    entries = ledger(study) if is_paid else None
    costs, current = cost_context(study, progress.completed, entries), shown_checks(study)
    most = costs["cost"].maximum if "cost" in costs else None
    statuses = channel_statuses(study, most)
    if study.status == Study.Status.OPEN:
        shown = {check.code for check in current}
        now = [*somebody_can_enter(study, most, statuses)]
        if most is not None:
            hits = costs["n_planned"]
            now += enough_people_left(study, most, hits=hits, missing=progress.remaining)
        current += [one for one in now if one.code not in shown]
    frame = study_frame(study, request.user, place_of("launch"))
    link, channels = "", [s.platform.title for s in statuses if s.is_open]
    if any(status.is_open and status.platform.name == OPEN_LINK for status in statuses):
        link = public_url(request, reverse("recruitment:welcome", args=[study.pk]))
    actions = offered_actions(study, current)
    may_try = frame.state in WILL_OPEN and has_design(study)
    dry_run = dry_runs_of(study).first() if may_try else None
    tried = [_tried(study, dry_run)] if may_try else []
    rows = _in_order([*review(frame, current), *_address(frame, link, channels), *tried])
    may_open = frame.can_change and study.dry_run_of_id is None and "open" in actions
    opens = actions.pop("open", "") if may_open else ""
    plans_first = any(check.code in PLANNING for check in current)
    context: dict[str, Any] = {
        "study": study,
        "frame": frame,
        "here": "launch",
        "rows": [row for row in rows if row.state != "done"],
        "notes": [row for row in rows if row.state == "note"],
        "done": [row for row in rows if row.state == "done"],
        "dry_run": dry_run,
        "dry_run_form": may_try and DryRunForm(initial={"raters": suggested_raters(study)}),
        "left": sum(row.state in {"must", "should"} for row in rows),
        "must": sum(row.state == "must" for row in rows),
        "should": sum(row.state == "should" for row in rows),
        "progress": progress,
        "channels": channels,
        "link": link,
        "drafts": [s.platform.title for s in statuses if s.is_draft_there],
        "opens": opens,
        # The header's link to the next step steps back where this page has the button that is meant.
        "can_save": bool(opens),
        "actions": actions,
        "plan": actions.pop("plan", "") if plans_first else "",
        "plans_first": plans_first,
        "frozen": () if study.opened_at is None else final_of(study),
        "settings": {} if study.opened_at is None else frozen_settings(study),
        "screens": len(pages_in(study)),
        "has_screen": bool(costs["n_planned"]) or unplanned_unit(study) is not None,
        **costs,
    }
    if entries:
        context |= {"paid": costs["cost"].paid.total, "owed": entries.owed.total}
    return render(request, "recruitment/launch.html", context)


def review(frame: StudyFrame, checks: Sequence[LaunchCheck]) -> list[Row]:
    """Return every check, and each step with its status: first what is left to do.

    The first check of an open step begins with what the step says of itself.
    """
    shown_steps = {shown.step.url_name: shown for shown in frame.steps}
    lead = {shown.step.url_name: shown.status.sentence for shown in frame.missing}
    lead.pop(LAUNCH, "")
    rows = [
        _row_of(check, shown_steps.get(check.where), frame.study, lead.pop(check.where, ""))
        for check in checks
    ]
    named = {check.where for check in checks} | {LAUNCH}
    rows += [
        Row(
            _OF_STEP[one.status.state],
            one.step.slug,
            one.step.title,
            one.status.sentence,
            "" if frame.study.opened_at is not None and name in FROZEN else one.url,
        )
        for name, one in shown_steps.items()
        if name not in named
    ]
    rows += [*_failed_test(frame.study), *_unmet_checks(frame)]
    return _in_order(rows)


def _in_order(rows: Iterable[Row]) -> list[Row]:
    """Return the rows with what is left to do first."""
    return sorted(rows, key=lambda row: _ORDER.index(row.state))


def _address(frame: StudyFrame, link: str, channels: Sequence[str]) -> Iterator[Row]:
    """Yield where annotators will enter a draft, and whether nobody else can reach the address."""
    through = ADDRESS.format(channels=", ".join(channels))
    if not link or frame.study.status == Study.Status.CLOSED:
        return
    if frame.state in WILL_OPEN and is_local(link):
        yield Row("should", "address", "Address", f"{LOCAL} {through}")
    elif frame.state in WILL_OPEN:
        yield Row("note", "address", "Address", through)
    elif is_local(link):
        yield Row("should", "local", "Address", LOCAL)


def _tried(study: Study, job: Job | None) -> Row:
    """Return what came of the last time when bots tried a draft."""
    state, sentence = _dry_run_finding(job)
    runs = reverse("recruitment:dry-runs", args=[study.pk])
    return Row(state, "dry-run", "Dry run", sentence, runs, "Dry runs")


def _dry_run_finding(job: Job | None) -> tuple[Literal["should", "note", "done"], str]:
    if job is None:
        return "note", "Bots have not tried the study yet."
    if job.is_moving:
        return "note", "Bots are working through a copy of the study."
    if job.result.get("conclusions"):
        return "should", job.result["conclusions"][0]["sentence"]
    if job.status != Job.Status.DONE:
        return "note", "The last dry run did not finish."
    took = "" if job.seconds is None else f" in {duration(job.seconds)} s"
    bots, at = job.result.get("raters", 0), date_format(job.created_at, "j M, H:i")
    return "done", f"On {at} UTC, {bots} bots finished{took}, and no problem was found."


def _failed_test(study: Any) -> Iterator[Row]:
    """Yield what people who fail the test get, as the welcome page does."""
    if not study.reward or not (study.quality_screening or {}).get("qualification_units"):
        return
    yield Row("note", "failed_test", "Failed test", who_fails(study))


def _unmet_checks(frame: StudyFrame) -> Iterator[Row]:
    """Yield how many gold checks nobody can meet besides the others, if a maximum came after them."""
    screening = frame.study.quality_screening
    if frame.study.opened_at is not None or not (screening or {}).get("check_rate"):
        return
    gold = next(one for one in role_counts(frame.study) if one.role == Unit.Role.GOLD)
    if gold.unmet:
        sentence = f"There are {gold.present}, of which a person meets {gold.needed} at most."
        yield Row("note", "gold_units_unmet", "Gold checks", sentence)


_ORDER = ("must", "should", "note", "done")
_OF_STEP: dict[StepState, Literal["should", "note", "done"]] = {
    StepState.OPEN: "should",
    StepState.WARNED: "should",
    StepState.NOT_NEEDED: "note",
    StepState.DONE: "done",
}


def _row_of(check: LaunchCheck, shown: ShownStep | None, study: Study, lead: str) -> Row:
    """Return the row of a check; that opening plans the tasks is only worth knowing."""
    if check.code in PLANNING:
        return Row("note", check.code, "Plan", check.sentence)
    title = shown.step.title if shown else "Server" if not check.where else "Study"
    is_past = study.opened_at is not None and check.where in FROZEN
    url = reverse(check.where, args=[study.pk]) if check.where and not is_past else ""
    lead = f"Known when the study opened, and final: {lead}" if is_past else lead
    said = check.finding if is_past else check.sentence
    sentence = lead if lead and check.code in OF_STEPS else f"{lead} {said}".lstrip()
    state: Literal["must", "should"] = "must" if check.is_error else "should"
    if check.items:
        items = f"{reverse('annotation:data', args=[study.pk])}?{check.items}"
        return Row(state, check.code, title, sentence, items, "Show them")
    return Row(state, check.code, title, sentence, url)


@changes_study
def act(request: HttpRequest, study: Study, action: str) -> HttpResponse:
    """Plan, open, pause or close the study, after a confirmation that names what is final."""
    if action not in ACTIONS:
        raise Http404("There is no such action for a study.")
    back = reverse("recruitment:launch", args=[study.pk])
    with told(request), transaction.atomic():
        ACTIONS[action].prepare_question(study)
        question = ACTIONS[action].question_for(study)
        if question is not None and not is_confirmed(request, question):
            asked = ask(request, question, back=back)
            transaction.set_rollback(True)  # who cancels has changed nothing
            return asked
        sentence = ACTIONS[action].do(study, user_of(request), question)
        messages.success(request, sentence)
    return redirect(back)


@changes_study
def clone(request: HttpRequest, study: Study) -> HttpResponse:
    copy = clone_study(study=study)
    messages.success(request, CLONED)
    if copy.not_copied:
        messages.info(request, f"Not copied: {', '.join(copy.not_copied)}.")
    return redirect("studies:data", copy.study.pk)
