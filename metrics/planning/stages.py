"""How far a study is on Generate & select: texts, scores, instances, tasks, and what comes next."""

from dataclasses import dataclass
from typing import Any

from django.db.models import OuterRef

from studies.design.steps import count_of
from studies.models import Generation, SeparabilityScore, Study, Unit
from studies.systems.services import imported


@dataclass(frozen=True)
class Stages:
    """What there is of each stage. Each of `systems` has its number of `texts`, of them `imported`."""

    study: Study
    systems: list[Any]
    instances: int
    scored: int
    drawn: int
    units: int
    hits: int
    places: int

    @property
    def texts(self) -> int:
        return sum(system.texts for system in self.systems)

    @property
    def most_samples(self) -> float:
        """How many texts an instance has of the system with the most, on average."""
        most = max((system.texts for system in self.systems), default=0)
        return most / self.instances if self.instances else 0

    @property
    def next(self) -> str:
        """What comes next in a draft: "" if this page has done its part."""
        needed = 2 if self.study.unit_kind == Study.UnitKind.COMPARISON else 1
        if self.study.status != Study.Status.DRAFT or self.units:
            return ""
        if len(self.systems) < needed:
            return "systems"
        if any(not system.texts for system in self.systems):
            return "generate"
        return "score" if not self.scored and needed == 2 and self.most_samples >= 2 else "draw"


def stages_of(study: Study) -> Stages:
    texts = Generation.objects.filter(system=OuterRef("pk"))
    systems = study.systems.filter(perturbed_from=None).annotate(
        texts=count_of(texts, "system"), imported=count_of(imported(texts), "system")
    )
    scores = SeparabilityScore.objects.filter(
        instance__dataset=study.dataset_id,
        similarity=study.similarity,
        system_a__in=study.systems.all(),
        system_b__in=study.systems.all(),
    )
    return Stages(
        study=study,
        systems=list(systems.order_by("studysystem__position")),
        instances=study.dataset.instances.count() if study.dataset else 0,
        scored=scores.order_by().values("instance").distinct().count(),
        drawn=study.selected.order_by().values("instance").distinct().count(),
        units=study.units.filter(role=Unit.Role.MAIN).count(),
        hits=study.hits.main().count(),
        places=study.places.count(),
    )
