"""Check that the HITs are planned, and planned from the current design."""

from collections.abc import Iterator

from annotation.pairing import unconnected_groups
from annotation.services.plan_checks import IncompleteDesign, check_design
from annotation.services.planning import is_plan_current
from recruitment.launch.check import (
    DATA,
    GENERATE_SELECT,
    LAUNCH,
    SIZE,
    LaunchCheck,
    error,
    warning,
)
from studies.instance_selection.scoring import what_is_missing
from studies.models import InstanceSelection, Study, Unit
from tiebreak.digits import counted
from tiebreak.errors import DomainError
from tiebreak.similarity import similarity_title

# Opening a study plans its tasks, so these do not keep it from opening.
PLANNING = {"not_planned", "plan_outdated"}


def planned(study: Study) -> Iterator[LaunchCheck]:
    if study.hits.main().exists():
        return
    try:
        check_design(study)
    except IncompleteDesign as refusal:
        # What annotators are asked is looked at by `questions.criteria`.
        others = {name: what for name, what in refusal.parts.items() if name != "criterion"}
        if others:
            yield error(refusal.code, IncompleteDesign(others).message, DATA)
    except DomainError as refusal:
        yield error(refusal.code, refusal.message, DATA)
    else:
        yield error(
            "not_planned",
            "Tasks are not planned yet; opening the study plans them.",
            LAUNCH,
        )


def plan_as_designed(study: Study) -> Iterator[LaunchCheck]:
    """Editing a draft does not change the HITs that were planned before."""
    is_planned = study.hits.main().exists()
    if is_planned and (study.dataset is None or not is_plan_current(study)):
        yield error(
            "plan_outdated",
            "The design or the generations have changed since the tasks were planned. Opening the"
            " study plans them again. To look at the plan first, press Plan tasks.",
            LAUNCH,
        )


def systems_are_connected(study: Study) -> Iterator[LaunchCheck]:
    """Systems can only be ranked together if a chain of comparisons leads from each to each."""
    pairs = study.units.filter(role=Unit.Role.MAIN, text_b__system__isnull=False)
    names = {system.pk: system.name for system in study.ordered_systems()}
    # A plan made before the systems changed is reported by `plan_as_designed`.
    pairs = pairs.filter(text_a__system__in=names, text_b__system__in=names).order_by()
    compared = set(pairs.values_list("text_a__system", "text_b__system").distinct())
    if not compared:
        return
    groups = unconnected_groups(names, compared)
    if len(groups) > 1:
        listed = "; ".join(", ".join(names[system] for system in group) for group in groups)
        yield warning(
            "systems_not_connected",
            f"The systems fall into {len(groups)} groups without comparisons between them, so they"
            f" cannot be ranked together: {listed}. Compare more pairs per instance, add instances,"
            " or use a baseline.",
            SIZE,
        )


def scores(study: Study) -> Iterator[LaunchCheck]:
    """Separability is frozen with the units; units without it are left out of analyses by it."""
    main = study.units.filter(role=Unit.Role.MAIN, text_b__system__isnull=False)
    n, total = main.filter(separability_raw__isnull=True).count(), main.count()
    units, title = counted(total, "item"), similarity_title(study.similarity)
    by_doubt = InstanceSelection.objects.filter(study=study, design=InstanceSelection.Design.DOUBT)
    if n and study.selected.exists() and not by_doubt.exists():
        yield error(
            "draw_not_scored",
            "The instances were drawn by separability, but the separability score (δ) by"
            f" {title} is missing for {n} of {units}. Score them, or draw again.",
            GENERATE_SELECT,
        )
    elif 0 < n < total:
        yield warning(
            "scores_missing",
            f"The separability score (δ) by {title} is missing for {n} of {units}. They would be"
            " left out of every result by separability. Score them.",
            GENERATE_SELECT,
        )
    elif n and (sentence := what_is_missing(study.similarity)):
        yield warning(
            "encoder_missing",
            f"No item has a separability score by {title}, and this server cannot compute it:"
            f" {sentence}",
            GENERATE_SELECT,
        )
