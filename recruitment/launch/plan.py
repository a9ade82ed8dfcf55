"""Whether the HITs stand, and are those of the design as it is now."""

from collections.abc import Iterator

from annotation.services.planning import is_plan_current
from recruitment.launch.check import GENERATE_SELECT, LaunchCheck, counted, error, warning
from studies.instance_selection.scoring import what_is_missing
from studies.models import Study, Unit
from tiebreak.similarity import similarity_title


def planned(study: Study) -> Iterator[LaunchCheck]:
    if not study.hits.main().exists():
        yield error("not_planned", "Plan the HITs first: there is nothing to rate yet.")


def plan_as_designed(study: Study) -> Iterator[LaunchCheck]:
    """A draft may be edited after it was planned, and the HITs know nothing of it."""
    is_planned = study.hits.main().exists()
    if is_planned and (study.dataset is None or not is_plan_current(study)):
        yield error(
            "plan_outdated",
            "The design or the generations changed since the HITs were planned: they are not what"
            " the design says now. Plan them again.",
        )


def scores(study: Study) -> Iterator[LaunchCheck]:
    """Separability is frozen with the units; what has none falls out of what is said by it."""
    main = study.units.filter(role=Unit.Role.MAIN, system_b__isnull=False)
    n, of = main.filter(separability_raw__isnull=True).count(), main.count()
    title = similarity_title(study.similarity)
    if n and study.selected.exists():
        yield error(
            "draw_not_scored",
            f"The instances were drawn by separability, and {n} of {counted(of, 'unit')} have no δ"
            f" by {title}. Score them, or draw again.",
            GENERATE_SELECT,
        )
    elif 0 < n < of:
        yield warning(
            "scores_missing",
            f"{n} of {counted(of, 'unit')} have no δ by {title}, and would be missing from"
            " everything that is said by separability. Score them.",
            GENERATE_SELECT,
        )
    elif n and (sentence := what_is_missing(study.similarity)):
        yield warning(
            "encoder_missing",
            f"Nothing is scored by {title}, and it cannot be here: {sentence}",
            GENERATE_SELECT,
        )
