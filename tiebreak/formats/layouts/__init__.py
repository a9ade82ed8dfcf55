"""Ratings that were collected elsewhere, in any usual layout: whose label for what is where."""

from tiebreak.formats.layouts.choice import Choice as Choice, parse_scales as parse_scales
from tiebreak.formats.layouts.existing import TABLE as TABLE, Existing as Existing
from tiebreak.formats.layouts.known import UnclearLayoutError as UnclearLayoutError
from tiebreak.formats.layouts.layout import (
    LABEL_OF as LABEL_OF,
    RATER_OF as RATER_OF,
    rater_and_criterion as rater_and_criterion,
)
from tiebreak.formats.layouts.looking import (
    Seen as Seen,
    look_at as look_at,
    ratings_in as ratings_in,
)
from tiebreak.formats.layouts.reading import (
    fit_of_ratings as fit_of_ratings,
    read_existing as read_existing,
)
