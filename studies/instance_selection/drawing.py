"""Drawing the instances that are worth a human's time, with known probabilities."""

from dataclasses import dataclass

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from numpy.typing import NDArray

from studies.instance_selection.scoring import separability_by_instance
from studies.models import (
    InstanceSelection,
    SelectedInstance,
    SeparabilityScore,
    Study,
    StudyEvent,
    System,
)
from studies.models.selection import FLOOR_TOO_HIGH, MAX_FLOOR
from studies.services import record_event
from tiebreak.errors import DomainError
from tiebreak.stats import generator_for
from tiebreak.stats.selection import Selection, floored_weights, logistic_weights, select

Pair = tuple[int, int]
BATCH = 1000


@dataclass(frozen=True)
class Pool:
    """The instances of one system pair that can be drawn: ids and δ, raw and normalised (N,)."""

    name: str
    instances: NDArray[np.int64]
    raw: NDArray[np.float64]
    delta: NDArray[np.float64]


def sampling_frames(study: Study) -> dict[Pair, Pool]:
    """By system pair, the instances whose separability is known, in order of their ids.

    Pairs as the study has them; one of which nothing is known is not there.
    """
    names = _pair_names(study)
    found: dict[Pair, list[tuple[int, float, float]]] = {pair: [] for pair in names}
    for (instance, a, b), (raw, delta) in sorted(separability_by_instance(study).items()):
        if a is None or b is None or instance is None or raw is None:
            continue
        # The dataset may hold scores of other studies: of other systems, or the other way round.
        if (a, b) in found:
            found[a, b].append((instance, raw, np.nan if delta is None else delta))
    return {
        pair: Pool(
            " ".join(names[pair]),
            np.array([row[0] for row in rows]),
            np.array([row[1] for row in rows]),
            np.array([row[2] for row in rows]),
        )
        for pair, rows in found.items()
        if rows
    }


def _pair_names(study: Study) -> dict[Pair, tuple[str, str]]:
    return {(a.pk, b.pk): (a.name, b.name) for a, b in study.system_pairs()}


def drawn(pool: Pool, design: InstanceSelection) -> Selection:
    """The draw that the design and its seed give for a pool: always the same."""
    has_scale = bool(np.isfinite(pool.delta).all())
    if not has_scale and design.weights == InstanceSelection.Weights.LOGISTIC:
        raise DomainError(
            "no_scale",
            "All instances are equally separable, so there is no scale for logistic weights."
            " Choose δ itself, with a floor.",
        )
    if design.floor > MAX_FLOOR:
        raise DomainError("odd_floor", FLOOR_TOO_HIGH)
    by_logistic = design.weights == InstanceSelection.Weights.LOGISTIC
    weights = (
        logistic_weights(pool.delta)
        if by_logistic
        else floored_weights(pool.raw, floor=design.floor)
    )
    if design.instances > len(pool.instances):
        raise DomainError(
            "too_many",
            f"Only {len(pool.instances)} instances are scored; {design.instances} were asked for."
            " Score the rest, or ask for fewer.",
        )
    return select(
        pool.raw,
        design.instances,
        design=design.design,  # type: ignore[arg-type]
        rng=generator_for(design.seed, "selection", pool.name),
        weights=weights if design.design == InstanceSelection.Design.PROPORTIONAL else None,
        control_share=design.control_share,
    )


@dataclass(frozen=True)
class SelectionPreview:
    """Whom a design would draw, before anything is planned.

    `delta` is the mean separability drawn and `uniform_delta` what a uniform draw would have had;
    `warning` what it cannot say.
    """

    instances: int
    of: int
    delta: float
    uniform_delta: float
    control: int
    warning: str | None

    @property
    def gain(self) -> float:
        return self.delta - self.uniform_delta


def selection_previews(study: Study, design: InstanceSelection) -> dict[Pair, SelectionPreview]:
    """By system pair; reads only."""
    found = {}
    for pair, pool in _scored(study).items():
        selection = drawn(pool, design)
        chosen = selection.selected
        found[pair] = SelectionPreview(
            instances=int(chosen.sum()),
            of=len(pool.instances),
            delta=float(pool.raw[chosen].mean()),
            uniform_delta=float(pool.raw.mean()),
            control=int((selection.phase == "control").sum()),
            warning=selection.warning,
        )
    return found


def proposed_instances(study: Study, design: InstanceSelection) -> list[SelectedInstance]:
    """The rows that `draw_instances` would store for this design; reads only."""
    design.study = study
    return [row for pair, pool in _scored(study).items() for row in _rows(pair, pool, design)]


def _scored(study: Study) -> dict[Pair, Pool]:
    """The pools of all pairs: one without scores would vanish from the plan unseen."""
    found = sampling_frames(study)
    if not found:
        raise DomainError(
            "not_scored", "No instance is scored with this similarity yet: score them first."
        )
    missing = [" and ".join(n) for pair, n in _pair_names(study).items() if pair not in found]
    if missing:
        raise DomainError(
            "pair_not_scored",
            f"No instance has a δ by {study.similarity} for {'; '.join(missing)}: score them first."
            " It takes two generations of each system.",
        )
    return found


@transaction.atomic
def draw_instances(*, study: Study, design: InstanceSelection, by: User | None = None) -> int:
    """Draw anew, and store who was drawn with which probability. Returns how many rows.

    Before: a draft with scores for its similarity. After: planning takes these instances only.
    Raises `DomainError`. Locks the study.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.status != Study.Status.DRAFT:
        raise DomainError(
            "not_a_draft", "Instances are drawn for a draft. Clone the study to draw others."
        )
    rows = proposed_instances(study, design)
    design.drawn_at = timezone.now()
    InstanceSelection.objects.filter(study=study).exclude(pk=design.pk).delete()
    design.save()
    SelectedInstance.objects.filter(study=study).delete()
    SelectedInstance.objects.bulk_create(rows, batch_size=BATCH)
    details = {"rows": len(rows), "design": design.design, "seed": design.seed}
    record_event(study=study, verb=StudyEvent.Verb.DRAW, by=by, details=details)
    return len(rows)


def _rows(pair: Pair, pool: Pool, design: InstanceSelection) -> list[SelectedInstance]:
    selection = drawn(pool, design)
    return [
        SelectedInstance(
            study=design.study,
            instance_id=int(pool.instances[i]),
            system_a_id=pair[0],
            system_b_id=pair[1],
            phase=str(selection.phase[i]),
            inclusion_probability=float(selection.inclusion[i]),
            conditional_inclusion_probability=_known(selection.conditional[i]),
        )
        for i in np.flatnonzero(selection.selected)
    ]


@transaction.atomic
def take_all_instances(*, study: Study, by: User | None = None) -> None:
    """Forget the draw of a draft: planning takes every instance again."""
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.status != Study.Status.DRAFT:
        raise DomainError("not_a_draft", "The instances of an open study stand.")
    dropped, _ = SelectedInstance.objects.filter(study=study).delete()
    InstanceSelection.objects.filter(study=study).delete()
    record_event(study=study, verb=StudyEvent.Verb.TAKE_ALL, by=by, details={"dropped": dropped})


def extremes(
    pair: tuple[System, System], similarity: str, n: int = 3
) -> dict[str, list[SeparabilityScore]]:
    """The least and the most separable instances of a pair, to be read side by side."""
    rows = SeparabilityScore.objects.known(pair, similarity).select_related("instance")
    return {
        "lowest": list(rows.order_by("delta", "pk")[:n]),
        "highest": list(rows.order_by("-delta", "pk")[:n]),
    }


def _known(number: float) -> float | None:
    return None if np.isnan(number) else float(number)
