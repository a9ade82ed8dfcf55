"""The bodies of requests that create studies on Prolific."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt

from recruitment.platforms.prolific.responses import Data


@dataclass(frozen=True)
class CompletionCode:
    """A completion code, its action, and who may use it; `options` are the action's parameters."""

    code: str
    code_type: str
    action: str = "MANUALLY_REVIEW"
    actor: str = "participant"
    options: Mapping[str, str | int] = field(default_factory=dict)

    def payload(self) -> Data:
        return {
            "code": self.code,
            "code_type": self.code_type,
            "actions": [{"action": self.action, **self.options}],
            "actor": self.actor,
        }


@dataclass(frozen=True, kw_only=True)
class StudyDraft:
    """A study to be created, with times in minutes and the reward in pence or cents."""

    name: str
    internal_name: str
    description: str
    external_study_url: str
    completion_codes: Sequence[CompletionCode]
    estimated_completion_time: int
    maximum_allowed_time: int
    reward: int
    total_available_places: int
    prolific_id_option: str = "url_parameters"
    is_external_study_url_secure: bool = False
    device_compatibility: Sequence[str] = ()
    peripheral_requirements: Sequence[str] = ()
    content_warnings: Sequence[str] = ()
    content_warning_details: str = ""
    filters: Sequence[Mapping[str, object]] = ()
    project: str = ""
    metadata: str = ""

    def payload(self) -> Data:
        """Return the request body that creates the study; empty optional fields are left out."""
        always = {
            "name": self.name,
            "internal_name": self.internal_name,
            "description": self.description,
            "external_study_url": self.external_study_url,
            "prolific_id_option": self.prolific_id_option,
            "is_external_study_url_secure": self.is_external_study_url_secure,
            "completion_codes": [code.payload() for code in self.completion_codes],
            "estimated_completion_time": self.estimated_completion_time,
            "maximum_allowed_time": self.maximum_allowed_time,
            "reward": self.reward,
            "total_available_places": self.total_available_places,
            "device_compatibility": list(self.device_compatibility),
            "peripheral_requirements": list(self.peripheral_requirements),
            "filters": [dict(filter_) for filter_ in self.filters],
        }
        optional = {
            "content_warnings": list(self.content_warnings),
            "content_warning_details": self.content_warning_details,
            "project": self.project,
            "metadata": self.metadata,
        }
        return always | {name: value for name, value in optional.items() if value}

    def changeable(self) -> Data:
        """Return the part of the request body that changes a draft which exists."""
        return {name: value for name, value in self.payload().items() if name not in _FIXED}


# What of a draft decides where people come from and what they are paid with: it stays.
_FIXED = ("external_study_url", "completion_codes", "total_available_places", "internal_name")


def maximum_allowed_minutes(estimated: int) -> int:
    """Return the smallest maximum time that Prolific accepts for this estimate, in minutes."""
    return ceil(2 + 2 * estimated + 2 * sqrt(estimated))
