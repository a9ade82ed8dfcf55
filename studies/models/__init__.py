"""Models of the study design: datasets, studies, criteria, units, selection and separability."""

from studies.models.accounts import (
    AppDevice as AppDevice,
    Invitation as Invitation,
    SingleSignOn as SingleSignOn,
)
from studies.models.changes import ReportChanges as ReportChanges
from studies.models.dataset import (
    Dataset as Dataset,
    Generation as Generation,
    Instance as Instance,
    RefusedCopy as RefusedCopy,
    System as System,
)
from studies.models.event import StudyEvent as StudyEvent
from studies.models.joined_system import JoinedSystem as JoinedSystem
from studies.models.lasting_key import LastingKey as LastingKey
from studies.models.screening import (
    ComprehensionQuestion as ComprehensionQuestion,
    Screening as Screening,
)
from studies.models.selection import (
    InstanceSelection as InstanceSelection,
    SelectedInstance as SelectedInstance,
)
from studies.models.separability import SeparabilityScore as SeparabilityScore
from studies.models.study import (
    Criterion as Criterion,
    Membership as Membership,
    Study as Study,
    StudySystem as StudySystem,
    StudyVersion as StudyVersion,
)
from studies.models.unit import (
    Unit as Unit,
    UnitText as UnitText,
    texts_of as texts_of,
)
