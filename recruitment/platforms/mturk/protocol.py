"""The worker's side of Mechanical Turk: the parameters of the frame, and where it submits.

The parameters come from the URL of a page, so they may be forged. The results are well-formed, but
only the platform can confirm that the worker holds the assignment.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recruitment.identities import LETTERS_AND_DIGITS, id_in
from tiebreak.errors import DomainError

PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
SUBMIT_PATH = "/mturk/externalSubmit"

_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?")


@dataclass(frozen=True)
class FrameParameters:
    """The parameters with which the platform opens its frame.

    In a preview the HIT has not been accepted yet, so nothing may be stored or reserved;
    `worker_id` and `submit_target` may then be empty.
    """

    assignment_id: str
    hit_id: str
    worker_id: str
    submit_target: str
    is_preview: bool


def read_frame_parameters(
    parameters: Mapping[str, str], *, allowed_origins: Sequence[str]
) -> FrameParameters:
    """Read the parameters that the platform adds to the address of its frame.

    The submit target is built from an allowed origin, never from what was sent. Raises
    `DomainError` if an ID is missing or malformed, or the origin is not allowed.
    """
    is_preview = parameters.get("assignmentId") == PREVIEW
    return FrameParameters(
        assignment_id=PREVIEW if is_preview else _id(parameters, "assignmentId"),
        hit_id=_id(parameters, "hitId"),
        worker_id=_id(parameters, "workerId", optional=is_preview),
        submit_target=_submit_target(parameters, allowed_origins, optional=is_preview),
        is_preview=is_preview,
    )


def _id(parameters: Mapping[str, str], name: str, *, optional: bool = False) -> str:
    if optional and not parameters.get(name):
        return ""
    return id_in(parameters, name, LETTERS_AND_DIGITS)


def _submit_target(
    parameters: Mapping[str, str], allowed_origins: Sequence[str], *, optional: bool
) -> str:
    sent = parameters.get("turkSubmitTo", "")
    if optional and not sent:
        return ""
    # Compare whole strings, because two parsers could read the same address differently.
    for origin in filter(_ORIGIN.fullmatch, allowed_origins):
        if sent in {origin, f"{origin}/"}:
            return origin + SUBMIT_PATH
    raise DomainError(
        "mturk_origin",
        "This HIT was opened from a site that is not allowed for this study. Please open it from"
        " Mechanical Turk again.",
        status=400,
    )
