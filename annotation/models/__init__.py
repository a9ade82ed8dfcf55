"""Models of data collection: HITs, places, raters, participations, assignments, ratings, comments, settled items."""

from annotation.models.comment import Comment
from annotation.models.hit import HIT, HITUnit, Place
from annotation.models.rater import Assignment, Participation, Rater
from annotation.models.rating import Rating, Tally
from annotation.models.screening import ScreeningAttempt
from annotation.models.settlement import Settlement

__all__ = [
    "HIT",
    "Assignment",
    "Comment",
    "HITUnit",
    "Participation",
    "Place",
    "Rater",
    "Rating",
    "ScreeningAttempt",
    "Settlement",
    "Tally",
]
