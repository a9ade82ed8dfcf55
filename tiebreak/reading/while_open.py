"""What pages state before the planned number of responses is reached, however often they are read.

A 95% interval is valid for one look at the planned number. Before, only confidence sequences lead to
findings, and other numbers state none.
"""

from dataclasses import replace

from tiebreak.digits import counted
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.messages import (
    NO_FINDING_YET,
    NOTHING_SHOWN,
    STILL_MISSING,
    WATCHED,
    WATCHED_SCOPE,
    WATCHED_UNITS,
    WITH_THESE,
)
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.stopping import PairSequence, StoppingSection
from tiebreak.stats import Estimate

WIN_RATES = "Win rates"


def unreached(section: CriterionSection) -> StoppingSection | None:
    """Return the section `stopping` if the planned number of responses is not reached."""
    stopping = section.stopping
    return stopping if stopping is not None and not stopping.is_reached else None


def has_sequences(stopping: StoppingSection) -> bool:
    """Whether any pair has complete instances, so that its confidence sequence can be drawn."""
    return any(pair.win_rate.is_defined for pair in stopping.pairs.values())


def still_missing(stopping: StoppingSection) -> str:
    """Say how many of the planned responses are missing."""
    planned = stopping.planned_responses
    missing = planned - stopping.responses
    verb = "is" if missing == 1 else "are"
    return STILL_MISSING.format(missing=f"{missing:,}", planned=f"{planned:,}", verb=verb)


def sequence_finding(stopping: StoppingSection) -> tuple[str, str]:
    """Return which systems are ahead by the confidence sequences, and what these assume."""
    if stopping.reason:
        return WIN_RATES, f"{NO_FINDING_YET} {stopping.reason}"
    # Sequences apply to these annotators, as the heading says once for all pairs.
    ahead = [heading for pair in stopping.pairs.values() if (heading := _heading(pair))]
    n = counted(stopping.statements, "comparison")
    valid = WATCHED.format(level=stopping.confidence_level, statements=n)
    so_far = ""
    for name, pair in stopping.pairs.items():
        waiting = f", {pair.held_back} complete ones wait" if pair.held_back else ""
        planned = counted(pair.planned, "instance")
        so_far += f" {name}: {pair.win_rate.n} of {planned} entered{waiting}."
    return (
        f"{WITH_THESE}{'; '.join(ahead)}"
        if ahead
        else NOTHING_SHOWN.format(still_missing(stopping)),
        f"{valid} {WATCHED_UNITS}{so_far} {WATCHED_SCOPE if has_sequences(stopping) else ''}".rstrip(),
    )


def _heading(pair: PairSequence) -> str:
    rate, (first, second) = pair.win_rate, pair.systems
    if not rate.has_interval or rate.low <= 0.5 <= rate.high:
        return ""
    winner, loser = (first, second) if rate.low > 0.5 else (second, first)
    return f"{winner} wins more often than {loser}"


def without_finding(
    section: CriterionSection, finding: tuple[str, str], heading: str
) -> tuple[str, str]:
    """Return a finding, with a heading that states none if the planned number is not reached."""
    if unreached(section) is None:
        return finding
    return heading, f"{NO_FINDING_YET} {finding[1]}"


def without_interval(estimate: Estimate, reason: str | None = None) -> Estimate:
    """Return the value alone: intervals for one look would show what no heading may say."""
    return Estimate(estimate.value, n=estimate.n, reason=reason or estimate.reason)


def while_unreached(figure: Figure, section: CriterionSection) -> Figure:
    """Return a figure that states no finding as long as the planned number is not reached.

    Figures without a `title` state none, and the win rates come from the sequences.
    """
    if unreached(section) is None or not figure.is_of_ratings or not figure.title:
        return figure
    if figure.name == "win-rates":
        return figure
    chart = replace(figure.chart, finding=figure.title)
    return replace(figure, finding=figure.title, sentence=NO_FINDING_YET, chart=chart)
