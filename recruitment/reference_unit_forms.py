"""The reference units of a study as forms: made, listed one by one, labelled and removed."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

from django import forms
from django.core.paginator import Page, Paginator
from django.core.validators import FileExtensionValidator
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.services.reference_units import (
    ROLES,
    expect_labels,
    most_copies,
    open_roles,
)
from annotation.services.screening import RoleCount
from studies.design.opened_forms import OpenedForm
from studies.models import Criterion, Generation, Instance, Study, Unit, UnitText
from tiebreak.errors import DomainError
from tiebreak.perturbations import PERTURBATIONS, Perturbation

PER_PAGE = 10


NOTICED = CAREFUL, READING, WITH_SOURCE, AT_A_GLANCE = (
    "Takes careful reading",
    "Takes reading",
    "Seen by comparing with the source",
    "Seen at a glance",
)
AS_TEXTS_ALLOW = "Takes reading, where the texts allow it"


def _noticed(perturbation: Perturbation) -> str:
    """Return in words how hard it is to see that a text was changed in this way."""
    if perturbation.kind in {"fictional", "answer"}:
        return WITH_SOURCE
    if perturbation.degree == "minor":
        return CAREFUL
    return READING if perturbation.level == "sentences" else AT_A_GLANCE


def _changes() -> list[tuple[str, Any]]:
    """Return the changes to choose from, the hardest to see first, below what is done otherwise."""
    groups: dict[str, list[tuple[str, str]]] = {name: [] for name in NOTICED}
    for one in PERTURBATIONS.values():
        groups[_noticed(one)].append((one.name, f"{one.change[0].upper()}{one.change[1:]}"))
    return [("", AS_TEXTS_ALLOW), *groups.items()]


NO_NUMBER = "Enter the number of items, or choose a file with them."


class ReferenceUnitsForm(forms.Form):
    """The role of new reference units, and their number or a file that lists them."""

    role = forms.ChoiceField(
        label="Role", choices=[(role.value, name) for role, name in ROLES.items()]
    )
    n = forms.IntegerField(
        label="Number of items", min_value=1, max_value=1000, required=False, initial=20
    )
    perturbation = forms.ChoiceField(
        label="What is changed in the copy",
        choices=_changes,
        required=False,
        help_text="A change that is seen at a glance finds only people who do not look. One that takes"
        " careful reading also fails people who skim. If you choose none, half of the sentences are those of"
        " another text; where a text is short or like the others, words are missing, which is seen at a glance.",
    )
    rows = forms.FileField(
        label="Or upload a file (.jsonl)",
        required=False,
        validators=[FileExtensionValidator(["jsonl"])],
    )

    def clean(self) -> None:
        if not self.errors and not (self.cleaned_data["n"] or self.cleaned_data["rows"]):
            raise forms.ValidationError(NO_NUMBER, code="no_number")


def offered_units_form(
    study: Study, counts: list[RoleCount], chosen: str | None
) -> ReferenceUnitsForm:
    """Return the form with what is possible: roles that nobody began, and copies if there can be any."""
    roles = open_roles(study)
    initial = {"role": role_to_make(roles, counts, chosen)}
    form = ReferenceUnitsForm(prefix="make", use_required_attribute=False, initial=initial)
    form.fields["role"] = _role_field(roles)
    if most := most_copies(study, form.fields["n"].initial):
        form.initial["n"] = most
    else:
        del form.fields["n"], form.fields["perturbation"]
    return form


def _role_field(roles: Mapping[Unit.Role, str]) -> forms.ChoiceField:
    named = [(role.value, name) for role, name in roles.items()]
    return forms.ChoiceField(label="Role", choices=named)


def role_to_make(roles: Iterable[Unit.Role], counts: list[RoleCount], chosen: str | None) -> str:
    """Return the role that was chosen last, or else the first that lacks units, if it takes more."""
    open_ = [role.value for role in roles]
    if chosen in open_:
        return chosen
    short = (count.role.value for count in counts if count.is_short)
    return next((role for role in short if role in open_), Unit.Role.GOLD.value)


def change_of_copy(unit: Unit) -> str:
    """Say how hard it is to see what was changed in a unit's copy; "" if it has none that was made here."""
    made = (
        text.generation.params.get("perturbation") for text in unit.text_list if text.generation
    )
    names = [one["name"] for one in made if one and one["name"] in PERTURBATIONS]
    changes = map(PERTURBATIONS.__getitem__, names)
    return next((f"{_noticed(one)}: {one.change}." for one in changes), "")


class LabelsForm(OpenedForm, forms.Form):
    """The expected labels of one reference unit, a field for each criterion."""

    def __init__(
        self, unit: Unit, criteria: list[Criterion], data: Mapping[str, Any] | None = None
    ) -> None:
        initial = {f"c{i}": unit.known_labels.get(c.name, "") for i, c in enumerate(criteria)}
        super().__init__(data, prefix=f"unit-{unit.key}", initial=initial)
        self.unit, self.criteria, self.change = unit, criteria, change_of_copy(unit)
        for number, criterion in enumerate(criteria):
            self.fields[f"c{number}"] = _field(criterion, unit)

    def expected(self) -> list[tuple[str, str]]:
        """Return the stored labels in words, by criterion."""
        named = [(c.name, self._words(f"c{i}")) for i, c in enumerate(self.criteria)]
        return [(name, words) for name, words in named if self.unit.known_labels.get(name)]

    def labels(self) -> dict[str, str]:
        entered = {c.name: self.cleaned_data[f"c{i}"] for i, c in enumerate(self.criteria)}
        return {name: label for name, label in entered.items() if label}


def _field(criterion: Criterion, unit: Unit) -> forms.Field:
    scale = criterion.parsed_scale
    if scale.labels is None:
        return forms.CharField(label=criterion.name, required=False, max_length=50)
    sides = dict(zip((-1, 1), unit.system_names, strict=True))
    choices = [("", "not judged")]
    for label in scale.labels:
        preferred = sides.get(scale.side_of(label), "")
        choices.append((str(label), f"{preferred} {scale.words_for(label)}".strip()))
    return forms.ChoiceField(label=criterion.name, required=False, choices=choices)


class ChosenUnitForm(LabelsForm):
    """The answers to click for a pair of texts that is no reference unit yet, and its role."""

    role = ReferenceUnitsForm.base_fields["role"]
    explanation = forms.CharField(
        required=False,
        max_length=1000,
        help_text="Training shows it after the answer.",
    )

    def __init__(
        self, *args: Any, role: str, roles: Mapping[Unit.Role, str], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.initial["role"] = role
        if not self.is_bound:
            self.fields["role"] = _role_field(roles)
        for number, criterion in enumerate(self.criteria):
            if criterion.parsed_scale.labels is not None:
                self.fields[f"c{number}"].widget = forms.RadioSelect(
                    choices=self.fields[f"c{number}"].choices  # type: ignore[attr-defined]
                )
        self.order_fields([*(f"c{i}" for i in range(len(self.criteria))), "role", "explanation"])

    def clean(self) -> None:
        if not self.errors and not self.labels():
            raise forms.ValidationError("Click the right answer.", code="labels_missing")

    def _versioned(self) -> Iterator[str]:
        """Yield the labels and the explanation: a role is only proposed and nowhere stored."""
        yield from (name for name in super()._versioned() if name != "role")

    def row(self) -> dict[str, Any]:
        """Return the unit as a row of a file of reference units."""
        row: dict[str, Any] = {"instance": self.unit.instance.key if self.unit.instance else ""}
        for side, text in zip("ab", self.unit.generations, strict=False):
            row |= {f"system_{side}": text.system.name, f"sample_{side}": text.sample_index}
        return row | {"labels": self.labels(), "explanation": self.cleaned_data["explanation"]}


def candidates(study: Study, search: str) -> QuerySet[Instance]:
    """Return the instances that no reference unit uses yet, with all that is searched for.

    Once the study is open, nor those that annotators rate: its plan can no longer leave them out.
    """
    units = study.units.all()
    if study.opened_at is None:
        units = units.exclude(role=Unit.Role.MAIN)
    used = units.filter(instance__isnull=False).values("instance")
    instances = Instance.objects.filter(dataset=study.dataset_id).exclude(pk__in=used)
    if search:
        has_text = Generation.objects.filter(instance=OuterRef("pk"), text__icontains=search)
        named = Q(key__icontains=search) | Q(source__icontains=search)
        instances = instances.filter(named | Exists(has_text))
    return instances.order_by("pk")


def candidate(study: Study, instance: Instance) -> Unit | None:
    """Return an unsaved unit of first texts; pairs of systems take turns over the instances."""
    is_pair = study.unit_kind == Study.UnitKind.COMPARISON
    systems = study.ordered_systems()
    combined = list(combinations(systems, 2 if is_pair else 1))
    chosen = combined[instance.pk % len(combined)] if combined else ()
    texts = [
        instance.generations.filter(system=system).order_by("sample_index").first()
        for system in chosen
    ]
    found = [text for text in texts if text is not None]
    if not found or len(found) < len(texts):
        return None
    of_texts = map(UnitText.showing, found)
    return Unit.of(of_texts, study=study, instance=instance, key=f"i{instance.pk}")


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
            name, (error, *_) = next(iter(form.errors.as_data().items()))
            typed = form.data.get(form.add_prefix(name), "")
            sentence = f"{unit.key}: “{typed}” is not stored. {error.messages[0]}"
            raise DomainError(error.code or "invalid", sentence, status=400)
        if form.has_changed():
            expect_labels(study=study, key=unit.key, labels=form.labels())
