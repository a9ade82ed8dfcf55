"""The pages of results: four questions, each with its picture, and the parts of each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.paginator import Paginator

from annotation.filters import Filter, ratings_in
from annotation.models.rating import RatingQuerySet
from annotation.participant_evidence import worth_a_look
from metrics.licensing.by_kind import KindsRow, stored_kinds
from metrics.licensing.services import in_force
from metrics.models import Licence
from metrics.planning.score_distributions import comparable_studies, scored_similarities
from metrics.planning.separability_figure import (
    MAX_OTHERS,
    requested_separability,
    requested_similarity,
)
from metrics.results.contested_items import MAX_LISTED, PER_PAGE, contested_units, search_contested
from metrics.results.machine_notes import (
    costs_of,
    notes_of_raters,
    prompts_of,
    settings_of,
)
from metrics.results.questions import MACHINES, PLANNING, RATERS, SYSTEMS
from metrics.results.rater_rows import MAX_RATERS, PageRows, mean_agreement, rater_rows, rows_of
from metrics.results.raters_figure import fatigue_figure, speed_figure
from metrics.results.stopping_page import cost_in_words, stopping_context
from studies.access import Right, studies_of
from studies.models import Study
from tiebreak.digits import counted
from tiebreak.reading.annotator_tests import AnnotatorTests, annotator_tests
from tiebreak.reading.charts.chart import key_of
from tiebreak.reading.charts.svg import kinds_of
from tiebreak.reading.coefficients import coefficients
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.machines.by_criterion import criteria_figure, first_shown_figure
from tiebreak.reading.figures.machines.costs import cost_figure
from tiebreak.reading.figures.machines.crossed_strata import share_figures
from tiebreak.reading.figures.machines.prompt_grid import prompt_grid_figure
from tiebreak.reading.figures.machines.stand_in import (
    categories_figure,
    machines_figure,
    stand_in_figure,
)
from tiebreak.reading.figures.planning.smallest_difference import smallest_difference_figure
from tiebreak.reading.figures.planning.stopping import width_figures
from tiebreak.reading.figures.raters.agreement import (
    agreement_figure,
    machine_figures,
)
from tiebreak.reading.figures.raters.bias import TITLE as BIAS_TITLE, bias_figure, bias_finding
from tiebreak.reading.figures.raters.consistency import (
    consistency_figure,
    set_shares_figure,
    strength_figure,
)
from tiebreak.reading.figures.raters.fatigue import fatigue_slopes_figure
from tiebreak.reading.figures.raters.nonresponse import nonresponse_figures
from tiebreak.reading.figures.raters.perception import perception_figures
from tiebreak.reading.figures.raters.single_raters import single_rater_figures
from tiebreak.reading.figures.systems.differences import differences_figure
from tiebreak.reading.figures.systems.leaderboard import win_matrix_figure
from tiebreak.reading.figures.systems.success_rates import success_rates_figure
from tiebreak.reading.figures.systems.systems import (
    machine_win_rates_figure,
    win_rates_figure,
)
from tiebreak.reading.figures.systems.transitivity import has_several, order_figure
from tiebreak.reading.powered_rates import powered_rates
from tiebreak.reading.shown import (
    head_to_head,
    machine_biases,
    number,
    rater_measures,
    reason_once,
)
from tiebreak.reading.while_open import unreached
from tiebreak.report.model.report import CriterionSection
from tiebreak.scales import Scale
from tiebreak.similarity import similarity_title

MAX_PAIRS = 15


@dataclass(frozen=True)
class Shown:
    """One criterion's statistics of a study or a part of it, what the address asks for, and who asks.

    `links` are the addresses of the parts that a class of items would be.
    """

    study: Study
    criterion: str
    about: CriterionSection
    chosen: Filter
    stored_rows: Mapping[str, Any]
    query: Mapping[str, str]
    user: User | AnonymousUser
    links: Mapping[tuple[str, str], str] = field(default_factory=dict)
    criteria: Mapping[str, CriterionSection] = field(default_factory=dict)

    @cached_property
    def rows(self) -> PageRows:
        return rows_of(self.stored_rows, self.criterion)

    @property
    def states_findings(self) -> bool:
        """Whether these are all ratings, and as many as were planned."""
        return not self.chosen and unreached(self.about) is None

    @cached_property
    def licences(self) -> list[Licence]:
        return list(in_force(self.study).filter(criterion__name=self.criterion))

    @cached_property
    def notes(self) -> Mapping[str, str]:
        """What is known of raters beside their ratings."""
        return notes_of_raters(self.study, self.about, self.licences, self.costs)

    @cached_property
    def costs(self) -> Mapping[str, Decimal]:
        """What a rating costs, by the names of raters."""
        return costs_of(self.study)

    @cached_property
    def prompts(self) -> Mapping[str, str]:
        """The published prompts from which judges started, by the names of judges."""
        return prompts_of(self.study)

    @cached_property
    def settings(self) -> Mapping[str, Mapping[str, str]]:
        """How judges were asked, by their names."""
        return settings_of(self.study)

    @property
    def ratings(self) -> RatingQuerySet:
        """The ratings of the criterion, for what a page shows of single units."""
        return ratings_in(self.study, self.chosen).filter(criterion__name=self.criterion)


@dataclass(frozen=True)
class Page:
    """A page of results: a question, whose first figure is its picture, or a part of one.

    A part is computed when someone opens it on the question's page, and has an address of its own.
    Only questions follow the ratings; parts would change under their reader. `right` is what one
    needs to see the page: single annotators and texts are not for everyone who sees results. A page
    that `shows_raters` needs what the report has of each annotator. A part is `offered` where it has
    something to show.
    """

    slug: str
    title: str
    figures: Callable[[Shown], list[Figure]]
    more: Callable[[Shown], dict[str, Any]] = lambda _: {}
    part_of: str = ""
    shows_raters: bool = False
    right: Right = Right.SEE
    offered: Callable[[CriterionSection], bool] = lambda _: True

    @property
    def question(self) -> str:
        return self.part_of or self.slug

    @property
    def templates(self) -> list[str]:
        """The page's template, or else that of pages which have only figures."""
        return [f"metrics/results/{self.slug}.html", "metrics/figures.html"]


def _systems(shown: Shown) -> list[Figure]:
    rates = shown.about.success_rates
    return [win_rates_figure(shown.about) if rates is None else success_rates_figure(rates)]


def _pairs(shown: Shown) -> dict[str, Any]:
    return {"head_to_head": head_to_head(shown.about)[:MAX_PAIRS]}


def _has_wins(about: CriterionSection) -> bool:
    return about.success_rates is None and about.systems is not None


def _machines(shown: Shown) -> list[Figure]:
    if not shown.about.all_units.machines:
        return []
    costs = {name: float(each) for name, each in shown.costs.items()}
    drawn = cost_figure(shown.about, costs, shown.study.currency)
    return [stand_in_figure(shown.about, shown.notes), *filter(None, [drawn])]


def _stand_ins(shown: Shown) -> dict[str, Any]:
    """Return who may stand in, what the alternative annotator test says of each machine rater, and its biases."""
    about, kinds = shown.about, kinds_of(shown.about.all_units.machines, shown.about.simple_raters)
    tests = annotator_tests(about, states_findings=shown.states_findings)
    return {
        "tests": tests,
        "stand_ins": [(row, key_of(kinds[row.machine])) for row in (tests.rows if tests else ())],
        "by_kind": [
            (row, key_of(kinds[row.machine]) if row.machine else "")
            for row in _by_kind(shown, tests)
        ],
        "decided": [
            (one, key_of(kinds.get(one.rater.pseudonym, "machine"))) for one in shown.licences
        ],
        "biases": [(row, key_of(kinds[row.name])) for row in machine_biases(about)],
    }


def _by_kind(shown: Shown, tests: AnnotatorTests | None) -> list[KindsRow]:
    """Return what the test says by kind of item, where a finding may be stated and it is stored."""
    found = shown.about.alternative_annotator_test
    if not (shown.states_findings and found and tests):
        return []
    return stored_kinds(shown.study, shown.criterion, next(iter(found.values())).epsilon)


def _each_machine(shown: Shown) -> list[Figure]:
    """Return the tables of all machine raters, α of all, if it is not the page's picture, and each one's figures."""
    about = shown.about
    pictured = {figure.name for figure in _machines(shown)}
    by_criterion = criteria_figure(shown.criteria)
    first_shown = first_shown_figure(shown.criteria, shown.prompts)
    costs = {name: float(each) for name, each in shown.costs.items()}
    grid = prompt_grid_figure(about, shown.settings, costs, shown.study.currency)
    tables = [*filter(None, (by_criterion, categories_figure(about), first_shown, grid))]
    alphas = [machines_figure(about)] if "machines" not in pictured else []
    figures = [
        *tables,
        *alphas,
        *machine_figures(about),
        *share_figures(about),
        *perception_figures(about),
    ]
    return sorted(figures, key=lambda figure: figure.machine)


def _rater_measures(shown: Shown) -> dict[str, Any]:
    rows, bias = rater_measures(shown.about), shown.about.bias
    numbers, why = reason_once([row.numbers[0] for row in rows])
    rows = [replace(row, numbers=[one]) for row, one in zip(rows, numbers, strict=True)]
    verdict = ""
    if bias and any(row.cases == "preferences" for row in rows):
        verdict = bias_finding(bias)[0] if shown.states_findings else BIAS_TITLE
    return {"measures": rows, "verdict": verdict, "without_interval": why}


def _chosen_machine(shown: Shown) -> dict[str, Any]:
    """Return whose figures are shown: the one that was asked for or is alone."""
    machines = shown.about.all_units.machines
    only = next(iter(machines)) if len(machines) == 1 else ""
    return {"machine": shown.query.get("machine", only)}


def _raters(shown: Shown) -> list[Figure]:
    rater = shown.query.get("rater", "")
    return [
        speed_figure(rater_rows(shown.rows.raters, shown.about)),
        *single_rater_figures(shown.about, rater),
        *nonresponse_figures(shown.about),
    ]


def _raters_to_choose(shown: Shown) -> dict[str, Any]:
    """Return the raters of the page and who has figures on it.

    Those come first for whom there are most reasons to look, and then those who agree least.
    """
    rows = rater_rows(shown.rows.raters, shown.about)
    names = [row.facts.name for row in rows]
    machines = sorted(shown.about.all_units.machines)
    here = shown.study.participations.filter(rater__pseudonym__in=names[:MAX_RATERS])
    people = {one.rater.pseudonym: one for one in here.select_related("rater")}
    unusual = worth_a_look(people.values())
    rater = shown.query.get("rater", "")
    mean = mean_agreement(rows)
    listed = [
        (row.facts, agreement, person, unusual.get(person.pk, []) if person else [])
        for row in rows[:MAX_RATERS]
        for person in [people.get(row.facts.name)]
        for agreement in [number(row.agreement, low=0, reference=mean)]
    ]
    signs_of = [signs for *_, person, signs in listed if person]
    is_whole = not shown.chosen and len(rows) <= MAX_RATERS
    return {
        "rows": sorted(listed, key=lambda row: -len(row[-1])),
        "unusual": sum(map(bool, signs_of)),
        "heading": _worth_a_look(signs_of) if is_whole else "",
        "each": _range_of([row.facts.ratings for row in rows[:MAX_RATERS]]),
        "mean": mean,
        "left_out": max(0, len(rows) - MAX_RATERS),
        "raters": (names + machines)[:MAX_RATERS],
        "rater": rater,
        "is_known": rater in shown.about.raters,
    }


def _worth_a_look(signs_of: Sequence[Sequence[Any]]) -> str:
    """Return how many are worth a look of those who could be; empty if nobody is."""
    n = sum(map(bool, signs_of))
    verb = "is" if n == 1 else "are"
    return f"{n} of {counted(len(signs_of), 'annotator')} {verb} worth a look" if n else ""


def _range_of(ratings: Sequence[int]) -> str:
    """Return from how many to how many ratings there are."""
    if not ratings:
        return ""
    low, high = min(ratings), max(ratings)
    return f"{low:,} to {counted(high, 'rating')}" if low < high else counted(high, "rating")


def _comparable(shown: Shown) -> dict[str, Any]:
    """Return the similarities for which the page can show δ, and the studies to compare with."""
    similarity = requested_similarity(shown.study, shown.query)
    others = comparable_studies(shown.study, similarity, studies_of(shown.user))
    names = {*scored_similarities(shown.study), similarity}
    return {
        "similarity": similarity,
        "similarities": [(name, similarity_title(name)) for name in sorted(names)],
        "others": others[:MAX_OTHERS],
        "beside": shown.query.get("with", ""),
    }


def _contested(shown: Shown) -> dict[str, Any]:
    """Return one page of the units, those with the least agreement first."""
    study, ratings, search = shown.study, shown.ratings, shown.query.get("search", "")
    listed = search_contested(study, ratings, search) if search else shown.rows.contested
    page = Paginator(listed.units, PER_PAGE).get_page(shown.query.get("page_number"))
    units = contested_units(study, ratings, Scale.parse(shown.about.scale), tuple(page))
    context = {"page": page, "units": units, "search": search}
    return context | {"is_cut": listed.is_cut, "max_listed": MAX_LISTED}


def _planning(shown: Shown) -> list[Figure]:
    """Return what a study sees that has all planned ratings, or how narrow intervals are so far."""
    if unreached(shown.about) is None:
        cost = cost_in_words(shown.study, shown.about)
        return [smallest_difference_figure(shown.about, cost)]
    figures = width_figures(shown.about, shown.study.target_width)
    return [figure for figure in figures if figure.chart]


PAGES = (
    Page(
        SYSTEMS.slug,
        SYSTEMS.title,
        _systems,
        _pairs,
    ),
    Page(
        "head-to-head",
        "Do all pairs fit one order?",
        lambda shown: [win_matrix_figure(shown.about), order_figure(shown.about)],
        part_of=SYSTEMS.slug,
        offered=lambda about: _has_wins(about) and has_several(about),
    ),
    Page(
        "differences",
        "Are two systems equally good?",
        lambda shown: [differences_figure(shown.about)],
        part_of=SYSTEMS.slug,
        offered=_has_wins,
    ),
    Page(
        "with-machines",
        "What do machine raters add?",
        lambda shown: [machine_win_rates_figure(shown.about)],
        lambda shown: {"powered": powered_rates(shown.about)},
        part_of=SYSTEMS.slug,
        offered=lambda about: _has_wins(about) and bool(about.all_units.machines),
    ),
    Page(
        RATERS.slug,
        RATERS.title,
        lambda shown: [agreement_figure(shown.about)],
        _rater_measures,
    ),
    Page(
        "by-rater",
        "Rater by rater",
        _raters,
        _raters_to_choose,
        part_of=RATERS.slug,
        shows_raters=True,
        right=Right.READ,
    ),
    Page(
        "consistency",
        "Consistency",
        lambda shown: [
            figure(shown.about)
            for figure in (consistency_figure, set_shares_figure, strength_figure)
        ],
        part_of=RATERS.slug,
    ),
    Page(
        "bias",
        "Bias and fatigue",
        lambda shown: [
            bias_figure(shown.about),
            fatigue_figure(shown.rows.speeds),
            fatigue_slopes_figure(shown.about),
        ],
        part_of=RATERS.slug,
    ),
    Page(
        "coefficients",
        "All coefficients by kind of item",
        lambda _: [],
        lambda shown: {
            "coefficients": coefficients(shown.about, states_findings=shown.states_findings)
        },
        part_of=RATERS.slug,
    ),
    Page(
        "items",
        "Items on which annotators disagree",
        lambda _: [],
        _contested,
        part_of=RATERS.slug,
        right=Right.READ,
    ),
    Page(
        "separability",
        "How far the systems' texts differ",
        lambda shown: [requested_separability(shown.study, shown.query, shown.user)],
        _comparable,
        part_of=RATERS.slug,
    ),
    Page(
        MACHINES.slug,
        MACHINES.title,
        _machines,
        _stand_ins,
    ),
    Page(
        "each-machine",
        "Machine raters by criterion and kind of item",
        _each_machine,
        _chosen_machine,
        part_of=MACHINES.slug,
        offered=lambda about: bool(about.all_units.machines),
    ),
    Page(
        PLANNING.slug,
        PLANNING.title,
        _planning,
        lambda shown: stopping_context(shown.study, shown.about),
    ),
)
# Addresses of pages that became the picture of a question.
MOVED = {"agreement": RATERS.slug, "stopping": PLANNING.slug}


def page_named(slug: str) -> Page | None:
    return next((page for page in PAGES if page.slug == slug), None)


def parts_of(question: str, about: CriterionSection, right: Right) -> list[Page]:
    """Return what a question's page offers to open, for someone with this right."""
    return [p for p in PAGES if p.part_of == question and right >= p.right and p.offered(about)]


def figure_named(shown: Shown, name: str, right: Right) -> Figure | None:
    """Return a figure by its name, of any page that someone with this right sees."""
    for page in PAGES:
        if right < page.right:
            continue
        for figure in page.figures(shown):
            if figure.name == name and figure.chart:
                return figure
    return None
