"""What is asked: datasets, studies, criteria, units, separability."""

from studies.models.changes import ReportChanges
from studies.models.dataset import Dataset, Generation, Instance, System
from studies.models.job import Job
from studies.models.selection import InstanceSelection, SelectedInstance
from studies.models.separability import SeparabilityScore
from studies.models.study import Criterion, Membership, Study, StudySystem, StudyVersion
from studies.models.unit import Unit

__all__ = [
    "Criterion",
    "Dataset",
    "Generation",
    "Instance",
    "InstanceSelection",
    "Job",
    "Membership",
    "ReportChanges",
    "SelectedInstance",
    "SeparabilityScore",
    "Study",
    "StudySystem",
    "StudyVersion",
    "System",
    "Unit",
]
