"""Cases of findings on win rates at the planned number."""

from dataclasses import replace

from tests.tiebreak.reading.findings.case import (
    A_WINS,
    B_WINS,
    DATASET,
    HERE,
    SELECTED,
    SIMILAR_RATERS,
    THESE_RATERS,
    Case,
    of,
)
from tests.tiebreak.reading.findings.situations import (
    base,
    by_raters,
    few_instances,
    interval,
    selection,
    with_rates,
)
from tiebreak.reading.findings import (
    win_rate_finding,
)
from tiebreak.reading.messages import (
    AT_ONCE,
    NO_WINNER,
    OTHERS_OPEN,
    WEIGHTED,
    WIN_RATE_IS,
)
from tiebreak.report.model.report import CriterionSection

NOBODY = NO_WINNER
TOO_FEW_ITEMS = "9 items are too few to say which system is better: 10 are needed"
TOO_FEW_ITEMS_1 = "1 item is too few to say which system is better: 10 are needed"
TOO_FEW_OF_ALL = "Too few instances to say which system is better: 10 of each pair are needed"


def wins(section: CriterionSection) -> str:
    return of(*win_rate_finding(section))


def drawn() -> CriterionSection:
    """Return a section whose weighted rates speak of the dataset."""
    section = with_rates(
        a=interval(0.55, 0.7, instances="dataset"), b=interval(0.3, 0.45, instances="dataset")
    )
    return replace(section, selection={"a vs b": selection()})


WINS = (
    Case(
        "an interval for new raters above one half names the system",
        lambda: wins(with_rates(a=interval(0.55, 0.7), b=interval(0.3, 0.45))),
        (f"{A_WINS}: win rate ", WIN_RATE_IS, SIMILAR_RATERS),
        (B_WINS, NOBODY, HERE, THESE_RATERS, OTHERS_OPEN, SELECTED, DATASET, WEIGHTED),
    ),
    Case(
        "a system that always wins, by an interval that ends at its bound",
        lambda: wins(with_rates(a=replace(interval(0.9, 1.0), value=1.0))),
        (f"{A_WINS}: win rate ",),
        (NOBODY, HERE),
    ),
    Case(
        "the direction follows the interval",
        lambda: wins(with_rates(a=interval(0.3, 0.45), b=interval(0.55, 0.7))),
        (f"{B_WINS}: win rate ",),
        (A_WINS,),
    ),
    Case(
        "an interval that ends at one half names nobody",
        lambda: wins(with_rates(a=interval(0.5, 0.7), b=interval(0.3, 0.5))),
        (f"{NOBODY} |", SIMILAR_RATERS),
        (A_WINS, B_WINS, HERE),
    ),
    Case(
        "only these annotators' interval excludes one half",
        lambda: wins(
            with_rates(
                a=interval(0.45, 0.7, these=(0.52, 0.63)), b=interval(0.3, 0.55, these=(0.37, 0.48))
            )
        ),
        (f"{HERE}{A_WINS}: win rate ", OTHERS_OPEN, THESE_RATERS),
        (SIMILAR_RATERS, NOBODY, B_WINS, "a, b win more often than they lose"),
    ),
    Case(
        "two raters or fewer speak of themselves",
        lambda: wins(
            with_rates(a=interval(0.55, 0.7, raters="these"), b=interval(0.3, 0.45, raters="these"))
        ),
        (f"{HERE}{A_WINS}: win rate ", THESE_RATERS),
        (SIMILAR_RATERS, NOBODY),
    ),
    Case(
        "two raters, from ratings to the heading",
        lambda: wins(by_raters(2)),
        (f"{HERE}{B_WINS}: win rate ", THESE_RATERS),
        (SIMILAR_RATERS, A_WINS),
    ),
    Case(
        "six raters, from ratings to the heading",
        lambda: wins(by_raters(6)),
        (f"{B_WINS}: win rate ", SIMILAR_RATERS),
        (HERE, THESE_RATERS, A_WINS),
    ),
    Case(
        "several systems need intervals that hold at once",
        lambda: wins(
            with_rates(
                at_once=3,
                together={"a": interval(0.49, 0.67)},
                a=interval(0.52, 0.64),
                b=interval(0.4, 0.55),
                c=interval(0.4, 0.55),
            )
        ),
        (f"{NOBODY} |", AT_ONCE.format(n=3)),
        (A_WINS,),
    ),
    Case(
        "two of three systems are ahead at once",
        lambda: wins(
            with_rates(
                at_once=3, a=interval(0.55, 0.6), b=interval(0.55, 0.6), c=interval(0.2, 0.3)
            )
        ),
        ("a, b win more often than they lose; they are not told apart |",),
        (A_WINS, B_WINS, NOBODY),
    ),
    Case(
        "one comparison needs no allowance for several",
        lambda: wins(with_rates(a=interval(0.45, 0.55), b=interval(0.45, 0.55))),
        (NOBODY,),
        (AT_ONCE.format(n=3),),
    ),
    Case(
        "systems that speak of different raters",
        lambda: wins(with_rates(a=interval(0.55, 0.7), b=interval(0.3, 0.45, raters="these"))),
        (f"a: {SIMILAR_RATERS} b: {THESE_RATERS}",),
    ),
    Case(
        "after a draw with a control sample",
        lambda: wins(drawn()),
        (
            f"{A_WINS}{DATASET}: win rate ",
            WEIGHTED,
            "This holds for the whole dataset and annotators like these.",
        ),
        (
            SELECTED,
            SIMILAR_RATERS,
            "This holds only for the selected instances and annotators like these.",
        ),
    ),
    Case(
        "after a draw without a control sample",
        lambda: wins(
            with_rates(
                a=interval(0.55, 0.7, instances="selected"),
                b=interval(0.3, 0.45, instances="selected"),
            )
        ),
        (
            f"{A_WINS}{SELECTED}: win rate ",
            "This holds only for the selected instances and annotators like these.",
        ),
        (DATASET, "for the whole dataset", SIMILAR_RATERS),
    ),
    Case(
        "fewer than ten instances that all favour one system",
        lambda: wins(few_instances(9)),
        (
            TOO_FEW_ITEMS,
            "This holds only for these instances, not for other annotators.",
        ),
        (A_WINS, NOBODY, SIMILAR_RATERS),
    ),
    Case("one item", lambda: wins(few_instances(1)), (TOO_FEW_ITEMS_1,), (TOO_FEW_ITEMS,)),
    Case(
        "few instances of several pairs",
        lambda: wins(few_instances(4, pairs=2)),
        (TOO_FEW_OF_ALL,),
        (TOO_FEW_ITEMS, NOBODY),
    ),
    Case(
        "ten instances or more that all favour one system",
        lambda: wins(few_instances(30)),
        (f"{HERE}{A_WINS}: win rate ", OTHERS_OPEN),
        (NOBODY, TOO_FEW_ITEMS, TOO_FEW_ITEMS_1, TOO_FEW_OF_ALL),
    ),
    Case(
        "ratings that name no systems",
        lambda: wins(replace(base(), systems=replace(base().systems, win_rate={}))),
        ("The ratings do not name systems, so there are no win rates.",),
        (WIN_RATE_IS, A_WINS),
    ),
    Case(
        "systems are named",
        lambda: wins(base()),
        (WIN_RATE_IS,),
        ("The ratings do not name systems, so there are no win rates.",),
    ),
)
