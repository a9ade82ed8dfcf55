"""How far a study is on Generate & select: texts, scores, instances, tasks, and what comes next."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef

from studies.design.steps import count_of
from studies.models import Generation, Instance, SeparabilityScore, Study, Unit
from studies.systems.services import imported


@dataclass(frozen=True)
class Stages:
    """What there is of each stage. Each of `systems` has its number of `texts`, and whether some were `imported`."""

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
    def needed(self) -> int:
        """How many systems an item shows texts of."""
        return 2 if self.study.unit_kind == Study.UnitKind.COMPARISON else 1

    @property
    def with_texts(self) -> int:
        """How many systems have texts."""
        return sum(system.texts > 0 for system in self.systems)

    @property
    def can_generate(self) -> bool:
        return not all(system.imported for system in self.systems)

    @property
    def can_score(self) -> bool:
        return self.with_texts >= 2

    @property
    def can_plan(self) -> bool:
        return self.with_texts >= self.needed

    @property
    def next(self) -> str:
        """What comes next in a draft: "" if this page has done its part."""
        needed = self.needed
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
        texts=count_of(texts), imported=Exists(imported(texts))
    )
    scores = SeparabilityScore.objects.filter(
        instance__dataset=study.dataset_id,
        similarity=study.similarity,
        system_a__in=study.systems.all(),
        system_b__in=study.systems.all(),
    )
    there_are = {
        "instances": count_of(Instance.objects.filter(dataset=study.dataset_id)),
        "scored": count_of(scores, Count("instance", distinct=True)),
        "drawn": count_of(study.selected.all(), Count("instance", distinct=True)),
        # An index has all units, and another the few that are not main.
        "units": count_of(study.units.all()) - count_of(study.units.exclude(role=Unit.Role.MAIN)),
        "hits": count_of(study.hits.main()),
        "places": count_of(study.places.all()),
    }
    numbers = Study.objects.filter(pk=study.pk).values_list(*there_are.values())
    return Stages(
        study,
        list(systems.order_by("studysystem__position")),
        **dict(zip(there_are, numbers.get(), strict=True)),
    )
