"""The pages of the results: which question each answers, and what it shows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.paginator import Paginator

from annotation.filters import Filter, ratings_in
from annotation.models.rating import RatingQuerySet
from metrics.planning.score_distributions import comparable_studies, scored_similarities
from metrics.planning.separability_figure import requested_separability, requested_similarity
from metrics.results.contested_items import MAX_LISTED, PER_PAGE, contested_units, search_contested
from metrics.results.page_rows import PageRows, rows_of
from metrics.results.rater_rows import rater_rows
from metrics.results.raters_figure import fatigue_figure, speed_figure
from metrics.results.stopping_page import stopping_context
from studies.access import Right, studies_of
from studies.models import Study
from tiebreak.reading.annotator_tests import annotator_tests
from tiebreak.reading.coefficients import coefficients
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.machines.crossed_strata import share_figures
from tiebreak.reading.figures.planning.stopping import width_figures
from tiebreak.reading.figures.raters.agreement import (
    agreement_figure,
    machine_figures,
    machines_figure,
)
from tiebreak.reading.figures.raters.bias import bias_figure
from tiebreak.reading.figures.raters.consistency import (
    consistency_figure,
    set_shares_figure,
    strength_figure,
)
from tiebreak.reading.figures.raters.fatigue import fatigue_slopes_figure
from tiebreak.reading.figures.raters.nonresponse import nonresponse_figures
from tiebreak.reading.figures.raters.perception import perception_figures
from tiebreak.reading.figures.raters.single_raters import single_rater_figures
from tiebreak.reading.figures.systems.leaderboard import win_matrix_figure
from tiebreak.reading.figures.systems.success_rates import success_rates_figure
from tiebreak.reading.figures.systems.systems import (
    machine_win_rates_figure,
    strengths_figure,
    win_rates_figure,
)
from tiebreak.reading.figures.systems.transitivity import has_several, order_figure
from tiebreak.reading.powered_rates import powered_rates
from tiebreak.reading.while_open import unreached
from tiebreak.report.model import CriterionSection
from tiebreak.scales import Scale
from tiebreak.similarity import similarity_title

MAX_OTHERS, MAX_RATERS = 50, 200


@dataclass(frozen=True)
class Shown:
    """One criterion's statistics of a study or a part of it, what the address asks for, and who asks."""

    study: Study
    criterion: str
    about: CriterionSection
    chosen: Filter
    stored_rows: Mapping[str, Any]
    query: Mapping[str, str]
    user: User | AnonymousUser

    @cached_property
    def rows(self) -> PageRows:
        return rows_of(self.stored_rows, self.criterion)

    @property
    def states_findings(self) -> bool:
        """Whether these are all ratings, and as many as were planned."""
        return not self.chosen and unreached(self.about) is None

    @property
    def ratings(self) -> RatingQuerySet:
        """The ratings of the criterion, for what a page shows of single units."""
        return ratings_in(self.study, self.chosen).filter(criterion__name=self.criterion)


@dataclass(frozen=True)
class Tab:
    """A page of the results.

    `decides` says in a sentence which decision the page informs. A page that `is_live` follows the
    ratings while it is open; the others would change under their reader. `right` is what one needs
    to see the page: single annotators and texts are not for everyone who sees results. A page that
    `shows_raters` needs what the report has of each annotator.
    """

    slug: str
    title: str
    decides: str
    figures: Callable[[Shown], list[Figure]]
    more: Callable[[Shown], dict[str, Any]] = lambda _: {}
    is_live: bool = True
    shows_raters: bool = False
    right: Right = Right.SEE

    @property
    def template(self) -> str:
        return f"metrics/results/{self.slug}.html"


def _systems(shown: Shown) -> list[Figure]:
    about = shown.about
    if about.success_rates is not None:
        return [success_rates_figure(about.success_rates)]
    figures = [win_rates_figure, strengths_figure]
    if has_several(about):  # pairs, and one order, need three systems
        figures += [win_matrix_figure, order_figure]
    return [figure(about) for figure in figures]


def _machines(shown: Shown) -> list[Figure]:
    """Return the figures of all machine raters, and then the figures of each one alone."""
    about = shown.about
    figures = [*machine_figures(about), *share_figures(about), *perception_figures(about)]
    each = sorted(figures, key=lambda figure: figure.machine)
    if not about.all_units.machines:
        return each
    win_rates = [machine_win_rates_figure(about)] if about.systems else []
    return [machines_figure(about), *win_rates, *each]


def _raters(shown: Shown) -> list[Figure]:
    rater = shown.query.get("rater", "")
    return [
        speed_figure(rater_rows(shown.rows.raters, shown.about)),
        *single_rater_figures(shown.about, rater),
        *nonresponse_figures(shown.about),
    ]


def _raters_to_choose(shown: Shown) -> dict[str, Any]:
    """Return the raters that have figures on the page, from the least agreement."""
    names = [row.facts.name for row in rater_rows(shown.rows.raters, shown.about)]
    machines = sorted(shown.about.all_units.machines)
    rater = shown.query.get("rater", "")
    return {
        "raters": (names + machines)[:MAX_RATERS],
        "rater": rater,
        "is_known": rater in shown.about.raters,
    }


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


TABS = (
    Tab(
        "systems",
        "Systems",
        "Which system is better, and how sure is that?",
        _systems,
        lambda shown: {"powered": powered_rates(shown.about)},
    ),
    Tab(
        "agreement",
        "Agreement",
        "Can the labels be trusted, and on which kinds of items do annotators disagree?",
        lambda shown: [agreement_figure(shown.about)],
        lambda shown: {
            "coefficients": coefficients(shown.about, states_findings=shown.states_findings)
        },
    ),
    Tab(
        "consistency",
        "Consistency",
        "Do annotators prefer both systems of an instance, and does it depend on how far the texts differ?",
        lambda shown: [
            figure(shown.about)
            for figure in (consistency_figure, set_shares_figure, strength_figure)
        ],
    ),
    Tab(
        "separability",
        "Separability",
        "On how many instances can the systems' texts be told apart, and is another dataset better?",
        lambda shown: [requested_separability(shown.study, shown.query, shown.user)],
        _comparable,
        is_live=False,
    ),
    Tab(
        "machines",
        "Machine raters",
        "On which items does a machine rater agree with annotators as they agree with each other?",
        _machines,
        lambda shown: {
            "tests": annotator_tests(shown.about, states_findings=shown.states_findings)
        },
    ),
    Tab(
        "raters",
        "Raters",
        "Whose answers should be looked at before the data are used?",
        _raters,
        _raters_to_choose,
        is_live=False,
        shows_raters=True,
        right=Right.READ,
    ),
    Tab(
        "items",
        "Items",
        "Which texts divide annotators, and can the guidelines be read in two ways?",
        lambda _: [],
        _contested,
        is_live=False,
        right=Right.READ,
    ),
    Tab(
        "bias",
        "Bias",
        "Do answers depend on the position or the length of texts, or on the time spent?",
        lambda shown: [
            bias_figure(shown.about),
            fatigue_figure(shown.rows.speeds),
            fatigue_slopes_figure(shown.about),
        ],
    ),
    Tab(
        "stopping",
        "Stopping",
        "May collecting end, and what would ending it now conclude?",
        lambda shown: width_figures(shown.about, shown.study.target_width),
        lambda shown: stopping_context(shown.study, shown.about),
    ),
)


def tab_named(slug: str) -> Tab | None:
    return next((tab for tab in TABS if tab.slug == slug), None)


def figure_named(shown: Shown, name: str, right: Right) -> Figure | None:
    """Return a figure by its name, of any page that someone with this right sees."""
    for tab in TABS:
        if right < tab.right:
            continue
        for figure in tab.figures(shown):
            if figure.name == name and figure.chart:
                return figure
    return None
