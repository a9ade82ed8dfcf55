"""The publications behind the methods, and which of them a report used.

Their facts were compared with the publishers' or indexes' pages in November 2026.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tiebreak.reading.findings import consistency_sets
from tiebreak.reading.shown import NAMES
from tiebreak.report import Report
from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.systems import SystemsSection
from tiebreak.stats import Estimate


@dataclass(frozen=True)
class Reference:
    """A publication: its BibTeX key, what it is cited for, and its entry."""

    key: str
    used_for: str
    kind: str
    fields: tuple[tuple[str, str], ...]

    @property
    def bibtex(self) -> str:
        lines = [f"  {name} = {{{value}}}" for name, value in self.fields]
        return "\n".join([f"@{self.kind}{{{self.key},", ",\n".join(lines), "}"])

    @property
    def short(self) -> str:
        names = [family for family, _ in self._authors]
        authors = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        return f"{authors} ({dict(self.fields)['year']})"

    @property
    def text(self) -> str:
        """The entry of a list of references: authors, year, title, and where it appeared."""
        names = [f"{family}, {_initials(first)}" for family, first in self._authors]
        authors = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        values = {name: _plain(value) for name, value in self.fields}
        return f"{authors} ({values['year']}). {values['title']}. {_venue(values)}."

    @property
    def url(self) -> str:
        values = dict(self.fields)
        return f"https://doi.org/{values['doi']}" if "doi" in values else values.get("url", "")

    @property
    def _authors(self) -> list[tuple[str, str]]:
        """Family and first names."""
        names = _plain(dict(self.fields)["author"]).split(" and ")
        return [(family, first) for family, _, first in (name.partition(", ") for name in names)]


def _initials(first: str) -> str:
    return " ".join("-".join(f"{part[0]}." for part in name.split("-")) for name in first.split())


def _plain(bibtex: str) -> str:
    """Return the text of a BibTeX field without its markup."""
    text = bibtex.replace('{\\"a}', "ä").replace("$\\kappa_{free}$", "κfree").replace("--", "–")
    return re.sub(r"[{}]", "", text)


def _venue(values: dict[str, str]) -> str:
    """Return where a publication appeared."""
    for name in ("booktitle", "publisher", "institution", "howpublished"):
        if name in values:
            venue = values[name] if name != "booktitle" else f"In: {values[name]}"
            break
    else:
        venue = f"{values['journal']} {values['volume']}({values['number']})"
    return f"{venue}, {values['pages']}" if "pages" in values else venue


def _reference(key: str, used_for: str, kind: str, **fields: str) -> Reference:
    return Reference(key, used_for, kind, tuple(fields.items()))


KRIPPENDORFF = _reference(
    "krippendorff2011",
    "Krippendorff's α",
    "techreport",
    author="Krippendorff, Klaus",
    title="Computing {Krippendorff}'s Alpha-Reliability",
    institution="University of Pennsylvania, Annenberg School for Communication",
    year="2011",
    url="https://repository.upenn.edu/asc_papers/43",
)
RANDOLPH = _reference(
    "randolph2005",
    "Randolph's κ",
    "inproceedings",
    author="Randolph, Justus J.",
    title="Free-Marginal Multirater Kappa (multirater $\\kappa_{free}$): An Alternative to {Fleiss}'"
    " Fixed-Marginal Multirater Kappa",
    booktitle="Joensuu Learning and Instruction Symposium",
    year="2005",
    url="https://eric.ed.gov/?id=ED490661",
)
FLEISS = _reference(
    "fleiss1971",
    "Fleiss' κ",
    "article",
    author="Fleiss, Joseph L.",
    title="Measuring Nominal Scale Agreement among Many Raters",
    journal="Psychological Bulletin",
    volume="76",
    number="5",
    pages="378--382",
    year="1971",
    doi="10.1037/h0031619",
)
COHEN = _reference(
    "cohen1960",
    "Cohen's κ of a machine rater with annotators",
    "article",
    author="Cohen, Jacob",
    title="A Coefficient of Agreement for Nominal Scales",
    journal="Educational and Psychological Measurement",
    volume="20",
    number="1",
    pages="37--46",
    year="1960",
    doi="10.1177/001316446002000104",
)
BRADLEY_TERRY = _reference(
    "bradley1952",
    "Bradley–Terry strengths",
    "article",
    author="Bradley, Ralph Allan and Terry, Milton E.",
    title="Rank Analysis of Incomplete Block Designs: {I}. The Method of Paired Comparisons",
    journal="Biometrika",
    volume="39",
    number="3/4",
    pages="324--345",
    year="1952",
    doi="10.1093/biomet/39.3-4.324",
)
ELO = _reference(
    "elo1978",
    "Elo ratings",
    "book",
    author="Elo, Arpad E.",
    title="The Rating of Chessplayers, Past and Present",
    publisher="Arco",
    year="1978",
)
SEPARABILITY = _reference(
    "ghosh2024",
    "separability δ, consistency of rating sets, and Elo weighted by separability",
    "inproceedings",
    author="Ghosh, Sayan and Srinivasan, Tejas and Swayamdipta, Swabha",
    title="Compare without Despair: Reliable Preference Evaluation with Generation Separability",
    booktitle="Findings of the Association for Computational Linguistics: EMNLP 2024",
    year="2024",
    pages="12787--12805",
    doi="10.18653/v1/2024.findings-emnlp.747",
)
HUMAN_MACHINE = _reference(
    "elangovan2025",
    "agreement of machine raters by how much annotators agree, and the binned JS distance",
    "inproceedings",
    author="Elangovan, Aparna and Xu, Lei and Ko, Jongwoo and Elyasi, Mahsa and Liu, Ling"
    " and Bodapati, Sravan and Roth, Dan",
    title="Beyond Correlation: The Impact of Human Uncertainty in Measuring the Effectiveness of"
    " Automatic Evaluation and {LLM}-as-a-Judge",
    booktitle="International Conference on Learning Representations",
    year="2025",
    url="https://openreview.net/forum?id=E8gYIrbP00",
)
PREDICTION_POWERED = _reference(
    "angelopoulos2023",
    "prediction-powered win rates",
    "article",
    author="Angelopoulos, Anastasios N. and Bates, Stephen and Fannjiang, Clara and Jordan, Michael I."
    " and Zrnic, Tijana",
    title="Prediction-Powered Inference",
    journal="Science",
    volume="382",
    number="6671",
    pages="669--674",
    year="2023",
    doi="10.1126/science.adi6000",
)
HAJEK = _reference(
    "sarndal1992",
    "win rates weighted by inverse inclusion probabilities",
    "book",
    author='S{\\"a}rndal, Carl-Erik and Swensson, Bengt and Wretman, Jan',
    title="Model Assisted Survey Sampling",
    publisher="Springer",
    year="1992",
    doi="10.1007/978-1-4612-4378-6",
)
BOOTSTRAP = _reference(
    "efron1993",
    "bootstrap intervals",
    "book",
    author="Efron, Bradley and Tibshirani, Robert J.",
    title="An Introduction to the Bootstrap",
    publisher="Chapman and Hall",
    year="1993",
    doi="10.1201/9780429246593",
)
TWO_WAY = _reference(
    "cameron2011",
    "intervals that allow for other annotators as well as for other instances",
    "article",
    author="Cameron, A. Colin and Gelbach, Jonah B. and Miller, Douglas L.",
    title="Robust Inference With Multiway Clustering",
    journal="Journal of Business and Economic Statistics",
    volume="29",
    number="2",
    pages="238--249",
    year="2011",
    doi="10.1198/jbes.2010.07136",
)
FEW_INSTANCES = _reference(
    "korn1998",
    "intervals of shares of few instances",
    "article",
    author="Korn, Edward L. and Graubard, Barry I.",
    title="Confidence Intervals for Proportions with Small Expected Number of Positive Counts"
    " Estimated from Survey Data",
    journal="Survey Methodology",
    volume="24",
    number="2",
    pages="193--201",
    year="1998",
)
LEAVE_ONE_OUT = _reference(
    "lyu2024",
    "leave-one-out agreement",
    "misc",
    author="Lyu, Xinxi and Wang, Yizhong and Hajishirzi, Hannaneh and Dasigi, Pradeep",
    title="{HREF}: Human Response-Guided Evaluation of Instruction Following in Language Models",
    howpublished="arXiv:2412.15524",
    year="2024",
    url="https://arxiv.org/abs/2412.15524",
)
POWER_TUNED = _reference(
    "angelopoulos2023b",
    "power tuning of prediction-powered win rates",
    "misc",
    author="Angelopoulos, Anastasios N. and Duchi, John C. and Zrnic, Tijana",
    title="{PPI++}: Efficient Prediction-Powered Inference",
    howpublished="arXiv:2311.01453",
    year="2023",
    url="https://arxiv.org/abs/2311.01453",
)
BY_STATISTIC = {
    "krippendorff_alpha": KRIPPENDORFF,
    "randolph_kappa": RANDOLPH,
    "fleiss_kappa": FLEISS,
    "cohen_kappa": COHEN,
    "leave_one_out": LEAVE_ONE_OUT,
    "binned_js": HUMAN_MACHINE,
}
# How the estimate's `method` begins, if it has an interval or is a tuned estimate.
BY_METHOD = {
    "bootstrap": BOOTSTRAP,
    "jackknife": FEW_INSTANCES,
    "Clopper–Pearson": FEW_INSTANCES,
    "z, power-tuned": POWER_TUNED,
}

# An estimate that a document shows, and the publication of its statistic if it needs one.
Shown = tuple[Reference | None, Estimate]


def references_of(report: Report, *others: Reference) -> list[Reference]:
    """Return the publications of the methods whose results a document shows, and ``others``."""
    shown = [pair for section in report.criteria.values() for pair in _shown(section)]
    of_statistics = [reference for reference, e in shown if reference and e.is_defined]
    of_intervals = [r for _, e in shown if e.has_interval for r in _of_interval(e)]
    return list(dict.fromkeys([*of_statistics, *others, *of_intervals]))


def _of_interval(estimate: Estimate) -> Iterator[Reference]:
    if estimate.scope.raters == "new":
        yield TWO_WAY
        return
    yield from (r for method, r in BY_METHOD.items() if estimate.method.startswith(method))


def _shown(section: CriterionSection) -> Iterator[Shown]:
    """Yield the estimates in the tables of a criterion."""
    yield from _of_agreement(section.all_units.human_human.estimates())
    yield from ((KRIPPENDORFF, s.human_human.krippendorff_alpha) for s in section.strata)
    for machine in section.all_units.machines.values():
        compared = machine.human_machine.estimates()
        yield from _of_agreement(compared)
        yield from ((HUMAN_MACHINE, estimate) for estimate in compared.values())
    if section.systems is not None:
        yield from _of_systems(section.systems)
    sets = consistency_sets(section)
    if sets is not None and sets.n:
        for s in (sets, *sets.machines.values()):
            shown = (s.consistency, s.zero, s.perfect, s.preference_strength)
            yield from ((SEPARABILITY, e) for e in (*shown, s.spearman_separability))
    for drawn in (section.selection or {}).values():
        yield from ((HAJEK, rate) for rate in (drawn.win_rate, drawn.win_rate_control))
    if section.bias is not None:
        biases = (section.bias, *section.bias.machines.values())
        yield from ((None, e) for bias in biases for e in (bias.position, bias.length))


def _of_agreement(estimates: Estimates) -> Iterator[Shown]:
    return ((BY_STATISTIC.get(name), estimates[name]) for name in NAMES if name in estimates)


def _of_systems(systems: SystemsSection) -> Iterator[Shown]:
    named: list[tuple[Reference | None, Estimates]] = [
        (None, systems.win_rate),
        (None, systems.pairs),
        (BRADLEY_TERRY, systems.bradley_terry or {}),
        (ELO, systems.elo or {}),
        (SEPARABILITY, systems.sep_elo or {}),
        *((PREDICTION_POWERED, rates) for rates in (systems.prediction_powered or {}).values()),
        (PREDICTION_POWERED, {name: one.stack for name, one in (systems.powered or {}).items()}),
    ]
    return ((reference, e) for reference, estimates in named for e in estimates.values())
