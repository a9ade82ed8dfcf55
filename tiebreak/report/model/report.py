"""The report: its source, its criteria, and its analysis plan."""

from dataclasses import dataclass, fields
from importlib import import_module
from math import inf
from typing import Annotated, Any, Literal, Self

from tiebreak.report.model.discernment import DiscernmentSection
from tiebreak.report.model.fields import Problems, Seed, Sha256, Version, Votes
from tiebreak.report.model.machines import (
    AnnotatorTestSection,
    ComparisonBudget,
    CompositeSection,
    FamilyPreference,
    MachineDifferencesSection,
    MachineProbabilities,
    NoiseCeiling,
    ReplacementStratum,
    ScoringSection,
)
from tiebreak.report.model.nonresponse import NonresponseSection
from tiebreak.report.model.rankings import (
    DavidsonSection,
    LeaderboardSection,
    RankStabilitySection,
    RobustnessSection,
    TransitivitySection,
)
from tiebreak.report.model.raters import (
    BiasSection,
    ChanceCorrectedSection,
    DawidSkeneSection,
    FatigueSection,
    MajoritySection,
    MeanCorrelations,
    PairSetValues,
    PairwiseAgreementSection,
    RaterSection,
    RatingSetsSection,
    SelfConsistencySection,
    SetAsideSection,
)
from tiebreak.report.model.selection import PairComponents, PairSelection
from tiebreak.report.model.stopping import StoppingSection
from tiebreak.report.model.strata import CrossedSection, PerceptionBin, StratumSection
from tiebreak.report.model.success import SuccessRates
from tiebreak.report.model.systems import (
    ControlledWinRateSection,
    PairedTests,
    SystemsSection,
    WinRateStrata,
)
from tiebreak.report.serialization import from_json, to_json
from tiebreak.scales import Label, Level
from tiebreak.stats import Influence, RaterVariance


@dataclass(frozen=True)
class Origin:
    """Where ratings come from."""

    kind: Literal["file", "bundle", "study"]
    """What was read."""
    sha256: Sha256
    """Digest of the ratings file, or of a study's rows."""
    part: dict[str, str] | None = None
    """Values of the filter by which the ratings were chosen. Missing for all ratings."""
    notes: tuple[str, ...] | None = None
    """How columns and cells of a table were read. Missing if nothing had to be guessed."""


@dataclass(frozen=True, kw_only=True)
class SourceSection(Origin):
    """The ratings of a report."""

    rows_sha256: Sha256
    """Digest of the rows, which does not depend on their order or on the file's format."""
    n_rows: int
    """Number of ratings."""
    n_used: int
    """Number of ratings that count. Ratings with flags and repeats do not."""


@dataclass(frozen=True, kw_only=True)
class CriterionSection:
    """Statistics of one criterion. A part that could not be computed is empty or left out."""

    scale: str
    """Specification of the scale."""
    scale_inferred: bool
    """Whether the scale was inferred from the labels because none was declared."""
    level: Level
    """Level of measurement."""
    labels: tuple[Label, ...]
    """Labels that are counted."""
    n_units: int
    """Number of units."""
    n_ratings: int
    """Number of human ratings."""
    n_machine_ratings: int
    """Number of machine ratings that could be parsed."""
    n_unparsed: int
    """Number of answers that could not be parsed."""
    resampling: Literal["unit", "instance"]
    """What intervals resample."""
    votes: Votes
    """Number of times that humans gave each label."""
    strata: Annotated[tuple[StratumSection, ...], {"minItems": 1}]
    """Agreement per stratum; the first stratum has all units."""
    perception: tuple[PerceptionBin, ...]
    """Labels by majority label."""
    perception_by_systems: dict[str, tuple[PerceptionBin, ...]]
    """Labels by majority label for each pair of systems, if there are several pairs."""
    raters: dict[str, RaterSection]
    """Ratings of each rater."""
    self_consistency: SelfConsistencySection | None = None
    """Planned repeats that were answered alike."""
    chance_corrected: ChanceCorrectedSection | None = None
    """More coefficients of agreement among humans, of all units together."""
    alternative_annotator_test: dict[str, AnnotatorTestSection] | None = None
    """For each machine, whether it may replace one of these annotators."""
    dawid_skene: DawidSkeneSection | None = None
    """Estimates of each human's probability of each label, given the true label."""
    rating_sets: RatingSetsSection | None = None
    """Rating sets, for preferences."""
    set_values: dict[str, PairSetValues] | None = None
    """Rating sets of each pair of systems by value, for preferences, if they were asked for."""
    systems: SystemsSection | None = None
    """Rankings of the systems, for preferences."""
    selection: dict[str, PairSelection] | None = None
    """Win rates of each pair of systems on drawn instances, for preferences."""
    bias: BiasSection | None = None
    """Position and length bias, for preferences."""
    planning: dict[str, PairComponents] | None = None
    """Variance components of each pair of systems, for preferences."""
    stopping: StoppingSection | None = None
    """What may be concluded while the study runs, for studies of a server."""
    transitivity: TransitivitySection | None = None
    """Whether the systems can be put in one order, for preferences."""
    fatigue: FatigueSection | None = None
    """How human answers change over the sequence of a rater's items."""
    mean_correlations: dict[str, MeanCorrelations] | None = None
    """Correlation of units' mean ratings with each machine, for ordered labels."""
    composite: CompositeSection | None = None
    """The best machine of each category, chosen on other units, if it was asked for."""
    machine_differences: MachineDifferencesSection | None = None
    """Differences between machines' agreement with annotators, if they were asked for."""
    family_bias: dict[str, FamilyPreference] | None = None
    """Each machine's preference for its own model family, for preferences, if it was asked for."""
    rank_stability: dict[str, RankStabilitySection] | None = None
    """How the ranking changes with baseline and instances, by annotators and each machine, for
    preferences, if it was asked for."""
    comparison_budget: dict[str, ComparisonBudget] | None = None
    """Each machine's ranking from fewer comparisons, for preferences, if it was asked for."""
    scoring_against_pairwise: ScoringSection | None = None
    """Machines' scores of single texts against comparisons, for preferences, if it was asked for."""
    machine_replacement: tuple[ReplacementStratum, ...] | None = None
    """Where each machine may replace an annotator, if it was asked for."""
    pairs_by_agreement: CrossedSection | None = None
    """Agreement by pair of systems crossed with agreement, if it was asked for."""
    win_rates_by_stratum: WinRateStrata | None = None
    """Win rates by annotators and by each machine in strata, if it was asked for."""
    pairwise_agreement: PairwiseAgreementSection | None = None
    """Agreement of annotators two by two, if it was asked for."""
    drop_one_influence: dict[str, Influence] | None = None
    """Krippendorff's α without each annotator, if it was asked for."""
    paired_tests: dict[str, PairedTests] | None = None
    """Paired tests of each pair of systems, for preferences, if they were asked for."""
    robustness: RobustnessSection | None = None
    """How few ratings decide the ranking, for preferences, if it was asked for."""
    success_rates: SuccessRates | None = None
    """Success rates of systems whose texts are rated one by one, for scales with two labels."""
    controlled_win_rate: ControlledWinRateSection | None = None
    """Win rates with length and style held equal, for preferences, if they were asked for."""
    davidson: DavidsonSection | None = None
    """Strengths with ties as a separate outcome, for preferences, if they were asked for."""
    leaderboard: LeaderboardSection | None = None
    """Win rates held equal and by category, and what parts the next two, if it was asked for."""
    machine_probabilities: dict[str, MachineProbabilities] | None = None
    """Calibration and debiasing of each machine with probabilities, if it was asked for."""
    discernment: DiscernmentSection | None = None
    """Whether raters notice perturbed copies, if it was asked for."""
    set_aside: SetAsideSection | None = None
    """Votes that were set aside, if they were asked for, which is once nothing is left to decide."""
    nonresponse: NonresponseSection | None = None
    """Answers without a label, if there are any."""
    rater_variance: RaterVariance | None = None
    """How much annotators differ in which of two systems they prefer, for preferences."""
    noise_ceiling: dict[str, NoiseCeiling] | None = None
    """For each machine, its agreement with one annotator, and the most that is possible."""
    majority: MajoritySection | None = None
    """How reliable the majority of several ratings is, if it was asked for."""
    main_machine: str | None = None
    """The machine rater that was chosen to lead, if one was; it may have no
    ratings of this criterion."""
    simple_raters: tuple[str, ...] | None = None
    """The machine raters that follow a simple rule, if it is known of any."""
    problems: Problems
    """Parts that could not be computed, by name, with the reasons."""

    @property
    def all_units(self) -> StratumSection:
        """The stratum of all units."""
        return self.strata[0]

    @property
    def machines_main_first(self) -> list[str]:
        """The machine raters, of which the first leads.

        It is the one that was chosen; if none was, or it has no ratings here, the one that answered most
        of the items that annotators rated, and if several did, the one that agrees most with one
        annotator, which has to be said where it leads.
        """
        machines = self.all_units.machines

        def key(name: str) -> tuple[bool, int, float, str]:
            alpha = machines[name].single_human_machine.krippendorff_alpha
            agreement = alpha.value if alpha.is_defined else -inf
            return name != self.main_machine, -alpha.n, -agreement, name

        return sorted(machines, key=key)


# The sections that a criterion has only if it allows them, or if they were asked for.
OPTIONAL_SECTIONS = tuple(
    part.name
    for part in fields(CriterionSection)
    if part.default is None and part.name not in ("main_machine", "simple_raters")
)


@dataclass(frozen=True)
class AnalysisPlan:
    """What researchers fixed before the study opened."""

    main_criteria: tuple[str, ...]
    """The criteria on which the study decides; empty for all."""
    estimands: str
    """What is estimated, in words."""
    exclusions: str
    """The rule by which people or ratings are left out, in words."""
    stopping_rule: str
    """When collecting ends."""
    target_width: float | None = None
    """Target width of the interval."""
    known_order: tuple[str, ...] = ()
    """An order of the systems that is known from elsewhere, best first; empty if there is none."""


@dataclass(frozen=True)
class Report:
    """Report of a study's ratings.

    See Also
    --------
    build_report : Build the report of a table of ratings.
    """

    report_version: Version
    """Version of the report's format."""
    seed: Seed
    """Seed of all intervals."""
    replicates: int
    """Number of bootstrap replicates, or 0 for no intervals."""
    source: SourceSection
    """Origin and number of the ratings."""
    simulated: bool
    """Whether any of the ratings was given by a program that simulates annotators."""
    criteria_order: Annotated[tuple[str, ...], {"uniqueItems": True}]
    """The criteria in the order of the study or file."""
    criteria: dict[str, CriterionSection]
    """Statistics of each criterion."""
    problems: Problems
    """Criteria that could not be analyzed, by name, with the reasons."""
    plan: AnalysisPlan | None = None
    """What was fixed before the study opened. Main criteria come first in `criteria_order`."""

    def as_json(self) -> dict[str, Any]:
        """Return the report as a dictionary that can be written as JSON.

        Returns
        -------
        dict of str to object
            Report as described by `tiebreak.report.schema`. NaN becomes None.
        """
        return dict(to_json(self))

    def _repr_html_(self) -> str:
        """Return the report as a notebook shows it."""
        # The modules that put reports into words import this one, so they are loaded when asked.
        notebook = import_module("tiebreak.reading.notebook")
        return str(notebook.as_notebook_html(self))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Return a report that was stored as JSON.

        Parameters
        ----------
        data : dict of str to object
            What `as_json` returned. Its keys may have another order.

        Returns
        -------
        Report
            The report, with its criteria in their order.
        """
        criteria = {name: data["criteria"][name] for name in data["criteria_order"]}
        report: Self = from_json(cls, data | {"criteria": criteria})
        return report
