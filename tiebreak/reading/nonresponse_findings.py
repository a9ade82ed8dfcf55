"""What is said of answers without a label, and when it is the first thing that is said."""

from collections.abc import Iterator

from tiebreak.digits import counted, percent
from tiebreak.nonresponse import NONRESPONSES
from tiebreak.reading.messages import REST_IS_LABELLED
from tiebreak.report.model.nonresponse import NonresponsesOfRaters
from tiebreak.report.model.report import CriterionSection

# The shares of answers without a label from which on it is said, and is said first.
SAID, FIRST = 1 / 5, 1 / 2


def nonresponse_finding(section: CriterionSection) -> tuple[str, str] | None:
    """Return whose answers often have no label, and what they say instead; None if nobody's.

    The shares are of answers that were given, so they may be stated while a study runs.
    """
    groups = list(_without_labels(section, SAID))
    if not groups:
        return None
    headings = (f"{percent(_share(group))} of the answers by {group.name}" for group in groups)
    sentences = (f"{_in_numbers(group)}." for group in groups)
    return f"{' and '.join(headings)} have no label", f"{' '.join(sentences)} {REST_IS_LABELLED}"


def nonresponse_leads(section: CriterionSection) -> bool:
    """Return whether this must be read before any other number."""
    return any(_without_labels(section, FIRST))


def _without_labels(section: CriterionSection, least: float) -> Iterator[NonresponsesOfRaters]:
    groups = section.nonresponse.groups if section.nonresponse else ()
    return (group for group in groups if _share(group) >= least)


def _share(group: NonresponsesOfRaters) -> float:
    return group.without_label / group.answers


def _in_numbers(group: NonresponsesOfRaters) -> str:
    said = (f"{n:,} were “{NONRESPONSES[code]}”" for code, n in group.counts.items() if n)
    return f"Of {counted(group.answers, 'answer')} by {group.name}, {' and '.join(said)}"
