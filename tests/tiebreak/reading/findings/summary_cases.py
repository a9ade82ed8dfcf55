"""Cases of the summary of a written report."""

from dataclasses import replace

from tests.metrics.studies import preferences
from tests.tiebreak.reading.findings.agreement_cases import AGREE, THESE_AGREE
from tests.tiebreak.reading.findings.case import (
    A_WINS,
    B_WINS,
    HERE,
    SIMILAR_RATERS,
    THESE_RATERS,
    Case,
    of,
)
from tests.tiebreak.reading.findings.situations import (
    UNDEFINED,
    base,
    by_raters,
    few_instances,
    interval,
    with_alpha,
    with_rates,
    without_interval,
)
from tests.tiebreak.reading.findings.watching_cases import SO_FAR, watching
from tests.tiebreak.reading.findings.win_rate_cases import TOO_FEW_ITEMS
from tiebreak.formats import RatingTable
from tiebreak.reading.document.summary import summary
from tiebreak.reading.messages import OTHERS_AGREE, OTHERS_OPEN, WATCHED_SCOPE
from tiebreak.report import build_report
from tiebreak.report.model.report import CriterionSection
from tiebreak.stats import Estimate

ONE_PAIR = (
    "3 annotators gave 60 ratings of 20 comparisons: a was preferred in 20, b in 30, and neither"
)
ALL_RATINGS = "3 annotators gave 60 ratings of 20 items."
MANY = "The table of counts has how often each system of the 4 pairs was preferred."
ALPHA = "Agreement among annotators was Krippendorff's α = 0.30 (95% interval 0.10 to 0.50)."
ALPHA_ALONE = "Agreement among annotators was Krippendorff's α = 0.30."
TWO_WAY = (
    "Intervals are 95% intervals that allow for other instances and, where three annotators or more"
    " rated, for other annotators."
)
OF_FEW = "intervals of shares of fewer than 100 instances are Student's t on the logit scale"
OTHERS_TOO = "Other intervals are 95% intervals from up to 200 bootstrap replicates over items."
OVER_INSTANCES = "from up to 200 bootstrap replicates over instances."


def summarised(section: CriterionSection) -> str:
    rows = RatingTable.from_rows(preferences([[1, 1]]))
    report = replace(build_report(rows, replicates=200), criteria={"preference": section})
    return of(*(paragraph.text for paragraph in summary(report, [])))


def without_systems(alpha: Estimate) -> CriterionSection:
    return replace(with_alpha(alpha), systems=None, bias=None, rating_sets=None)


SUMMARY = (
    Case(
        "the summary of a finding for new raters",
        lambda: summarised(by_raters(6)),
        (f"{B_WINS}: win rate ", SIMILAR_RATERS, TWO_WAY),
        (OTHERS_TOO, OTHERS_OPEN, THESE_RATERS, WATCHED_SCOPE, OF_FEW, OVER_INSTANCES),
    ),
    Case(
        "the summary of a finding for these annotators",
        lambda: summarised(base()),
        (f"{HERE}{B_WINS}: win rate ", ONE_PAIR, OTHERS_OPEN, TWO_WAY),
        (SIMILAR_RATERS, MANY, ALL_RATINGS, OTHERS_TOO),
    ),
    Case(
        "the summary of two raters",
        lambda: summarised(by_raters(2)),
        (THESE_RATERS, OF_FEW, OTHERS_TOO),
        (SIMILAR_RATERS, TWO_WAY),
    ),
    Case(
        "the summary of several units of one instance",
        lambda: summarised(replace(by_raters(2), resampling="instance")),
        (OVER_INSTANCES,),
        ("over items.",),
    ),
    Case(
        "the summary of few instances",
        lambda: summarised(few_instances(9)),
        (f"{TOO_FEW_ITEMS} (criterion “preference”).",),
        (TWO_WAY, OTHERS_TOO, OF_FEW, ALPHA, ALPHA_ALONE),
    ),
    Case(
        "the summary of a running study",
        lambda: summarised(watching()),
        (f"{SO_FAR} (criterion “preference”).", WATCHED_SCOPE),
        (f"{A_WINS}: win rate ",),
    ),
    Case(
        "the summary of a finding on a",
        lambda: summarised(with_rates(a=interval(0.55, 0.7), b=interval(0.3, 0.45))),
        (f"{A_WINS}: win rate ",),
        (f"{SO_FAR} (criterion “preference”).",),
    ),
    Case(
        "the summary of many pairs",
        lambda: summarised(_of_four_pairs()),
        (ALL_RATINGS, MANY),
        (ONE_PAIR,),
    ),
    Case(
        "the summary of agreement",
        lambda: summarised(without_systems(interval(0.1, 0.5))),
        (f"{AGREE} (criterion “preference”).", ALPHA, ALL_RATINGS),
        (ALPHA_ALONE, "No finding (criterion “preference”)."),
    ),
    Case(
        "the summary of agreement of these annotators",
        lambda: summarised(without_systems(interval(-0.1, 0.5, these=(0.1, 0.4)))),
        (f"{THESE_AGREE} (criterion “preference”).", OTHERS_AGREE),
        (SIMILAR_RATERS,),
    ),
    Case(
        "the summary of agreement without an interval",
        lambda: summarised(without_systems(replace(without_interval(0.3), n=20))),
        ("No finding (criterion “preference”).", ALPHA_ALONE),
        (f"{AGREE} (criterion “preference”).", ALPHA),
    ),
    Case(
        "the summary where α is undefined",
        lambda: summarised(without_systems(UNDEFINED)),
        ("No finding (criterion “preference”).",),
        (ALPHA, ALPHA_ALONE, SIMILAR_RATERS, "This holds "),
    ),
)


def _of_four_pairs() -> CriterionSection:
    systems = base().systems
    (pair,) = systems.counts.values()
    return replace(base(), systems=replace(systems, counts=dict.fromkeys("1234", pair)))
