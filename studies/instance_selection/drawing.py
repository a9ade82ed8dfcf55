"""Selects instances for rating, with known inclusion probabilities."""

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
class SamplingFrame:
    """The instances of one system pair that can be drawn, with one array element per instance.

    `instances` holds their ids, `raw` their separability (δ), and `delta` their normalised δ.
    """

    name: str
    instances: NDArray[np.int64]
    raw: NDArray[np.float64]
    delta: NDArray[np.float64]


def sampling_frames(study: Study) -> dict[Pair, SamplingFrame]:
    """Return the scored instances of each of the study's system pairs, ordered by id.

    Pairs without scores are left out.
    """
    names = _pair_names(study)
    scored: dict[Pair, list[tuple[int, float, float]]] = {pair: [] for pair in names}
    for (instance, a, b), (raw, delta) in sorted(separability_by_instance(study).items()):
        if a is None or b is None or instance is None or raw is None:
            continue
        # Other studies of the dataset may have scored other pairs, or the reversed pair.
        if (a, b) in scored:
            scored[a, b].append((instance, raw, np.nan if delta is None else delta))
    return {
        pair: SamplingFrame(
            " ".join(names[pair]),
            np.array([row[0] for row in rows]),
            np.array([row[1] for row in rows]),
            np.array([row[2] for row in rows]),
        )
        for pair, rows in scored.items()
        if rows
    }


def _pair_names(study: Study) -> dict[Pair, tuple[str, str]]:
    return {(a.pk, b.pk): (a.name, b.name) for a, b in study.system_pairs()}


def draw_from(frame: SamplingFrame, design: InstanceSelection) -> Selection:
    """Draw from a sampling frame. The same design and seed always give the same selection."""
    has_scale = bool(np.isfinite(frame.delta).all())
    if not has_scale and design.weights == InstanceSelection.Weights.LOGISTIC:
        raise DomainError(
            "no_scale",
            "All instances are equally separable, so logistic weights are undefined. Please choose"
            " the weights “separability (δ) itself, with a floor”.",
        )
    if design.floor > MAX_FLOOR:
        raise DomainError("odd_floor", FLOOR_TOO_HIGH)
    by_logistic = design.weights == InstanceSelection.Weights.LOGISTIC
    weights = (
        logistic_weights(frame.delta)
        if by_logistic
        else floored_weights(frame.raw, floor=design.floor)
    )
    if design.instances > len(frame.instances):
        raise DomainError(
            "too_many",
            f"You asked for {design.instances} instances, but the number of scored instances is"
            f" {len(frame.instances)}. Score the remaining instances, or ask for fewer.",
        )
    return select(
        frame.raw,
        design.instances,
        design=design.design,  # type: ignore[arg-type]
        rng=generator_for(design.seed, "selection", frame.name),
        weights=weights if design.design == InstanceSelection.Design.PROPORTIONAL else None,
        control_share=design.control_share,
    )


@dataclass(frozen=True)
class SelectionPreview:
    """What a design would select, before anything is planned.

    `delta` is the mean separability of the selected instances, and `uniform_delta` the expected
    mean of a uniform draw. `control` is the size of the control sample. `warning` names a
    limitation of the design.
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
    """Preview the selection for each system pair. Reads only."""
    previews = {}
    for pair, frame in _complete_frames(study).items():
        selection = draw_from(frame, design)
        is_selected = selection.selected
        previews[pair] = SelectionPreview(
            instances=int(is_selected.sum()),
            of=len(frame.instances),
            delta=float(frame.raw[is_selected].mean()),
            uniform_delta=float(frame.raw.mean()),
            control=int((selection.phase == "control").sum()),
            warning=selection.warning,
        )
    return previews


def proposed_instances(study: Study, design: InstanceSelection) -> list[SelectedInstance]:
    """Return the rows that `draw_instances` would store for this design. Reads only."""
    design.study = study
    frames = _complete_frames(study)
    return [row for pair, frame in frames.items() for row in _rows(pair, frame, design)]


def _complete_frames(study: Study) -> dict[Pair, SamplingFrame]:
    """Return the frames of all pairs. Raises `DomainError` if a pair has no scores."""
    frames = sampling_frames(study)
    if not frames:
        raise DomainError(
            "not_scored",
            "No instance has been scored with this similarity yet. Please score instances first.",
        )
    missing = [" and ".join(n) for pair, n in _pair_names(study).items() if pair not in frames]
    if missing:
        raise DomainError(
            "pair_not_scored",
            f"No instance has a separability (δ) by {study.similarity} for {'; '.join(missing)}."
            " Please score instances first. Scoring needs two generations of each system.",
        )
    return frames


@transaction.atomic
def draw_instances(*, study: Study, design: InstanceSelection, by: User | None = None) -> int:
    """Draw instances and store them with their inclusion probabilities. Return the number of rows.

    Afterwards, planning uses only the selected instances. Raises `DomainError` unless the study is
    a draft with scores for its similarity. Locks the study.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.status != Study.Status.DRAFT:
        raise DomainError(
            "not_a_draft",
            "Instances can only be selected for a draft. Clone the study to select other ones.",
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


def _rows(pair: Pair, frame: SamplingFrame, design: InstanceSelection) -> list[SelectedInstance]:
    selection = draw_from(frame, design)
    return [
        SelectedInstance(
            study=design.study,
            instance_id=int(frame.instances[i]),
            system_a_id=pair[0],
            system_b_id=pair[1],
            phase=str(selection.phase[i]),
            inclusion_probability=float(selection.inclusion[i]),
            conditional_inclusion_probability=_none_if_nan(selection.conditional[i]),
        )
        for i in np.flatnonzero(selection.selected)
    ]


@transaction.atomic
def take_all_instances(*, study: Study, by: User | None = None) -> None:
    """Delete the selection of a draft, so that planning uses all instances again."""
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.status != Study.Status.DRAFT:
        raise DomainError(
            "not_a_draft",
            "The instances of an opened study cannot change. Clone the study to select other"
            " instances.",
        )
    dropped, _ = SelectedInstance.objects.filter(study=study).delete()
    InstanceSelection.objects.filter(study=study).delete()
    record_event(study=study, verb=StudyEvent.Verb.TAKE_ALL, by=by, details={"dropped": dropped})


def extremes(
    pair: tuple[System, System], similarity: str, n: int = 3
) -> dict[str, list[SeparabilityScore]]:
    """Return the least and the most separable instances of a pair, as examples."""
    rows = SeparabilityScore.objects.known(pair, similarity).select_related("instance")
    return {
        "lowest": list(rows.order_by("delta", "pk")[:n]),
        "highest": list(rows.order_by("-delta", "pk")[:n]),
    }


def _none_if_nan(number: float) -> float | None:
    return None if np.isnan(number) else float(number)
