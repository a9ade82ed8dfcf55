"""The case for licensing a machine rater: the test by kind of item, what it rests on, and its gain."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isnan, nan
from typing import Any

from annotation.filters import EVERYTHING
from jobs.clock import database_now
from metrics.licensing.messages import (
    EVIDENCE_PENDING,
    NO_FURTHER_ITEMS,
    NO_INTERVAL_ALONE,
    NO_SPREAD,
    NO_WIN_RATES,
    NONE_PASSES,
    NONE_TESTED,
    NOT_KNOWN_YET,
    NOT_TESTED,
    NOT_WORSE,
    PASSED,
    SHORTLY,
    UNKNOWN_GAIN,
    WHY_NOT,
)
from metrics.models import Licence
from metrics.results.sections import ensure_section, stored_section
from metrics.results.selectors import stored_report
from metrics.results.services import ensure_fresh, watermark
from studies.models import Criterion, Study
from tiebreak.digits import counted, in_digits
from tiebreak.errors import DomainError
from tiebreak.reading.annotator_tests import matched, needed
from tiebreak.reading.findings import stratum_name
from tiebreak.reading.messages import DESCRIBED_ONLY, READING_IF_DRAWN
from tiebreak.reading.while_open import unreached
from tiebreak.report.model.machines import LicenceTest, MachineReplacement, ReplacementStratum
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.systems import SystemsSection

SECTION = "machine_replacement"
EPSILON: dict[str, float] = {
    Licence.Annotators.EXPERTS: 0.2,
    Licence.Annotators.TRAINED: 0.15,
    Licence.Annotators.CROWD: 0.1,
}


@dataclass(frozen=True)
class Evidence:
    """The case for one machine rater on one kind of item.

    `test` is None where there is none, and otherwise with the ε of a licence, or with the one asked for
    where too many coins pass at every ε. Nothing passes unless the planned number `is_reached`.
    """

    machine: str
    stratum: ReplacementStratum
    replacement: MachineReplacement
    test: LicenceTest | None
    is_reached: bool

    @property
    def items(self) -> str:
        return stratum_name(self.stratum.stratifier, self.stratum.stratum)

    @property
    def passes(self) -> bool | None:
        is_known = self.refusal != "not_testable" and self.is_reached
        return not self.refusal if is_known else None

    @property
    def refusal(self) -> str:
        """The code of what a licence lacks, or an empty text."""
        return self.replacement.refusal(self.test.epsilon) if self.test else "not_testable"

    @property
    def why_not(self) -> str:
        return WHY_NOT[self.refusal].format(**self._facts)

    @property
    def _facts(self) -> dict[str, str]:
        assert self.test is not None
        one = self.replacement
        return {
            "epsilon": in_digits(self.test.epsilon),
            "rate": in_digits(self.test.winning_rate),
            "of": matched(self.test),
            "needed": str(needed(self.test)),
            "coin": in_digits(self.test.coin_winning_rate),
            "agreement": in_digits(one.agreement),
            "low": in_digits(one.agreement_low),
            "guess": in_digits(one.best_guess),
        }

    @property
    def sentence(self) -> str:
        return f"{self.outcome} {self.scope}".strip()

    @property
    def scope(self) -> str:
        """Which annotators the numbers apply to, and on how many labels they rest."""
        one = self.replacement
        rests = f"{counted(one.labels, 'label')} of {counted(one.instances, 'instance')}"
        if self.test is None or self.test.reason:
            return f"There are {rests}.{self._by_bots}"
        few = ""
        if self.test.left_out:
            few = f"; {counted(self.test.left_out, 'other')} had too few instances in common with them"
        return (
            f"This applies to these {counted(self.test.annotators, 'annotator')} only{few}, and rests on"
            f" {rests}.{self._by_bots}{READING_IF_DRAWN[self.test.speaks_of]}"
        )

    @property
    def simulated(self) -> int:
        """How many of the labels were given by bots."""
        return self.replacement.simulated

    @property
    def is_only_simulated(self) -> bool:
        """Whether bots gave all labels, so nothing is known about annotators."""
        return 0 < self.simulated == self.replacement.labels

    @property
    def _by_bots(self) -> str:
        if self.is_only_simulated:
            return " Simulated: all of these labels were given by bots, not by people."
        if self.simulated:
            return (
                f" Simulated: {self.simulated} of these labels were given by bots, not by people."
            )
        return ""

    @property
    def outcome(self) -> str:
        """What follows from the test, in a sentence."""
        if self.test is None:
            return DESCRIBED_ONLY
        if self.untested:
            return f"Not tested: {self.untested}"
        if not self.is_reached:
            return ""
        if not self.refusal:
            return PASSED.format(**self._facts)
        return f"Not passed, because {self.why_not} {NOT_WORSE}"

    @property
    def untested(self) -> str:
        """Why these items cannot be tested, or an empty text."""
        return (self.test and self.test.reason) or self.replacement.reason or ""

    @property
    def outcome_in_short(self) -> str:
        """The outcome for a table, which has the numbers next to it."""
        if self.test is None:
            return "described only"
        if self.untested:
            return "not tested"
        return {True: "passed", False: "not passed", None: "not known yet"}[self.passes]

    @property
    def shortly(self) -> str:
        """Why the machine rater may or may not stand in, in a sentence or two."""
        if self.test is None or self.untested:
            return self.outcome
        return SHORTLY[self.refusal].format(**self._facts) if self.is_reached else NOT_KNOWN_YET

    @property
    def numbers(self) -> list[str]:
        """Agreement, the best guess's, ω, a coin's ω, ε and ρ; empty where there is no test."""
        one, test = self.replacement, self.test
        rates = [one.agreement, one.best_guess, *[nan] * 4]
        if test is not None:
            rates[2:4] = test.winning_rate, test.coin_winning_rate
            rates[4:] = test.epsilon, test.advantage_probability
        return ["" if isnan(rate) else in_digits(rate) for rate in rates]


@dataclass(frozen=True)
class MachineEvidence:
    """The evidence for one machine rater on all items, by kind of item, and what it adds."""

    machine: str
    rows: tuple[Evidence, ...]
    gain: str

    @property
    def overall(self) -> Evidence:
        return self.rows[0]

    @property
    def untested(self) -> dict[str, list[str]]:
        """The categories and pairs of systems in which there is no test, by the reason."""
        found: dict[str, list[str]] = {}
        for row in self.rows[1:]:
            if row.test and row.untested:
                found.setdefault(row.untested, []).append(row.items)
        return found

    @property
    def may_be_licensed(self) -> bool:
        """Whether all items, or those of a category, pass; a pair of systems gets no licence."""
        return any(row.passes for row in self.rows if row.stratum.stratifier in {"all", "category"})


@dataclass(frozen=True)
class StoredEvidence:
    """The newest evidence of one criterion, and whether it covers the current ratings."""

    criterion: str
    about: CriterionSection
    strata: Sequence[ReplacementStratum]
    state: str
    computed_at: datetime | None
    rows_sha256: str
    is_current: bool

    @property
    def is_reached(self) -> bool:
        """Whether the number of responses that was planned, if it is known, is reached."""
        return unreached(self.about) is None

    @property
    def categories(self) -> list[str]:
        return [
            one.stratum
            for one in self.strata
            if one.stratifier == "category" and one.stratum != "undefined"
        ]

    @property
    def machines(self) -> list[str]:
        return sorted(self.strata[0].machines) if self.strata else []

    def of(self, machine: str, epsilon: float) -> MachineEvidence:
        rows = tuple(self._rows(machine, epsilon))
        gains = self.gains(machine)
        gain = gain_sentence(gains) if gains else why_no_gain(self.about.systems, machine)
        return MachineEvidence(machine, rows, gain)

    def one(self, machine: str, category: str, epsilon: float) -> Evidence | None:
        """Return the evidence for all items, or for one category, if there is any."""
        wanted = ("category", category) if category else ("all", "all")
        rows = self._rows(machine, epsilon)
        return next((r for r in rows if (r.stratum.stratifier, r.stratum.stratum) == wanted), None)

    def _rows(self, machine: str, epsilon: float) -> Iterator[Evidence]:
        for stratum in self.strata:
            if (one := stratum.machines.get(machine)) and stratum.n_units:
                test = one.test_of_licence(epsilon)
                yield Evidence(machine, stratum, one, test, self.is_reached)

    def gains(self, machine: str) -> dict[str, tuple[int, float]]:
        """Return how many human ratings each system has, and how many they are worth with it."""
        powered = (self.about.systems.powered if self.about.systems else None) or {}
        worth = {
            name: (one.ratings, (one.effective_by_machine or {}).get(machine, float("nan")))
            for name, one in powered.items()
        }
        return {name: pair for name, pair in worth.items() if not isnan(pair[1]) and pair[0]}


def for_which_kinds(machines: Sequence[MachineEvidence], *, is_reached: bool) -> str:
    """Return on which kinds of item a machine rater passes, or why there is none."""
    if not is_reached:
        return NOT_KNOWN_YET
    rows = [row for one in machines for row in one.rows if row.test]
    passed = {one.machine: [row.items for row in one.rows if row.passes] for one in machines}
    able = [f"{machine}: {', '.join(kinds)}" for machine, kinds in passed.items() if kinds]
    untested: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.untested:
            untested.setdefault(row.untested, {})[row.items] = None
    tested = list(dict.fromkeys(row.items for row in rows if not row.untested))
    if not tested:
        return NONE_TESTED.format(reasons=" ".join(untested))
    answer = f"{'; '.join(able)}." if able else NONE_PASSES.format(tested=", ".join(tested))
    return answer + "".join(
        NOT_TESTED.format(kinds=counted(len(kinds), "kind"), reason=reason)
        for reason, kinds in untested.items()
    )


def why_no_gain(systems: SystemsSection | None, machine: str) -> str:
    """Return why nothing is known of what a machine rater adds to win rates."""
    if systems is None or not systems.win_rate:
        return NO_WIN_RATES
    powered = (systems.powered or {}).items()
    stacks = {name: one.stack for name, one in powered if machine in one.weights}
    alone = (systems.prediction_powered or {}).get(machine)
    rates = alone or stacks
    if not rates:
        return NO_FURTHER_ITEMS
    reasons = (rate.reason or systems.win_rate[name].reason for name, rate in rates.items())
    unstated = NO_SPREAD if alone else NO_INTERVAL_ALONE
    return UNKNOWN_GAIN.format(reasons=" ".join(dict.fromkeys(filter(None, reasons))) or unstated)


def gain_sentence(gains: dict[str, tuple[int, float]]) -> str:
    name, (ratings, worth) = min(gains.items(), key=lambda item: item[1][1] / item[1][0])
    return (
        "Used to correct win rates instead of replacing annotators, its ratings of other items make"
        f" {counted(ratings, 'rating')} by annotators worth as much as {worth:,.0f}"
        f" ({in_digits(worth / ratings)} times) for {name}, the system with the smallest gain."
    )


def stored_evidence(study: Study, criterion: str) -> StoredEvidence | None:
    """Return the newest evidence, or None if it has not been computed; requests a newer one.

    Raises `DomainError` if the broker cannot be reached.
    """
    state, now = watermark(study), database_now()
    snapshot = ensure_fresh(study=study, state=state, now=now)
    section = ensure_section(
        study=study, name=SECTION, report=snapshot, chosen=EVERYTHING, state=state, now=now
    )
    report, stored = stored_report(snapshot, with_raters=False), stored_section(section, criterion)
    about = report.criteria.get(criterion) if report else None
    if report is None or stored is None or about is None:
        return None
    return StoredEvidence(
        criterion,
        about,
        stored.part or (),
        section.watermark,
        section.made_at,
        report.source.rows_sha256,
        is_current=section.content is not None and section.watermark == snapshot.watermark == state,
    )


def current_evidence(study: Study, criterion: Criterion) -> StoredEvidence:
    """Return the evidence of the current ratings, or raise `DomainError`."""
    stored = stored_evidence(study, criterion.name)
    if stored is None or not stored.is_current:
        raise DomainError("evidence_pending", EVIDENCE_PENDING)
    return stored


def as_stored(evidence: Evidence, stored: StoredEvidence) -> dict[str, Any]:
    """Return the numbers on which a licence is granted, as they are kept with it."""
    test, one = evidence.test, evidence.replacement
    assert test is not None
    return {
        "epsilon": test.epsilon,
        "winning_rate": test.winning_rate,
        "coin_winning_rate": test.coin_winning_rate,
        "coins_passing": test.coins_passing,
        "advantage_probability": test.advantage_probability,
        "annotators": test.annotators,
        "left_out": test.left_out,
        "labels": one.labels,
        "instances": one.instances,
        "simulated": one.simulated,
        "agreement": one.agreement,
        "agreement_low": one.agreement_low,
        "guessing": one.guessing,
        "unweighted_agreement": one.unweighted_agreement,
        "speaks_of": test.speaks_of,
        "sentence": evidence.sentence,
        "gains": {name: list(pair) for name, pair in stored.gains(evidence.machine).items()},
        "computed_at": stored.computed_at.isoformat() if stored.computed_at else "",
        "rows_sha256": stored.rows_sha256,
    }
