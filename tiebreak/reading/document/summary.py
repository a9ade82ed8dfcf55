"""The first section of a report document: what was found, in plain counts, and how."""

from collections.abc import Iterator, Sequence

import tiebreak
from tiebreak.digits import counted, in_digits
from tiebreak.reading.agreement_findings import NO_ALPHA_HEADING, agreement_finding
from tiebreak.reading.document.content import Paragraph
from tiebreak.reading.document.references import BOOTSTRAP, FEW_INSTANCES, TWO_WAY, references_of
from tiebreak.reading.findings import (
    rate_of_winner,
    scope_sentence,
    win_rate_finding,
    win_rate_scope,
)
from tiebreak.reading.messages import OTHERS_AGREE, OTHERS_OPEN, WATCHED_SCOPE
from tiebreak.reading.nonresponse_findings import nonresponse_finding, nonresponse_leads
from tiebreak.reading.while_open import unreached
from tiebreak.reading.words import counts_of, counts_sentence
from tiebreak.report import Report
from tiebreak.report.model.report import CriterionSection

MAX_PAIRS = 3
MANY_PAIRS = "The table of counts has how often each system of the {n} pairs was preferred."


def summary(report: Report, systems: Sequence[str]) -> tuple[Paragraph, ...]:
    """Return a paragraph of findings for each criterion, and one on how the study was made."""
    findings = tuple(
        Paragraph(" ".join(_findings(name, report.criteria[name])))
        for name in report.criteria_order
    )
    compared = f"We compared {counted(len(systems), 'system')} ({', '.join(systems)}). "
    intervals = "".join(_intervals(report)).strip()
    computed = f" Statistics were computed with Tiebreak {tiebreak.__version__}."
    methods = f"{compared if systems else ''}{intervals}{computed}".strip()
    return (*findings, Paragraph(methods))


def _findings(name: str, about: CriterionSection) -> Iterator[str]:
    heading, scope = _headline(about)
    unlabelled = " ".join(f"{part.rstrip('.')}." for part in nonresponse_finding(about) or ())
    leads = nonresponse_leads(about)
    if leads:
        yield unlabelled
    yield f"{heading} (criterion “{name}”)."
    if rate := rate_of_winner(about):
        yield rate
    yield from _counts(about)
    yield from _agreement(about)
    if unlabelled and not leads:
        yield unlabelled
    if scope:
        yield scope


def _headline(about: CriterionSection) -> tuple[str, str]:
    """Return the heading that the pages show, and who it applies to."""
    systems, alpha = about.systems, about.all_units.human_human.krippendorff_alpha
    if systems is None or not systems.win_rate:
        heading, sentence = agreement_finding(about)
        heading = "No finding" if heading == NO_ALPHA_HEADING else heading
        scope = scope_sentence(alpha) if alpha.is_defined else ""
        return heading, OTHERS_AGREE if OTHERS_AGREE in sentence else scope
    heading, sentence = win_rate_finding(about)
    if unreached(about):
        return heading, WATCHED_SCOPE
    return heading, OTHERS_OPEN if OTHERS_OPEN in sentence else win_rate_scope(about)


def _counts(about: CriterionSection) -> Iterator[str]:
    pairs, has_ties = counts_of(about), 0 in about.labels
    if pairs and len(pairs) <= MAX_PAIRS:
        yield from (counts_sentence(pair, has_ties=has_ties) for pair in pairs)
        return
    people = sum(rater.kind == "human" for rater in about.raters.values())
    yield (
        f"{counted(people, 'annotator')} gave {counted(about.n_ratings, 'rating')} of"
        f" {counted(about.n_units, 'item')}."
    )
    if pairs:
        yield MANY_PAIRS.format(n=len(pairs))


def _agreement(about: CriterionSection) -> Iterator[str]:
    alpha = about.all_units.human_human.krippendorff_alpha
    if alpha.is_defined:
        interval = f" (95% interval {in_digits(alpha.low)} to {in_digits(alpha.high)})"
        yield (
            f"Agreement among annotators was Krippendorff's α = {in_digits(alpha.value)}"
            f"{interval if alpha.has_interval else ''}."
        )


def _intervals(report: Report) -> Iterator[str]:
    used = references_of(report)
    if TWO_WAY in used:
        yield (
            " Intervals are 95% intervals that allow for other instances and, where three annotators or"
            " more rated, for other annotators."
        )
    if FEW_INSTANCES in used:
        yield (
            " Where they apply to these annotators only, intervals of shares of fewer than 100 instances"
            " are Student's t on the logit scale, or Clopper and Pearson's where no instance differs."
        )
    if BOOTSTRAP in used:
        kind = "Other intervals" if {TWO_WAY, FEW_INSTANCES} & {*used} else "Intervals"
        replicates = f"{report.replicates:,} bootstrap replicates"
        yield f" {kind} are 95% intervals from up to {replicates}{_resampled(report)}."


def _resampled(report: Report) -> str:
    kinds = {section.resampling for section in report.criteria.values()}
    if len(kinds) > 1:
        return ""
    return " over items" if kinds == {"unit"} else " over instances"
