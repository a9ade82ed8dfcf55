"""The worker's side of Mechanical Turk: who stands in the frame, and where their page submits.

Everything here comes from the address of a page, so everything here may be forged. What comes
out is well formed; that the worker holds the assignment is for the platform to confirm.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tiebreak.errors import DomainError

PRODUCTION_ORIGIN = "https://www.mturk.com"
SANDBOX_ORIGIN = "https://workersandbox.mturk.com"
PUBLIC_ORIGINS = (PRODUCTION_ORIGIN, SANDBOX_ORIGIN)

PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
SUBMIT_PATH = "/mturk/externalSubmit"

_ID = re.compile(r"[A-Za-z0-9]{1,64}")
_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?")


@dataclass(frozen=True)
class LedgerRow:
    """One visit from the platform.

    In a preview nobody accepted the work yet: show, disable, write nothing, reserve nothing.
    `worker_id` and `submit_target` may then be empty.
    """

    assignment_id: str
    hit_id: str
    worker_id: str
    submit_target: str
    is_preview: bool


def read_entry(parameters: Mapping[str, str], *, allowed_origins: Sequence[str]) -> LedgerRow:
    """Read the parameters that the platform puts on the address in its frame.

    The submit target is built from an allowed origin, never from what was sent. Raises
    `DomainError` where an id is missing or malformed, or the origin is not an allowed one.
    """
    is_preview = parameters.get("assignmentId") == PREVIEW
    return LedgerRow(
        assignment_id=PREVIEW if is_preview else _id(parameters, "assignmentId"),
        hit_id=_id(parameters, "hitId"),
        worker_id=_id(parameters, "workerId", optional=is_preview),
        submit_target=_submit_target(parameters, allowed_origins, optional=is_preview),
        is_preview=is_preview,
    )


def _id(parameters: Mapping[str, str], name: str, *, optional: bool = False) -> str:
    value = parameters.get(name, "")
    if (optional and not value) or _ID.fullmatch(value):
        return value
    raise DomainError(
        "mturk_entry",
        f"This address lacks a valid {name}. Please open the task from Mechanical Turk again.",
        status=400,
    )


def _submit_target(
    parameters: Mapping[str, str], allowed_origins: Sequence[str], *, optional: bool
) -> str:
    given = parameters.get("turkSubmitTo", "")
    if optional and not given:
        return ""
    # Strings are compared whole: no parser, so nothing that two parsers could read two ways.
    for origin in filter(_ORIGIN.fullmatch, allowed_origins):
        if given in {origin, f"{origin}/"}:
            return origin + SUBMIT_PATH
    raise DomainError(
        "mturk_origin",
        "This task was opened from a site that this study does not work with."
        " Please open it from Mechanical Turk again.",
        status=400,
    )
