"""The reference units of a study as forms: made, listed one by one, labelled and removed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.paginator import Page, Paginator
from django.core.validators import FileExtensionValidator
from django.db.models import Count

from annotation.services.reference_units import OBVIOUS, ROLES, expect_labels
from annotation.services.screening import reference_units_needed, screening_of
from studies.design.opened_forms import OpenedForm
from studies.models import Criterion, Study, Unit
from tiebreak.errors import DomainError
from tiebreak.perturbations import PERTURBATIONS

PER_PAGE = 10
_SIDES = {-1: "A ", 0: "", 1: "B "}


class ReferenceUnitsForm(forms.Form):
    """The role of new reference units, and their number or a file that lists them."""

    role = forms.ChoiceField(
        label="Role", choices=[(role.value, name) for role, name in ROLES.items()]
    )
    n = forms.IntegerField(label="Number of items", min_value=1, max_value=1000, initial=20)
    perturbation = forms.ChoiceField(
        label="What is changed in the copy",
        choices=[(p.name, f"{p.change[0].upper()}{p.change[1:]}") for p in PERTURBATIONS.values()],
        initial=OBVIOUS,
        required=False,
    )
    rows = forms.FileField(
        label="Or upload a file (.jsonl)",
        required=False,
        validators=[FileExtensionValidator(["jsonl"])],
    )


@dataclass(frozen=True)
class RoleCount:
    """How many reference units of a role there are, and how many the screening needs."""

    title: str
    present: int
    needed: int

    @property
    def is_short(self) -> bool:
        return self.present < self.needed


def role_counts(study: Study) -> list[RoleCount]:
    rows = study.units.order_by().values_list("role").annotate(n=Count("pk"))
    present, screening = dict(rows), screening_of(study)
    needed = reference_units_needed(screening) if screening else {}
    return [
        RoleCount(name, present.get(role, 0), needed.get(role, 0)) for role, name in ROLES.items()
    ]


class LabelsForm(OpenedForm, forms.Form):
    """The expected labels of one reference unit, a field for each criterion."""

    def __init__(
        self, unit: Unit, criteria: list[Criterion], data: Mapping[str, Any] | None = None
    ) -> None:
        initial = {f"c{i}": unit.known_labels.get(c.name, "") for i, c in enumerate(criteria)}
        super().__init__(data, prefix=f"unit-{unit.key}", initial=initial)
        self.unit, self.criteria = unit, criteria
        for number, criterion in enumerate(criteria):
            self.fields[f"c{number}"] = _field(criterion)

    def labels(self) -> dict[str, str]:
        entered = {c.name: self.cleaned_data[f"c{i}"] for i, c in enumerate(self.criteria)}
        return {name: label for name, label in entered.items() if label}


def _field(criterion: Criterion) -> forms.Field:
    scale = criterion.parsed_scale
    if scale.labels is None:
        return forms.CharField(label=criterion.name, required=False, max_length=50)
    choices = [("", "not judged")]
    for label in scale.labels:
        words = f"{_SIDES[scale.side_of(label)]}{scale.words_for(label)}"
        choices.append((str(label), words))
    return forms.ChoiceField(label=criterion.name, required=False, choices=choices)


def reference_unit_pages(study: Study, number: str | None) -> Page[Unit]:
    """Return one page of a study's reference units, by role and in the order of their making."""
    units = study.units.exclude(role=Unit.Role.MAIN).order_by("role", "pk")
    return Paginator(units.with_texts(), PER_PAGE).get_page(number)


def labels_forms(study: Study, units: Page[Unit]) -> list[LabelsForm]:
    criteria = list(study.criteria.all())
    return [LabelsForm(unit, criteria) for unit in units]


def save_labels(study: Study, data: Mapping[str, Any], keys: list[str]) -> None:
    """Store the expected labels that were changed. Raises `DomainError` unless it is a draft."""
    criteria = list(study.criteria.all())
    for unit in study.units.exclude(role=Unit.Role.MAIN).filter(key__in=keys[:PER_PAGE]):
        form = LabelsForm(unit, criteria, data)
        if not form.is_valid():
            raise _refused_labels(unit, form)
        if form.has_changed():
            expect_labels(study=study, key=unit.key, labels=form.labels())


def _refused_labels(unit: Unit, form: LabelsForm) -> DomainError:
    name, (error, *_) = next(iter(form.errors.as_data().items()))
    typed = form.data.get(form.add_prefix(name), "")
    sentence = f"{unit.key}: “{typed}” is not stored. {error.messages[0]}"
    return DomainError(error.code or "invalid", sentence, status=400)
