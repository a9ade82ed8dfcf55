"""The figure of separability (δ) by pair of systems, of one study or of several."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlencode

from django.contrib.auth.models import AnonymousUser, User

from metrics.planning.score_distributions import (
    comparable_studies,
    score_distributions,
    scored_similarities,
)
from studies.access import studies_of
from studies.models import SelectedInstance, Study
from tiebreak.reading.charts.chart import NOTHING, Chart
from tiebreak.reading.figures.figure import Figure, empty_figure
from tiebreak.reading.figures.separability import (
    TITLE,
    chart_of_distributions,
    figure_of_distributions,
)
from tiebreak.similarity import similarity_title

MAX_OTHERS = 50
ALL = "all"  # of the studies that can be compared


def separability_figure(
    study: Study, similarity: str, others: Sequence[Study] = (), beside: str = ""
) -> Figure:
    """Return δ of a study's pairs, next to the pairs of others; ``beside`` asked for these."""
    rows = score_distributions([study, *others], similarity)
    if not rows:
        reason = f"No instance has been scored by {similarity_title(similarity)} yet."
        return replace(empty_figure("separability", TITLE, reason), is_of_ratings=False)
    query = {"similarity": similarity} | ({"with": beside} if others else {})
    return figure_of_distributions(rows, similarity, query=urlencode(query))


def selection_chart(study: Study, chosen: Sequence[SelectedInstance]) -> Chart:
    """Return δ of a study's pairs with the instances marked that are chosen, drawn or proposed."""
    rows = score_distributions([study], study.similarity, chosen) if chosen else []
    marked = sum(one.chosen for row in rows for one in row.bins)
    if not marked:
        return NOTHING
    finding = f"{marked} of {sum(row.n for row in rows)} scored instances are chosen"
    return chart_of_distributions(rows, study.similarity, finding=finding)


def requested_separability(
    study: Study, query: Mapping[str, str], user: User | AnonymousUser
) -> Figure:
    """Return the figure that an address asks for; other studies only if the user sees them."""
    similarity, beside = requested_similarity(study, query), query.get("with", "")
    among = studies_of(user) if beside == ALL else studies_of(user).filter(pk=beside)
    others = comparable_studies(study, similarity, among)[:MAX_OTHERS] if beside else ()
    return separability_figure(study, similarity, list(others), beside)


def requested_similarity(study: Study, query: Mapping[str, str]) -> str:
    """Return the similarity in the address if texts are scored by it, or else the study's."""
    asked = query.get("similarity", "")
    return asked if asked and asked in scored_similarities(study) else study.similarity
