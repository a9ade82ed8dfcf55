"""The page *Stopping*: what is still needed and what it costs, and what stopping now concludes."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from jobs.clock import database_now
from metrics.messages import AT_ONE_LOOK, CLOSED_EARLY, NEEDED_ASSUMES, NOT_IN_SIGHT, REACHED
from recruitment.costs import highest_fee, per_response
from recruitment.ledger import Ledger
from recruitment.messages import CLOSING_EARLY
from studies.models import Study
from tiebreak.digits import about_money, counted, in_digits, money
from tiebreak.reading.figures.planning.smallest_difference import (
    precisions,
    reached_at,
)
from tiebreak.reading.messages import NO_PLAN_KNOWN, NOTHING_SHOWN
from tiebreak.reading.while_open import sequence_finding, still_missing
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.selection import PairComponents
from tiebreak.report.model.stopping import NeededInstances, PairSequence, StoppingSection
from tiebreak.stats import VarianceComponents, design_grid

# As many ratings as the study has, and twice and four times as many.
SIZES = (1, 2, 4)


@dataclass(frozen=True)
class Needed:
    """What one target still needs for one pair of systems, in words."""

    pair: str
    target: str
    instances: str
    ratings: str
    cost: str
    at_one_look: str


def stopping_context(study: Study, section: CriterionSection) -> dict[str, Any]:
    """Return what the page says next to its figures."""
    stopping = section.stopping
    if stopping is None:
        return {"why_unknown": NO_PLAN_KNOWN}
    return {
        "stopping": stopping,
        "now": _now(study, stopping),
        "closing": CLOSED_EARLY if study.status == Study.Status.CLOSED else CLOSING_EARLY,
        "needed": _rows(study, section, stopping),
        "more_buys": _more_buys(study, section) if stopping.is_reached else [],
        "for_excluded": _for_excluded(study) if stopping.is_reached else "",
        "assumes": NEEDED_ASSUMES,
        "at_one_look": AT_ONE_LOOK,
    }


def _now(study: Study, stopping: StoppingSection) -> tuple[str, str]:
    """Return what may be concluded if nothing more is collected."""
    if stopping.is_reached:
        return "The planned number of responses is reached", REACHED
    heading, sentence = sequence_finding(stopping)
    verb = "is" if study.status == Study.Status.CLOSED else "would be"
    if heading == NOTHING_SHOWN.format(still_missing(stopping)):
        return f"Stopping now, no system {verb} shown to be better", sentence
    return f"Stopping now, the result {verb}: {heading}", sentence


def _rows(study: Study, section: CriterionSection, stopping: StoppingSection) -> list[Needed]:
    cost, components = _cost_of_instance(study), section.planning or {}
    rows = []
    for name, pair in stopping.pairs.items():
        for target in pair.needed:
            title = "to exclude ½" if target.width is None else f"width {in_digits(target.width)}"
            planned = _at_one_look(study, target.width, components.get(name))
            rows.append(Needed(name, title, *_more(study, pair, target, cost), planned))
    return rows


def _more(
    study: Study, pair: PairSequence, target: NeededInstances, cost: Decimal | None
) -> tuple[str, str, str]:
    """Return how many more instances and ratings a target needs, and what they cost."""
    if target.instances is None:
        return NOT_IN_SIGHT, "", ""
    more = max(0, target.instances - pair.win_rate.n)
    if not more:
        return "reached", "0", "0"
    ratings = round(more * study.mean_ratings * _units(study))
    costs = "unknown" if cost is None else f"about {about_money(more * cost)} {study.currency}"
    return f"about {more:,}", f"about {ratings:,}", costs


def _more_buys(study: Study, section: CriterionSection) -> list[tuple[str, str, str]]:
    """Return how precisely a study of each size would tell a pair's win rate, its ratings and their cost.

    Among the sizes is that which the picture names.
    """
    cost = cost_in_words(study, section)
    if cost is None:
        return []
    told = precisions(section)
    sizes = {section.n_ratings * times for times in SIZES}
    if reached := reached_at(section):
        sizes.add(reached)
    return [(f"±{in_digits(told[n])}", f"{n:,}", cost(n)) for n in sorted(sizes & told.keys())]


def cost_in_words(study: Study, section: CriterionSection) -> Callable[[float], str] | None:
    """Return what says what a number of ratings costs, which is about so much if they are not there."""
    each = cost_of_rating(study)
    if each is None:
        return None

    def told(ratings: float) -> str:
        cost = round(ratings) * each
        is_known = ratings == section.n_ratings
        return f"{money(cost) if is_known else f'about {about_money(cost)}'} {study.currency}"

    return told


def _for_excluded(study: Study) -> str:
    """Return what was paid beyond the ratings that count, to people who were excluded."""
    if not study.reward:
        return ""
    n, cost = Ledger(study, database_now()).excluded
    annotators = "an excluded annotator" if n == 1 else f"{n} excluded annotators"
    return f"{money(cost.total)} {study.currency} more went to {annotators}." if n else ""


def _units(study: Study) -> int:
    return 1 if study.bundling == Study.Bundling.MIXED else study.comparisons_per_hit


def cost_of_rating(study: Study) -> Decimal | None:
    """Return what one rating costs, with the highest fee, if it is known."""
    cost = _cost_of_instance(study)
    return None if cost is None else cost / Decimal(str(study.mean_ratings)) / _units(study)


def _cost_of_instance(study: Study) -> Decimal | None:
    """Return what all ratings of one instance and pair cost, with the highest fee."""
    reward = per_response(study)
    if reward is None:
        return None
    share = Decimal(1)
    if study.bundling == Study.Bundling.MIXED:
        share = Decimal(1) / study.comparisons_per_hit
    fee = 1 + highest_fee(study.channels.all()) / 100
    return reward * Decimal(str(study.mean_ratings)) * share * fee


def _at_one_look(study: Study, width: float | None, components: PairComponents | None) -> str:
    """Return how many instances a study needs that plans for this width and looks once."""
    if width is None:
        return "only for a width"
    if components is None or components.reason is not None:
        return "unknown"
    pilot = VarianceComponents(
        components.mean, components.instance, components.unit, components.rater, components.rating
    )
    (design,) = design_grid(
        pilot,
        target_width=width,
        units=[_units(study)],
        ratings=[study.ratings_per_hit],
        further_share=study.further_share,
        further_ratings=study.further_ratings,
        new_raters=False,
    )
    return NOT_IN_SIGHT if design.instances is None else counted(design.instances, "instance")
