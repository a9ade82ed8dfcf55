"""The report as objects. Their fields are the keys of the published JSON, in its order.

`tiebreak.report.schema` makes a JSON schema of these classes, with their docstrings as descriptions. A
field that is None has no key. A number that is NaN is written as null.
"""

from tiebreak.report.model.discernment import (
    CombinedTest as CombinedTest,
    DiscernmentOverCriteria as DiscernmentOverCriteria,
    DiscernmentSection as DiscernmentSection,
    PerturbationTest as PerturbationTest,
    RaterDiscernment as RaterDiscernment,
    ScoreSummary as ScoreSummary,
)
from tiebreak.report.model.fields import (
    BY_KEY as BY_KEY,
    CROSSED as CROSSED,
    REPORT_VERSION as REPORT_VERSION,
    STRATIFIERS as STRATIFIERS,
    CountOrNaN as CountOrNaN,
    Distribution as Distribution,
    Estimates as Estimates,
    Matrix as Matrix,
    Problems as Problems,
    Proportion as Proportion,
    ProportionOrNaN as ProportionOrNaN,
    Reason as Reason,
    Seed as Seed,
    Sha256 as Sha256,
    Stratifier as Stratifier,
    Version as Version,
    Votes as Votes,
)
from tiebreak.report.model.machines import (
    AgreementByCategory as AgreementByCategory,
    AnnotatorTestSection as AnnotatorTestSection,
    BudgetPoint as BudgetPoint,
    ComparisonBudget as ComparisonBudget,
    CompositeSection as CompositeSection,
    DebiasingSection as DebiasingSection,
    LicenceTest as LicenceTest,
    MachineDifference as MachineDifference,
    MachineDifferencesSection as MachineDifferencesSection,
    MachineProbabilities as MachineProbabilities,
    MachineReplacement as MachineReplacement,
    NoiseCeiling as NoiseCeiling,
    ProbabilitySource as ProbabilitySource,
    ReliabilitySection as ReliabilitySection,
    ReplacementStratum as ReplacementStratum,
    ScoringAgreement as ScoringAgreement,
    ScoringComparison as ScoringComparison,
    ScoringSection as ScoringSection,
    SystemCorrelations as SystemCorrelations,
    TieRule as TieRule,
)
from tiebreak.report.model.nonresponse import (
    NonresponseCounts as NonresponseCounts,
    NonresponseSection as NonresponseSection,
    NonresponsesOfRaters as NonresponsesOfRaters,
)
from tiebreak.report.model.rankings import (
    BaselineChange as BaselineChange,
    BradleyTerryFit as BradleyTerryFit,
    DavidsonSection as DavidsonSection,
    LeaderboardSection as LeaderboardSection,
    NamedPart as NamedPart,
    NamedParts as NamedParts,
    NextPair as NextPair,
    RankStabilitySection as RankStabilitySection,
    RobustnessSection as RobustnessSection,
    SplitHalves as SplitHalves,
    TransitivitySection as TransitivitySection,
)
from tiebreak.report.model.raters import (
    Bias as Bias,
    BiasSection as BiasSection,
    ChanceCorrectedSection as ChanceCorrectedSection,
    DawidSkeneRater as DawidSkeneRater,
    DawidSkeneSection as DawidSkeneSection,
    FatigueSection as FatigueSection,
    MajoritySection as MajoritySection,
    MeanCorrelations as MeanCorrelations,
    PairwiseAgreementSection as PairwiseAgreementSection,
    RaterPair as RaterPair,
    RaterSection as RaterSection,
    RaterSets as RaterSets,
    RatingSetsSection as RatingSetsSection,
    SelfConsistencySection as SelfConsistencySection,
    SetAsideSection as SetAsideSection,
    VoteCounts as VoteCounts,
)
from tiebreak.report.model.report import (
    OPTIONAL_SECTIONS as OPTIONAL_SECTIONS,
    AnalysisPlan as AnalysisPlan,
    CriterionSection as CriterionSection,
    Origin as Origin,
    Report as Report,
    SourceSection as SourceSection,
)
from tiebreak.report.model.selection import (
    PairComponents as PairComponents,
    PairSelection as PairSelection,
)
from tiebreak.report.model.stopping import (
    NeededInstances as NeededInstances,
    PairSequence as PairSequence,
    SequencePoint as SequencePoint,
    StoppingSection as StoppingSection,
)
from tiebreak.report.model.strata import (
    CrossedSection as CrossedSection,
    MachineAgreement as MachineAgreement,
    PerceptionBin as PerceptionBin,
    StratumSection as StratumSection,
)
from tiebreak.report.model.success import (
    KnownOrder as KnownOrder,
    MachineSuccess as MachineSuccess,
    SuccessRates as SuccessRates,
    SystemSuccess as SystemSuccess,
)
from tiebreak.report.model.systems import (
    ControlledWinRateSection as ControlledWinRateSection,
    PairCounts as PairCounts,
    PairDifference as PairDifference,
    PairedTests as PairedTests,
    PoweredSystem as PoweredSystem,
    PValuePoint as PValuePoint,
    SimultaneousSection as SimultaneousSection,
    SystemsSection as SystemsSection,
    WinRateStrata as WinRateStrata,
    WinRateStratum as WinRateStratum,
)
