"""Models of the study design: datasets, studies, criteria, units, selection and separability."""

from studies.models.changes import ReportChanges
from studies.models.dataset import Dataset, Generation, Instance, RefusedCopy, System
from studies.models.event import StudyEvent
from studies.models.screening import ComprehensionQuestion, Screening
from studies.models.selection import InstanceSelection, SelectedInstance
from studies.models.separability import SeparabilityScore
from studies.models.study import Criterion, Membership, Study, StudySystem, StudyVersion
from studies.models.unit import Unit, UnitText, texts_of

__all__ = [
    "ComprehensionQuestion",
    "Criterion",
    "Dataset",
    "Generation",
    "Instance",
    "InstanceSelection",
    "Membership",
    "RefusedCopy",
    "ReportChanges",
    "Screening",
    "SelectedInstance",
    "SeparabilityScore",
    "Study",
    "StudyEvent",
    "StudySystem",
    "StudyVersion",
    "System",
    "Unit",
    "UnitText",
    "texts_of",
]
