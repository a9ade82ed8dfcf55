"""Sections of a report about parts of the items."""

from dataclasses import dataclass

from tiebreak.report.model.fields import Distribution, Proportion, Stratifier
from tiebreak.stats import Agreement, Classification, HumanMachine


@dataclass(frozen=True)
class MachineAgreement:
    """Agreement of one machine with itself and with humans."""

    machine_machine: Agreement
    """Agreement among the machine's runs, each presentation order of a unit by itself."""
    human_machine: HumanMachine
    """Comparison with the majority label of humans."""
    single_human_machine: HumanMachine
    """Comparison with one human drawn at random."""
    delta: Agreement
    """Agreement among humans minus agreement of the machine with their majority."""
    classification: Classification
    """The machine as a predictor of the majority label."""
    random_baseline: HumanMachine
    """What a machine with random labels would reach."""
    between_orders: Agreement | None = None
    """Agreement among all answers of a machine that rated units in both
    orders (position consistency)."""


@dataclass(frozen=True)
class StratumSection:
    """Agreement in one class of units."""

    stratifier: Stratifier
    """Name of the classification."""
    stratum: str
    """Name of the class."""
    n_units: int
    """Number of units in the class."""
    share: Proportion
    """Share of all units that are in the class; after a draw of those rated, by weight."""
    human_human: Agreement
    """Agreement among humans."""
    machines: dict[str, MachineAgreement]
    """Agreement with each machine."""


@dataclass(frozen=True)
class PerceptionBin:
    """Labels of the units with one majority label."""

    label: str
    """The majority label (or median) of human ratings."""
    share: Proportion
    """Share of the units with human ratings, weighted where instances were drawn. A unit with several
    modes is divided equally."""
    humans: Distribution
    """Share of each label among human ratings."""
    machines: dict[str, Distribution]
    """Share of each label among each machine's ratings; NaN if it did not rate these units."""


@dataclass(frozen=True)
class CrossedSection:
    """Agreement in the units of one pair of systems on which annotators agree to some degree."""

    strata: tuple[StratumSection, ...]
    """One for each pair and each class of agreement that has units. They describe: the classes are
    made from the same ratings, so intervals apply to these annotators."""
    pairs: dict[str, str]
    """The pair of each stratum, by the name of the stratum."""
    pairs_left_out: int
    """Number of further pairs, which have fewer units."""
