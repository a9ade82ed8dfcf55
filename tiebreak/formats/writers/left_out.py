"""What a format cannot carry, counted by its reason."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tiebreak.formats.writers.items import JudgedItem, Vote
from tiebreak.scales import BAD

REASONS = {
    "not_a_comparison": "The format has comparisons of two texts only.",
    "graded": "The format has no strengths of a preference.",
    "both_bad": "The format has no verdict that both texts are bad.",
    "tie": "The format has no ties.",
    "no_text": "The format needs both texts, and one of them is not known or empty.",
    "unreadable": "The format has no place for answers that could not be read.",
    "nonresponse": "The format has no place for answers without a label.",
    "not_three_annotators": "The format has exactly three annotators for each item.",
    "annotators_disagree": "The format has one correct verdict for each item, on which all agree.",
    "other_systems": "The format has two outputs without names; these compare other systems.",
    "underscore": "The format joins the systems' names with _, which one of them contains.",
    "one_order": "The format has each verdict in both orders, and one of them is missing.",
    "further_pass": "The format has one answer of each rater for an item; this is a further one.",
    "person_on_one_text": "The format has only machines' scores of single texts.",
    "not_a_score": "The format has numbers as scores.",
}


@dataclass
class LeftOut:
    """Counts ratings that a format cannot carry."""

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, reason: str, ratings: int = 1) -> None:
        """Count some ratings that are left out for this reason."""
        if reason not in REASONS:
            raise KeyError(reason)
        self.counts[reason] += ratings

    def rows(self) -> list[dict[str, object]]:
        """Return the reasons with their sentences and numbers, the most frequent one first."""
        return [
            {"code": code, "reason": REASONS[code], "ratings": n}
            for code, n in self.counts.most_common()
        ]


def comparable(
    item: JudgedItem, left_out: LeftOut, *, refused: Sequence[str] = ()
) -> Iterator[Vote]:
    """Yield the votes between two texts that say which one is better, or that neither is.

    `refused` names what the format cannot carry beyond that: "tie", "both_bad", "unreadable".
    """
    reason = _reason_of(item)
    if reason:
        left_out.add(reason, len(item.votes))
        return
    for vote in item.votes:
        verdict = {0: "tie", BAD: "both_bad", None: "unreadable"}.get(vote.label, "")
        if verdict in refused:
            left_out.add(verdict)
        else:
            yield vote


def _reason_of(item: JudgedItem) -> str:
    """Return why no vote about an item is a plain preference between two texts, or ""."""
    if item.scale.kind != "preference" or not item.system_b:
        return "not_a_comparison"
    if not item.text_a or not item.text_b:
        return "no_text"
    strengths = {label for label in item.scale.labels or () if label != BAD}
    return "" if strengths <= {-1, 0, 1} else "graded"
