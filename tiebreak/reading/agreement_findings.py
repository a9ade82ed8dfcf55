"""Whether annotators agree beyond chance, and where that is shown."""

from itertools import groupby

from tiebreak.digits import counted, percent
from tiebreak.reading.findings import (
    BANDS,
    RANGE,
    annotators_of,
    scope_sentence,
    scope_suffix,
    units_of_shares,
)
from tiebreak.reading.messages import (
    MACHINES_FIRST,
    NO_FINDING_YET,
    OTHERS_AGREE,
    TOO_FEW_TO_AGREE,
    WITH_TWO,
)
from tiebreak.reading.while_open import unreached
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.strata import StratumSection
from tiebreak.stats import Estimate
from tiebreak.stats.core.independence import MIN_CLUSTERS

NO_ALPHA_HEADING = "Agreement among annotators"
AGREE, THESE_AGREE = "Annotators agree beyond chance", "These annotators agree beyond chance"
# What follows these, by what is shown where the systems' texts are most alike and most different. The
# shorter form is for a heading that goes on with the instances that it covers.
NOT_SHOWN = ", but this is not shown where texts are most {how}"
NOT_SHOWN_OF_DRAWN = "; not shown for texts most {how}"
MORE_LEAST = ", more for texts most different than most alike"
MORE_MOST = ", more for texts most alike than most different"
MOST_TOO = " even for texts most alike"
# And otherwise in how many groups of a kind.
KINDS = {"systems": "pairs of systems", "category": "categories"}
EACH_GROUP, NOT_IN_GROUPS = " in each of {n} {kind}", ", not shown in {missing} of {n} {kind}"


def agreement_finding(section: CriterionSection) -> tuple[str, str]:
    """Return the heading and the sentences above the table of agreement by stratum."""
    all_units = section.all_units.human_human
    alpha = all_units.krippendorff_alpha
    if not alpha.is_defined:
        return NO_ALPHA_HEADING, f"Krippendorff's α is undefined. {alpha.reason}"
    if unreached(section):
        return NO_ALPHA_HEADING, f"{NO_FINDING_YET} {scope_sentence(alpha)}"
    unanimous = next(
        stratum
        for stratum in section.strata
        if (stratum.stratifier, stratum.stratum) == ("agreement", "PA=1")
    )
    # The share is not weighted, so even after a draw it is the share of the items that were rated.
    rated = units_of_shares(section.strata, unanimous)
    agreed = percent(unanimous.n_units / rated) if rated else ""
    share = f"All annotators agree on {agreed} of {counted(rated, 'rated item')} {WITH_TWO}."
    if not alpha.has_interval:
        is_few, verb = alpha.n < MIN_CLUSTERS, "is" if alpha.n == 1 else "are"
        noun = "item" if section.resampling == "unit" else "instance"
        few = TOO_FEW_TO_AGREE.format(n=counted(alpha.n, noun), verb=verb)
        heading = few if is_few else NO_ALPHA_HEADING
        return heading, f"{share} {alpha.reason or ''} {scope_sentence(alpha)}"
    heading, sentence = _beyond_chance(alpha, MACHINES_FIRST * bool(section.all_units.machines))
    if heading in (AGREE, THESE_AGREE):
        heading += _where(section, alpha, of_these=heading == THESE_AGREE)
    scope = scope_sentence(alpha, of_these=OTHERS_AGREE in sentence)
    return f"{heading}{scope_suffix(alpha)}", f"{share} {sentence}{scope}"


def _beyond_chance(alpha: Estimate, advice: str) -> tuple[str, str]:
    """Return whether annotators agree more than chance predicts, given α with its interval."""
    if alpha.low > 0:
        return f"{annotators_of(alpha)} agree beyond chance", advice
    if any(inner.low > 0 for inner in alpha.narrower):
        return THESE_AGREE, f"{OTHERS_AGREE} {advice}"
    if alpha.high < 0:
        check = "Check whether the guidelines can be read in two ways. "
        return f"{annotators_of(alpha)} disagree more than chance predicts", check
    return (
        "No agreement beyond chance is shown",
        "The interval of α includes 0. This does not show that annotators rate at random, because the"
        " texts may be hard to tell apart. ",
    )


def _where(section: CriterionSection, alpha: Estimate, *, of_these: bool) -> str:
    """Return where agreement is shown: at both ends of the bands, or in how many groups of a kind.

    The two ends are chosen before any rating, and agreement in each group is claimed only of all at
    once, so none of this needs an allowance for the number of groups.
    """
    bands = [
        _alpha(s)
        for s in section.strata
        if s.stratifier == "separability" and RANGE.fullmatch(s.stratum)
    ]
    if len(bands) == len(BANDS) and bands[0].has_interval and bands[-1].has_interval:
        return _at_ends(bands[0], bands[-1], alpha, of_these=of_these)
    for kind, strata in groupby(section.strata, lambda one: one.stratifier):
        known = [one for s in strata if s.n_units and (one := _alpha(s)).has_interval]
        if kind in KINDS and len(known) > 1:
            missing = sum(not _is_shown(one, alpha, of_these=of_these) for one in known)
            said = NOT_IN_GROUPS if missing else EACH_GROUP
            return said.format(missing=missing, n=len(known), kind=KINDS[kind])
    return ""


def _at_ends(most: Estimate, least: Estimate, alpha: Estimate, *, of_these: bool) -> str:
    in_most, in_least = (_is_shown(one, alpha, of_these=of_these) for one in (most, least))
    if in_most and in_least:
        # Intervals that do not meet show a difference; intervals that meet show neither.
        if least.low > most.high:
            return MORE_LEAST
        return MORE_MOST if most.low > least.high else MOST_TOO
    not_shown = NOT_SHOWN_OF_DRAWN if scope_suffix(alpha) else NOT_SHOWN
    if in_least:
        return not_shown.format(how="alike")
    return not_shown.format(how="different") if in_most else ""


def _is_shown(one: Estimate, alpha: Estimate, *, of_these: bool) -> bool:
    """Return whether agreement beyond chance is shown for whom and for what the heading speaks of."""
    if one.scope.instances != alpha.scope.instances:
        return False
    if of_these:
        return one.low > 0 or any(inner.low > 0 for inner in one.narrower)
    return one.scope.raters == "new" and one.low > 0


def _alpha(stratum: StratumSection) -> Estimate:
    return stratum.human_human.krippendorff_alpha
