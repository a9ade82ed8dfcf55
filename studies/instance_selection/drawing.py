"""Selects instances for rating, with known inclusion probabilities."""

from dataclasses import dataclass

import numpy as np
from django.contrib.auth.models import User
from django.db import transaction
from numpy.typing import NDArray

from jobs.clock import database_now
from studies.instance_selection.scoring import separability_by_instance
from studies.models import (
    InstanceSelection,
    SelectedInstance,
    SeparabilityScore,
    Study,
    StudyEvent,
    System,
)
from studies.services import check_is_draft, record_event
from tiebreak.errors import DomainError
from tiebreak.stats import Estimate
from tiebreak.stats.core.results import none_if_nan
from tiebreak.stats.design.drawing import Draw, SamplingFrame, draw_from

Pair = tuple[int, int]
BATCH = 1000


Frames = dict[Pair, SamplingFrame]


def weighted_frame(
    name: str,
    instances: NDArray[np.int64],
    densities: NDArray[np.float64],
    *,
    note: str = "",
    gain: Estimate | None = None,
) -> SamplingFrame:
    """Return a frame for a draw with these weights, which needs no separability."""
    unknown = np.full(len(instances), np.nan)
    return SamplingFrame(name, instances, unknown, unknown, densities, note, gain)


def sampling_frames(study: Study) -> dict[Pair, SamplingFrame]:
    """Return the scored instances of each of the study's system pairs, ordered by id.

    Pairs without scores are left out.
    """
    names = pair_names(study)
    scored: dict[Pair, list[tuple[int, float, float]]] = {pair: [] for pair in names}
    for (instance, a, b), (raw, delta) in sorted(separability_by_instance(study).items()):
        if a is None or b is None or instance is None or raw is None:
            continue
        # Other studies of the dataset may have scored other pairs, or the reversed pair.
        if (a, b) in scored:
            scored[a, b].append((instance, raw, np.nan if delta is None else delta))
    return {
        pair: SamplingFrame.of_scores(names[pair], *map(np.array, zip(*rows, strict=True)))
        for pair, rows in scored.items()
        if rows
    }


def pair_names(study: Study) -> dict[Pair, tuple[str, str]]:
    """Return the names of the systems of each pair that the study's design compares."""
    return {(a.pk, b.pk): (a.name, b.name) for a, b in study.system_pairs()}


@dataclass(frozen=True)
class SelectionPreview:
    """What a design would select, before anything is planned.

    `delta` is the mean separability of the selected instances, and `uniform_delta` the expected
    mean of a uniform draw; both are None for a draw that needs no δ. `note` says what a pilot shows. `control` is the size of the control sample. `warning` names a limitation
    of the design.
    """

    instances: int
    of: int
    delta: float | None
    uniform_delta: float | None
    control: int
    warning: str | None
    note: str = ""


def selection_previews(
    study: Study, design: InstanceSelection, frames: Frames | None = None
) -> dict[Pair, SelectionPreview]:
    """Preview the selection for each system pair, by default from scored instances. Reads only."""
    previews = {}
    for pair, frame in (scored_frames(study) if frames is None else frames).items():
        selection = draw_from(frame, Draw.of(design))
        is_selected = selection.selected
        previews[pair] = SelectionPreview(
            instances=int(is_selected.sum()),
            of=len(frame.instances),
            delta=none_if_nan(frame.raw[is_selected].mean()),
            uniform_delta=none_if_nan(frame.raw.mean()),
            control=int((selection.phase == "control").sum()),
            warning=selection.warning,
            note=frame.note,
        )
    return previews


def proposed_instances(
    study: Study, design: InstanceSelection, frames: Frames | None = None
) -> list[SelectedInstance]:
    """Return the rows that `draw_instances` would store for this design. Reads only."""
    design.study = study
    frames = scored_frames(study) if frames is None else frames
    return [row for pair, frame in frames.items() for row in _rows(pair, frame, design)]


def scored_frames(study: Study) -> Frames:
    """Return the frames of scored instances of all pairs. Raises `DomainError` if a pair has no scores."""
    frames = sampling_frames(study)
    if not frames:
        raise DomainError(
            "not_scored",
            "No instance has been scored with this similarity yet. Please score instances first.",
        )
    missing = [" and ".join(n) for pair, n in pair_names(study).items() if pair not in frames]
    if missing:
        raise DomainError(
            "pair_not_scored",
            f"No instance has a separability (δ) by {study.similarity} for {'; '.join(missing)}."
            " Please score instances first. Scoring needs two generations of each system.",
        )
    return frames


def check_can_draw(study: Study) -> None:
    """Raise `DomainError` unless the study is a draft."""
    check_is_draft(
        study,
        "Instances can only be selected for a draft. Clone the study to select other instances.",
    )


@transaction.atomic
def draw_instances(
    *,
    study: Study,
    design: InstanceSelection,
    frames: Frames | None = None,
    by: User | None = None,
) -> int:
    """Draw instances and store them with their inclusion probabilities. Return the number of rows.

    They are drawn from frames, by default of scored instances. Afterwards, planning uses
    only the selected instances. Raises `DomainError` unless the study is a draft and, without frames,
    has scores for its similarity. Locks the study.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    check_can_draw(study)
    rows = proposed_instances(study, design, frames)
    design.drawn_at = database_now()
    InstanceSelection.objects.filter(study=study).exclude(pk=design.pk).delete()
    design.save()
    SelectedInstance.objects.filter(study=study).delete()
    SelectedInstance.objects.bulk_create(rows, batch_size=BATCH)
    details = {"rows": len(rows), "design": design.design, "seed": design.seed}
    record_event(study=study, verb=StudyEvent.Verb.DRAW, by=by, details=details)
    return len(rows)


def _rows(pair: Pair, frame: SamplingFrame, design: InstanceSelection) -> list[SelectedInstance]:
    selection = draw_from(frame, Draw.of(design))
    return [
        SelectedInstance(
            study=design.study,
            instance_id=int(frame.instances[i]),
            system_a_id=pair[0],
            system_b_id=pair[1],
            phase=str(selection.phase[i]),
            inclusion_probability=float(selection.inclusion[i]),
            conditional_inclusion_probability=none_if_nan(selection.conditional[i]),
        )
        for i in np.flatnonzero(selection.selected)
    ]


@transaction.atomic
def take_all_instances(*, study: Study, by: User | None = None) -> None:
    """Delete the selection of a draft so that planning uses all instances again."""
    study = Study.objects.select_for_update().get(pk=study.pk)
    check_can_draw(study)
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
