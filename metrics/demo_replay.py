"""Makes an imported study of the demo one that ran here, by the services that real studies use.

An import carries the plan, the ratings and the reference answers. This adds the people: how they
entered, what they answered before their first task, when they finished, who was excluded, what
they wrote and what they were paid. Each service gets the moment at which it was called when the
ratings were made. Ratings stay marked as simulated; the participations are not, because bots are
paid nothing.
"""

import csv
import tomllib
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Max, Min

from annotation.imports.sample_files import DEMO_BUNDLE
from annotation.models import Assignment, Comment, HITUnit, Participation, Place, Rater, Rating
from annotation.services.comments import mark_done, save_comment
from annotation.services.exclusion import exclude_work, stop_work
from annotation.services.screening import answer_comprehension, clear_participation
from jobs.clock import database_now
from jobs.models import Job
from jobs.worker import run_job
from machine_raters.baselines.kind import BaselineJob
from machine_raters.models import Baseline, MachineRater
from machine_raters.services.machine_raters import create_machine_rater
from machine_raters.services.rating_costs import state_rating_cost
from recruitment.admission import OPEN_LINK
from recruitment.models import Channel
from recruitment.platforms import get_platform
from recruitment.services.channels import set_up_channel
from recruitment.services.entry import Entrant, give_consent
from recruitment.services.lifecycle import close_study, open_study
from recruitment.services.participants import pay_participant
from studies.models import ComprehensionQuestion, Screening, Study, Unit
from studies.services import replace_rows

# From the consent to the first answer, as a person needs it for guidelines and questions.
BEFORE_FIRST_ANSWER = timedelta(minutes=5)
# From opening the study to the first consent.
BEFORE_FIRST_CONSENT = timedelta(minutes=20)
WHY_EXCLUDED = "Failed all three gold checks, at five seconds an item."
CHANNEL = {"pay_claim": "send", "pay_contact": "council-study@example.org"}
LONGER = "longer text"
# What a rating of the invented judges costs, in euros, which is invented as their ratings are.
COSTS = {"judge-70b": "0.0035", "judge-7b": "0.0002"}


def replay(*, study: Study, by: User, is_finished: bool, unpaid: int, unread: int) -> Study:
    """Open an imported study of the demo and repeat what happened in it, up to its last answer."""
    _add_screening(study)
    answers = Rating.objects.filter(unit__study=study, rater__kind=Rater.Kind.HUMAN)
    times = answers.aggregate(first=Min("created_at"), last=Max("created_at"))
    opened_at = times["first"] - BEFORE_FIRST_ANSWER - BEFORE_FIRST_CONSENT
    study, channel = _open(study, by, opened_at)
    people = [_take_part(study, channel, rater, by) for rater in _in_order(study)]
    comments = _comment(study)
    for comment in comments[: len(comments) - unread]:
        mark_done(study=study, public_id=comment.public_id, by=by)
    if is_finished:
        study = _close(study, by, times["last"] + BEFORE_FIRST_ANSWER)
    _let_longer_text_rate(study, by)
    for judge, cost in COSTS.items():
        state_rating_cost(study=study, rater=judge, cost=Decimal(cost), by=by)
    for participation in people[: len(people) - unpaid]:
        pay_participant(participation=participation, by=by)
    return study


def _add_screening(study: Study) -> None:
    stored = tomllib.loads((DEMO_BUNDLE / "screening.toml").read_text(encoding="utf-8"))
    questions = stored.pop("questions")
    rows = [{"position": number, **row} for number, row in enumerate(questions)]
    replace_rows(study, ComprehensionQuestion, rows)
    Screening.objects.update_or_create(study=study, defaults=stored)


def _open(study: Study, by: User, at: datetime) -> tuple[Study, Channel]:
    """Open the study, which an import leaves closed, as a draft is opened."""
    channel, _ = set_up_channel(study=study, platform=get_platform(OPEN_LINK), settings=CHANNEL)
    study.status, study.opened_at, study.closed_at = Study.Status.DRAFT, at, None
    study.save(update_fields=["status", "opened_at", "closed_at"])
    began = database_now()
    study = open_study(study=study, by=by)
    _date_events(study, since=began, at=at)
    return study, channel


def _close(study: Study, by: User, at: datetime) -> Study:
    began = database_now()
    study = close_study(study=study, by=by)
    _date_events(study, since=began, at=at)
    study.closed_at = at
    study.save(update_fields=["closed_at"])
    return study


def _date_events(study: Study, *, since: datetime, at: datetime) -> None:
    """Date what was just logged to the time at which it happened when the ratings were made."""
    study.events.filter(at__gte=since).update(at=at)


def _in_order(study: Study) -> list[Any]:
    """Return the study's people in the order of their first answers, with first and last."""
    of_study = Rater.objects.filter(kind=Rater.Kind.HUMAN, assignments__hit__study=study)
    answered = "assignments__ratings__created_at"
    return list(of_study.annotate(first=Min(answered), last=Max(answered)).order_by("first"))


def _take_part(study: Study, channel: Channel, rater: Any, by: User) -> Participation:
    """Let a rater enter, pass the questions, do the work that was imported, and finish."""
    at, token = rater.first - BEFORE_FIRST_ANSWER, f"{study.pk}-{rater.pseudonym}"
    Rater.objects.filter(pk=rater.pk).update(provider=OPEN_LINK, external_id=token)
    entrant = Entrant(
        provider=OPEN_LINK, external_id=token, submission_id=token, channel=channel, simulated=True
    )
    participation = give_consent(study=study, entrant=entrant, now=at)
    participation.simulated, participation.created_at = False, at
    participation.guidelines_read_at = at + BEFORE_FIRST_ANSWER / 2
    participation.save(update_fields=["simulated", "created_at", "guidelines_read_at"])
    right = {question.pk: question.answer for question in study.comprehension.all()}
    answer_comprehension(
        participation=participation, answers=right, now=at + BEFORE_FIRST_ANSWER * 0.9
    )
    clear_participation(participation=participation, now=at + BEFORE_FIRST_ANSWER * 0.9)
    _hand_over(rater, participation)
    if Rating.objects.filter(rater=rater, excluded=True).exists():
        began = database_now()
        status = Participation.Status.EXCLUDED
        exclude_work(
            participation=participation, status=status, now=rater.last, by=by, reason=WHY_EXCLUDED
        )
        _date_events(study, since=began, at=rater.last + BEFORE_FIRST_ANSWER)
    else:
        stop_work(participation=participation, status=Participation.Status.FINISHED, now=rater.last)
    participation.refresh_from_db()
    return participation


def _hand_over(rater: Rater, participation: Participation) -> None:
    """Make the imported work that of the participation, at the times of its answers."""
    work = list(
        rater.assignments.annotate(
            first=Min("ratings__created_at"), last=Max("ratings__created_at")
        )
    )
    gold = Rating.objects.filter(rater=rater, unit__role=Unit.Role.GOLD)
    checks = dict(gold.values_list("assignment", "unit"))
    for assignment in work:
        assignment.participation = participation
        assignment.status = Assignment.Status.COMPLETED
        assignment.check_unit_id = checks.get(assignment.pk)
        assignment.created_at, assignment.completed_at = assignment.first, assignment.last
        Place.objects.filter(assignment=assignment).update(completed_at=assignment.last)
    fields = ("participation", "status", "check_unit", "created_at", "completed_at")
    Assignment.objects.bulk_update(work, fields)


def _comment(study: Study) -> Sequence[Comment]:
    """Store the comments of those who take part, oldest first."""
    with (DEMO_BUNDLE / "comments.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    stored = []
    for row in rows:
        about = Rating.objects.filter(
            unit__study=study,
            unit__key=row["unit"],
            rater__pseudonym=row["rater"],
            repeat=row["repeat"],
        )
        rating = about.select_related("assignment__participation__study").first()
        if rating is None:
            continue
        assignment = rating.assignment
        item = HITUnit.objects.get(hit=assignment.hit_id, unit=rating.unit_id, repeat=rating.repeat)
        assert assignment.participation is not None
        comment = save_comment(
            participation=assignment.participation, text=row["text"], item=(assignment, item)
        )
        assert comment is not None
        Comment.objects.filter(pk=comment.pk).update(
            created_at=rating.created_at, side_a=rating.side_a
        )
        stored.append(comment)
    return stored


def _let_longer_text_rate(study: Study, by: User) -> None:
    """Add the simple rule, which needs no model, and let it rate here."""
    create_machine_rater(
        study=study,
        kind=MachineRater.Kind.BASELINE,
        by=by,
        name=LONGER,
        method=Baseline.Method.LONGER,
        criterion=study.criteria.get(),
    )
    run_job(
        job_id=Job.objects.filter(kind=BaselineJob.name, owner=study.pk).latest("created_at").pk
    )
