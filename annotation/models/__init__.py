"""Models of data collection: HITs, places, raters, participations, assignments, ratings, comments, settled items."""

from annotation.models.comment import Comment as Comment
from annotation.models.hit import (
    HIT as HIT,
    HITUnit as HITUnit,
    Place as Place,
)
from annotation.models.rater import (
    Assignment as Assignment,
    Participation as Participation,
    Rater as Rater,
)
from annotation.models.rating import (
    Rating as Rating,
    Tally as Tally,
)
from annotation.models.screening import ScreeningAttempt as ScreeningAttempt
from annotation.models.settlement import Settlement as Settlement
