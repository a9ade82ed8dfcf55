"""Compares labels that came after a licence with the machine rater's."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from metrics.models import Licence
from metrics.selectors import source_of
from studies.models import Study
from tiebreak.report.criterion import Criterion, read_criteria
from tiebreak.report.machine_replacement import human_agreements
from tiebreak.stats import AgreementDrift, agreement_drift


def drifts_of(
    study: Study, licences: Sequence[Licence]
) -> Iterator[tuple[Licence, AgreementDrift]]:
    """Yield each licence with the test of its agreement. Reads all ratings of the study."""
    if not licences:
        return
    source = source_of(study)
    criteria = {one.name: one for one in read_criteria(source.table, source.scales, None)[0]}
    for licence in licences:
        criterion = criteria.get(licence.criterion.name)
        if criterion is not None and licence.rater.pseudonym in criterion.machines:
            yield licence, _drift(licence, criterion)


def _drift(licence: Licence, criterion: Criterion) -> AgreementDrift:
    agreements = human_agreements(criterion, licence.rater.pseudonym)
    new = _first_new_labels(licence, criterion, ~np.isnan(agreements))
    return agreement_drift(
        agreements[new],
        reference=licence.evidence["unweighted_agreement"],
        n_reference=licence.evidence["instances"],
    )


def _first_new_labels(
    licence: Licence, criterion: Criterion, compared: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the rows of the first label of each instance after the evidence, oldest first.

    The labels of one instance are alike, and the test takes labels for independent.
    """
    if licence.category:
        categories = criterion.of_units("category").astype(str)
        compared &= (categories == licence.category)[criterion.unit]
    rows = np.flatnonzero(compared)
    since = datetime.fromisoformat(licence.evidence["computed_at"])
    times = [_time(text) for text in criterion.rows["created_at"][rows].tolist()]
    newer = sorted(
        (time, row) for time, row in zip(times, rows.tolist(), strict=True) if time and time > since
    )
    ordered = np.array([row for _, row in newer], dtype=np.int64)
    _, first = np.unique(criterion.clusters[criterion.unit[ordered]], return_index=True)
    return ordered[np.sort(first)]


def _time(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
