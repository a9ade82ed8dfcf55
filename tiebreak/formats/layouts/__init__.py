"""Ratings that were collected elsewhere, in any usual layout: whose label for what is where."""

from tiebreak.formats.layouts.guess import UnclearLayoutError
from tiebreak.formats.layouts.layout import LABEL_OF, RATER_OF, rater_and_criterion
from tiebreak.formats.layouts.looking import Seen, look_at, ratings_in
from tiebreak.formats.layouts.reading import TABLE, Choice, Existing, parse_scales, read_existing

__all__ = [
    "LABEL_OF",
    "RATER_OF",
    "TABLE",
    "Choice",
    "Existing",
    "Seen",
    "UnclearLayoutError",
    "look_at",
    "parse_scales",
    "rater_and_criterion",
    "ratings_in",
    "read_existing",
]
