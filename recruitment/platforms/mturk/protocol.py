"""The worker's side of Mechanical Turk: the parameters of the frame, and where it submits.

The parameters come from the URL of a page, so they may be forged. The results are well-formed, but
only the platform can confirm that the worker holds the assignment.
"""

import re
from collections.abc import Mapping, Sequence

from recruitment.identities import LETTERS_AND_DIGITS, id_in
from recruitment.platforms.base import PlatformEntry
from tiebreak.errors import DomainError

PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
SUBMIT_PATH = "/mturk/externalSubmit"

_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?")


def read_frame_entry(
    parameters: Mapping[str, str], *, allowed_origins: Sequence[str]
) -> PlatformEntry | None:
    """Read the parameters that the platform adds to the address of its frame.

    In a preview, which has no worker, the HIT has not been accepted yet: returns None. The submit
    target is built from an allowed origin, never from what was sent. Raises `DomainError` if an ID
    is missing or malformed, or the origin is not allowed.
    """
    is_preview = parameters.get("assignmentId") == PREVIEW
    assignment = PREVIEW if is_preview else _id(parameters, "assignmentId")
    _id(parameters, "hitId")
    worker = _id(parameters, "workerId", optional=is_preview)
    target = _submit_target(parameters, allowed_origins, optional=is_preview)
    if is_preview:
        return None
    return PlatformEntry(worker, assignment, extra={"target": target, "assignment": assignment})


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
