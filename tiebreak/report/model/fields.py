"""Types that the sections of a report share."""

from typing import Annotated

from tiebreak.stats import Estimate

REPORT_VERSION = 1
BY_KEY = ("category", "separability", "systems")
CROSSED = "systems_agreement"  # only in the section `pairs_by_agreement`
STRATIFIERS = ("all", "agreement", "unique_labels", *BY_KEY, CROSSED)

# Annotations carry what the JSON schema requires in addition to the type.
Version = Annotated[int, {"const": REPORT_VERSION}]
Seed = Annotated[int, {"minimum": None}]  # other whole numbers are counts and not negative
Proportion = Annotated[float, {"minimum": 0, "maximum": 1}]
ProportionOrNaN = Annotated[float, {"type": ["number", "null"], "minimum": 0, "maximum": 1}]
CountOrNaN = Annotated[float, {"type": ["number", "null"], "minimum": 0}]
Sha256 = Annotated[str, {"pattern": "^[0-9a-f]{64}$"}]
Stratifier = Annotated[str, {"enum": list(STRATIFIERS)}]
Reason = Annotated[str, {"minLength": 1}]

Votes = dict[str, int]
Distribution = dict[str, ProportionOrNaN]
Estimates = dict[str, Estimate]
Problems = dict[str, Reason]
Matrix = tuple[tuple[float, ...], ...]
