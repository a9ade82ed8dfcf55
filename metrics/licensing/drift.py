"""Compares labels that came after a licence, and follow-up studies' labels, with the machine's."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from metrics.models import Licence
from metrics.results.selectors import source_of
from studies.models import Study
from tiebreak.report.criterion import Criterion, read_criteria
from tiebreak.report.sections.machines.replacement import human_agreements
from tiebreak.stats import AgreementDrift, agreement_drift

# When an instance got its first label, which instance of which study, and the label's agreement.
_Observation = tuple[datetime, int, float]


def drifts_of(
    study: Study, licences: Sequence[Licence]
) -> Iterator[tuple[Licence, AgreementDrift]]:
    """Yield each licence whose machine rater has ratings with the test of its agreement.

    Reads all ratings of the study.
    """
    if not licences:
        return
    criteria = _criteria(study)
    for licence in licences:
        criterion = criteria.get(licence.criterion.name)
        if criterion is not None and licence.rater.pseudonym in criterion.machines:
            yield licence, _drift(licence, criterion)


def _criteria(study: Study) -> dict[str, Criterion]:
    source = source_of(study)
    return {one.name: one for one in read_criteria(source.table, source.scales, None)[0]}


def _drift(licence: Licence, criterion: Criterion) -> AgreementDrift:
    observed = list(_observations(licence, criterion))
    for follow_up in opened_follow_ups(licence):
        same = _criteria(follow_up).get(licence.criterion.name)
        if same is not None and licence.rater.pseudonym in same.machines:
            observed += _observations(licence, same)
    return agreement_drift(
        [agreement for *_, agreement in sorted(observed)],
        reference=licence.evidence["unweighted_agreement"],
        n_reference=licence.evidence["instances"],
    )


def opened_follow_ups(licence: Licence) -> list[Study]:
    """Return the licence's follow-up studies that are no drafts."""
    follow_ups = licence.follow_ups.exclude(study__status=Study.Status.DRAFT)
    return [one.study for one in follow_ups.select_related("study")]


def _observations(licence: Licence, criterion: Criterion) -> Iterator[_Observation]:
    """Yield the first label of each instance after the evidence.

    The labels of one instance are alike, and the test takes labels for independent.
    """
    agreements = human_agreements(criterion, licence.rater.pseudonym)
    compared: NDArray[np.bool_] = ~np.isnan(agreements)
    if licence.category:
        categories = criterion.of_units("category").astype(str)
        compared &= (categories == licence.category)[criterion.unit]
    rows = np.flatnonzero(compared)
    since = datetime.fromisoformat(licence.evidence["computed_at"])
    times = criterion.rows["created_at"][rows].tolist()
    newer = sorted(
        (time, row)
        for text, row in zip(times, rows.tolist(), strict=True)
        if text and (time := datetime.fromisoformat(text)) > since
    )
    instances = criterion.clusters[criterion.unit]
    first: dict[int, tuple[datetime, int]] = {}
    for time, row in newer:
        first.setdefault(int(instances[row]), (time, row))
    for time, row in first.values():
        yield time, row, float(agreements[row])
