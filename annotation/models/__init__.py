"""Who answers and how: HITs, places, raters, participations, assignments, ratings, tallies."""

from annotation.models.crowd import Payment, PlatformEvent
from annotation.models.hit import HIT, HITUnit, Place
from annotation.models.rater import Assignment, Participation, Rater, Recruitment
from annotation.models.rating import Rating, Tally
from annotation.models.screening import ComprehensionQuestion, Screening, Trial

__all__ = [
    "HIT",
    "Assignment",
    "ComprehensionQuestion",
    "HITUnit",
    "Participation",
    "Payment",
    "Place",
    "PlatformEvent",
    "Rater",
    "Rating",
    "Recruitment",
    "Screening",
    "Tally",
    "Trial",
]
