"""The publications behind the methods, and which of them a report used."""

from dataclasses import dataclass

from metrics.findings import consistency_sets
from tiebreak.report import Report
from tiebreak.report.model import CriterionSection


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
        values = dict(self.fields)
        names = [name.partition(",")[0] for name in values["author"].split(" and ")]
        is_pair = len(names) == 2 and names[1] != "others"
        authors = " and ".join(names) if is_pair or len(names) == 1 else f"{names[0]} et al."
        return f"{authors} ({values['year']})".replace('{\\"a}', "ä")


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
)
HUMAN_MACHINE = _reference(
    "elangovan2025",
    "agreement of machine raters by how much annotators agree, and the binned JS distance",
    "inproceedings",
    author="Elangovan, Aparna and others",
    title="Beyond Correlation: The Impact of Human Uncertainty in Measuring the Effectiveness of"
    " Automatic Evaluation and {LLM}-as-a-Judge",
    booktitle="International Conference on Learning Representations",
    year="2025",
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
)
HAJEK = _reference(
    "sarndal1992",
    "win rates weighted by inverse inclusion probabilities",
    "book",
    author='S{\\"a}rndal, Carl-Erik and Swensson, Bengt and Wretman, Jan',
    title="Model Assisted Survey Sampling",
    publisher="Springer",
    year="1992",
)
BOOTSTRAP = _reference(
    "efron1993",
    "bootstrap intervals",
    "book",
    author="Efron, Bradley and Tibshirani, Robert J.",
    title="An Introduction to the Bootstrap",
    publisher="Chapman and Hall",
    year="1993",
)
WILSON = _reference(
    "wilson1927",
    "intervals of shares",
    "article",
    author="Wilson, Edwin B.",
    title="Probable Inference, the Law of Succession, and Statistical Inference",
    journal="Journal of the American Statistical Association",
    volume="22",
    number="158",
    pages="209--212",
    year="1927",
)


def references_of(report: Report) -> list[Reference]:
    """Return the publications of the methods whose results are in a report, each once."""
    used = [reference for section in report.criteria.values() for reference in _used(section)]
    if report.replicates:
        used.append(BOOTSTRAP)
    return list(dict.fromkeys(used))


def _used(section: CriterionSection) -> list[Reference]:
    agreement = section.all_units.human_human.estimates()
    by_statistic = {
        "krippendorff_alpha": KRIPPENDORFF,
        "randolph_kappa": RANDOLPH,
        "fleiss_kappa": FLEISS,
    }
    used = [reference for name, reference in by_statistic.items() if name in agreement]
    if section.all_units.machines:
        used += [COHEN, HUMAN_MACHINE]
    if section.systems and section.systems.bradley_terry:
        used.append(BRADLEY_TERRY)
    if section.systems and section.systems.elo:
        used.append(ELO)
    if (sets := consistency_sets(section)) and sets.n:
        used.append(SEPARABILITY)
    if section.systems and section.systems.prediction_powered:
        used.append(PREDICTION_POWERED)
    if section.selection:
        used.append(HAJEK)
    if section.bias:
        used.append(WILSON)
    return used
