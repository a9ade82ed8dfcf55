"""Frames for a draw of instances whose texts differ in length, which needs neither δ nor ratings."""

import numpy as np
from django.db.models import Avg
from django.db.models.functions import Length

from studies.instance_selection.drawing import Frames, pair_names, weighted_frame
from studies.models import Generation, Study
from tiebreak.errors import DomainError
from tiebreak.stats import bounded_densities

NO_TEXTS = (
    "No instance has texts of {pair}, so their lengths cannot be compared. Generate texts with both"
    " systems first, or import them."
)


def length_frames(study: Study) -> Frames:
    """Return the instances with texts of both systems of each pair, weighted by |log(length ratio)|."""
    names = pair_names(study)
    lengths = _mean_lengths(study)
    frames = {}
    for (a, b), systems in names.items():
        instances = np.array(sorted(lengths.get(a, {}).keys() & lengths.get(b, {}).keys()))
        if not len(instances):
            raise DomainError("no_texts", NO_TEXTS.format(pair=" and ".join(systems)))
        of_a, of_b = (np.array([lengths[s][i] for i in instances.tolist()]) for s in (a, b))
        # One character more makes the ratio of an empty text finite.
        densities = bounded_densities(np.abs(np.log((of_a + 1) / (of_b + 1))))
        frames[a, b] = weighted_frame(" ".join(systems), instances, densities)
    return frames


def _mean_lengths(study: Study) -> dict[int, dict[int, float]]:
    """Return the mean number of characters of a system's texts, by system and instance."""
    systems = {system for pair in pair_names(study) for system in pair}
    rows = Generation.objects.filter(instance__dataset=study.dataset_id, system__in=systems)
    means = rows.order_by().values_list("system", "instance").annotate(mean=Avg(Length("text")))
    lengths: dict[int, dict[int, float]] = {}
    for system, instance, mean in means:
        lengths.setdefault(system, {})[instance] = float(mean)
    return lengths
