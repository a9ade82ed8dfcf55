"""Answers to units without a browser, as a page that was loaded earlier submits them."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from annotation.models import Assignment, HITUnit, Rating
from annotation.selectors import worksheet
from annotation.services.ratings import Answer, RatingResult, submit_ratings
from studies.models import Criterion


def submit_unit(
    *,
    assignment: Assignment,
    hit_unit: HITUnit,
    answers: Mapping[Criterion, Answer],
    now: datetime | None = None,
) -> RatingResult:
    """Submit the answers to a unit that the assignment has, or had when its page was loaded."""
    sheet = worksheet(assignment, ())
    positions = {(unit.unit_id, unit.repeat): n for n, unit in sheet.hit_units.items()}
    position = positions.get((hit_unit.unit_id, hit_unit.repeat), 0)
    sheet = replace(sheet, hit_units={**sheet.hit_units, position: hit_unit})
    return submit_ratings(sheet=sheet, position=position, answers=answers, now=now)


def submit_rating(
    *,
    assignment: Assignment,
    hit_unit: HITUnit,
    criterion: Criterion,
    answer: Answer,
    now: datetime | None = None,
) -> Rating:
    """Submit the answer to one criterion, and return the rating that holds it."""
    answers = {criterion: answer}
    result = submit_unit(assignment=assignment, hit_unit=hit_unit, answers=answers, now=now)
    return result.answers[criterion].rating
