"""Whether anything of a study can be compared: what its steps, its plan and its launch ask alike."""

from django.db.models import Exists, OuterRef

from studies.models import Generation

_TEXTS = Generation.objects.filter(
    instance__dataset=OuterRef("dataset"), system__studysystem__study=OuterRef("pk")
)
_OTHERS = Generation.objects.filter(
    instance=OuterRef("instance"),
    sample_index=OuterRef("sample_index"),
    system__studysystem__study=OuterRef(OuterRef("pk")),
).exclude(system=OuterRef("system"))

# Expressions on `Study`: whether its systems have a text, and whether an instance has texts of two.
HAS_TEXTS = Exists(_TEXTS)
HAS_PAIRS = Exists(_TEXTS.filter(Exists(_OTHERS)))
NOTHING_COMPARES = "No instance has texts of two systems to compare."
