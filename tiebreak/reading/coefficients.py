"""Further coefficients of agreement, as the page of agreement lists them."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from tiebreak.digits import in_digits, percent
from tiebreak.reading.shown import Number, Row, number
from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.raters import ChanceCorrectedSection
from tiebreak.report.model.report import CriterionSection

TITLES = {one.name: one.metadata["title"] for one in fields(ChanceCorrectedSection) if one.metadata}
FORMS = {
    "1": "ICC(1): each item may have its own annotators",
    "A": "ICC(A): the same annotators, absolute agreement",
    "C": "ICC(C): the same annotators, consistency",
}
WEIGHTS = {
    "identity": "Equal labels only",
    "linear": "Linear weights",
    "quadratic": "Quadratic weights",
}
ABOUT = (
    "These coefficients differ in the agreement that they expect by chance. They cover all items"
    " together and apply to these annotators only. Decide before you look which one you report: the"
    " highest of several is no finding. With weights, labels that are close to each other on the scale"
    " agree in part."
)
NOT_STORED = (
    "The stored report was computed before these coefficients were added. The next report will"
    " contain them."
)
PREVAILS = (
    "α ({alpha}) and AC1 ({ac1}) disagree because one label prevails: it makes up {share} of the"
    " ratings. α then expects much agreement by chance, and AC1 little. Report both with that share. A"
    " high AC1 does not show that annotators can tell the rare label from the frequent one."
)
MIN_GAP, PREVAILING_SHARE = 0.2, 0.7


@dataclass(frozen=True)
class Coefficients:
    """The coefficients by weights and the intraclass correlations; `missing` says why there are none."""

    columns: list[str]
    rows: list[Row]
    correlations: list[Row]
    about: str = ABOUT
    prevails: str = ""
    missing: str = ""


def coefficients(section: CriterionSection, *, states_findings: bool) -> Coefficients | None:
    """Return the coefficients, or None where the report says why it could not compute them."""
    listed = section.chance_corrected
    if listed is None:
        is_older = section.labels and "chance_corrected" not in section.problems
        return Coefficients([], [], [], missing=NOT_STORED) if is_older else None
    return Coefficients(
        [WEIGHTS[name] for name in listed.gwet_ac],
        list(_rows(listed)),
        [_row(FORMS[form], {form: e}) for form, e in listed.intraclass_correlation.items()],
        prevails=_prevails(section, listed) if states_findings else "",
    )


def _rows(listed: ChanceCorrectedSection) -> Iterator[Row]:
    for name, title in TITLES.items():
        estimates = getattr(listed, name)
        is_randolph = name == "brennan_prediger" and len(estimates) == 1  # it leads
        if estimates and not is_randolph:
            yield _row(title, estimates)


def _row(title: str, estimates: Estimates) -> Row:
    """Return a row; a reason that all of its cells share is in the first one only."""
    numbers = [number(estimate) for estimate in estimates.values()]
    if len(numbers) > 1 and len({one.reason for one in numbers}) == 1 and numbers[0].reason:
        numbers[1:] = [Number("", "", one.glyph, "") for one in numbers[1:]]
    return Row(title, max(e.n for e in estimates.values()), "", numbers)


def _prevails(section: CriterionSection, listed: ChanceCorrectedSection) -> str:
    """Return why α and AC1 disagree, if they do and one label has most of the ratings."""
    alpha, ac1 = section.all_units.human_human.krippendorff_alpha, listed.gwet_ac["identity"]
    votes = section.votes.values()
    share = max(votes, default=0) / max(1, sum(votes))
    if not (alpha.is_defined and ac1.is_defined) or share < PREVAILING_SHARE:
        return ""
    if ac1.value - alpha.value < MIN_GAP:
        return ""
    return PREVAILS.format(
        alpha=in_digits(alpha.value), ac1=in_digits(ac1.value), share=percent(share)
    )
