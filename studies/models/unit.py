from collections.abc import Iterable
from functools import cached_property
from typing import Any, Self

from django.db import models
from django.db.models.lookups import Exact

from studies.models.bounds import MAX_DELTA, MAX_POSITION, between
from studies.models.dataset import Generation, Instance, System
from studies.models.study import Study


class TextAt(models.ForeignObject):  # type: ignore[type-arg]  # generic for mypy only
    """The text at one position of a unit: a relation that has no column, for queries about pairs.

    Joining it adds no rows, because a unit has at most one text at a position.
    """

    requires_unique_target = False

    def __init__(self, position: int) -> None:
        self.position = position
        super().__init__(
            "studies.UnitText",
            on_delete=models.DO_NOTHING,
            from_fields=["id"],
            to_fields=["unit"],
            related_name="+",
            null=True,
            editable=False,
        )

    def contribute_to_class(self, cls: type[models.Model], name: str, *_: Any, **__: Any) -> None:
        super().contribute_to_class(cls, name, private_only=True)

    def get_extra_restriction(self, alias: str, _related_alias: str) -> Any:
        return Exact(UnitText._meta.get_field("position").get_col(alias), self.position)

    def get_extra_descriptor_filter(self, _unit: models.Model) -> dict[str, int]:
        return {"position": self.position}

    def get_path_info(self, filtered_relation: Any = None) -> list[Any]:
        """Return the join as one that cannot be left out, because a unit may lack the text."""
        return [path._replace(direct=False) for path in super().get_path_info(filtered_relation)]


class UnitQuerySet(models.QuerySet["Unit"]):
    def with_texts(self) -> Self:
        """Fetch the parts of the units that a page or a prompt shows."""
        return self.select_related("instance").prefetch_related(texts_of())

    def bulk_create(self, objs: Iterable["Unit"], *args: Any, **options: Any) -> list["Unit"]:
        """Store units with the texts that `Unit.of` gave them."""
        units = super().bulk_create(objs, *args, **options)
        texts: list[UnitText] = []
        for unit in units:
            for text in vars(unit).get("text_list", ()):
                text.unit_id = unit.pk
                texts.append(text)
        UnitText.objects.bulk_create(texts, batch_size=options.get("batch_size"))
        return units


class Unit(models.Model):
    """The object of a rating: a list of texts. A comparison has two of them, a single text one.

    The texts are in the study's canonical order of systems, whatever the sides on screen. Objects
    have them in `text_list`. In queries, `text_a` and `text_b` are a pair's texts.
    """

    class Role(models.TextChoices):
        MAIN = "main"
        GOLD = "gold"
        TRAINING = "training"
        QUALIFICATION = "qualification"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="units")
    key = models.CharField(max_length=255)
    role = models.CharField(max_length=15, choices=Role.choices, default=Role.MAIN)
    instance = models.ForeignKey(
        Instance, null=True, on_delete=models.PROTECT, related_name="units"
    )
    # The expected label of a reference unit, by the criterion's name.
    known_labels = models.JSONField(default=dict, blank=True)
    explanation = models.TextField(blank=True)
    # Whether a researcher took the unit out for all: its ratings are kept and enter no statistic.
    set_aside = models.BooleanField(default=False, db_default=False)

    # How the instance was drawn, and its separability. These fields are frozen at planning.
    phase = models.CharField(max_length=30, blank=True)
    inclusion_probability = models.FloatField(null=True, validators=between(0, 1))
    conditional_inclusion_probability = models.FloatField(null=True, validators=between(0, 1))
    separability_raw = models.FloatField(null=True, validators=between(-MAX_DELTA, MAX_DELTA))
    separability = models.FloatField(null=True, validators=between(-MAX_DELTA, MAX_DELTA))
    similarity = models.CharField(max_length=200, blank=True)

    text_a = TextAt(0)
    text_b = TextAt(1)
    objects = UnitQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        indexes = [
            # Pages count reference units, of which there are few among many main units.
            models.Index(
                fields=["study", "role"], condition=~models.Q(role="main"), name="reference_units"
            )
        ]
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="unit_key_once_per_study"),
            models.CheckConstraint(
                condition=models.Q(inclusion_probability__isnull=True)
                | models.Q(inclusion_probability__gt=0, inclusion_probability__lte=1),
                name="inclusion_probability_above_0_to_1",
            ),
        ]

    def __str__(self) -> str:
        return self.key

    @classmethod
    def of(cls, texts: Iterable["UnitText"], **facts: Any) -> "Unit":
        """Return an unsaved unit of these texts; `bulk_create` stores both."""
        unit = cls(**facts)
        unit.text_list = list(texts)
        for position, text in enumerate(unit.text_list):
            text.position = position
        return unit

    @cached_property
    def text_list(self) -> list["UnitText"]:
        """The texts in order. Lists of units fetch them first, by `with_texts` or `texts_of`."""
        return list(self.texts.all())

    @property
    def generations(self) -> list[Generation]:
        """The generations in order, without those that are not known."""
        return [text.generation for text in self.text_list if text.generation is not None]

    @property
    def system_ids(self) -> tuple[int | None, ...]:
        return tuple(text.system_id for text in self.text_list)

    @property
    def system_names(self) -> tuple[str, str]:
        """The names of a pair's systems A and B, "" where there is none."""
        a, b, *_ = [*(text.system.name if text.system else "" for text in self.text_list), "", ""]
        return a, b


class UnitText(models.Model):
    """One text of a unit.

    If only ratings were imported, the generation is null and identified by its sample index.
    """

    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="texts", db_index=False)
    position = models.PositiveSmallIntegerField(validators=between(0, MAX_POSITION))
    system = models.ForeignKey(System, null=True, on_delete=models.PROTECT, related_name="+")
    generation = models.ForeignKey(
        Generation, null=True, on_delete=models.PROTECT, related_name="+"
    )
    sample = models.PositiveSmallIntegerField(null=True, validators=between(0, MAX_POSITION))

    class Meta:
        ordering = ["position"]
        constraints = [
            # Its index also serves the foreign key to the unit.
            models.UniqueConstraint(fields=["unit", "position"], name="text_position_once_per_unit")
        ]

    def __str__(self) -> str:
        return f"{self.unit} {self.position}"

    @classmethod
    def showing(cls, generation: Generation) -> "UnitText":
        """Return an unsaved text of a unit that shows this generation."""
        return cls(
            system_id=generation.system_id, generation=generation, sample=generation.sample_index
        )


def texts_of(path: str = "texts", *related: str) -> "models.Prefetch[Any]":
    """Return what `prefetch_related` needs so that units at this path have their `text_list`."""
    rows = UnitText.objects.select_related("system", "generation", *related)
    return models.Prefetch(path, rows)
