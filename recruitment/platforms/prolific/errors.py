"""Errors of Prolific's API: a sentence for each, and whether the request may have succeeded."""

import httpx

from recruitment.platforms.errors import PlatformError
from tiebreak.gateway.http_errors import retry_after_s

REFUSALS = {
    401: (
        "platform_token_refused",
        "Prolific does not accept the token. Please enter a new one on the recruitment page.",
    ),
    403: (
        "platform_forbidden",
        "Prolific does not allow this with your token. Please check the token's permissions on"
        " Prolific.",
    ),
    404: (
        "platform_unknown",
        "Prolific does not know this study or submission. Please check that it belongs to the"
        " token's account.",
    ),
}
MOVED = (
    "platform_moved",
    "Prolific redirected the request, and the token is not sent to other addresses. Please check"
    " Prolific's address in the server's settings.",
)
MAY_BE_DONE = (
    " The request may have succeeded anyway: please check on Prolific before you try again."
)
LATER = " Please try again in a few minutes."


def unreachable() -> PlatformError:
    return PlatformError(
        "platform_unreachable", "Prolific cannot be reached." + LATER, is_retryable=True
    )


def unclear(
    code: str, sentence: str, is_repeatable: bool, platform_status: int | None = None
) -> PlatformError:
    """Return the error of a request that may have been carried out."""
    return PlatformError(
        code,
        sentence + (LATER if is_repeatable else MAY_BE_DONE),
        is_retryable=is_repeatable,
        may_be_done=True,
        platform_status=platform_status,
    )


def overloaded(response: httpx.Response, is_repeatable: bool) -> PlatformError:
    """Return the error for a busy or broken API. After a 429, repeating a request is safe."""
    is_busy = response.status_code == httpx.codes.TOO_MANY_REQUESTS
    can_repeat = is_busy or is_repeatable
    sentence = (
        "Prolific is receiving too many requests." if is_busy else "Prolific has an internal error."
    )
    return PlatformError(
        "platform_busy" if is_busy else "platform_broken",
        sentence + (LATER if can_repeat else MAY_BE_DONE),
        status=503,
        is_retryable=can_repeat,
        may_be_done=not is_busy,
        platform_status=response.status_code,
        retry_after_s=retry_after_s(response.headers.get("Retry-After", "")),
    )


def detail_of(response: httpx.Response) -> str:
    """Return Prolific's explanation of an error: a sentence, a list, or lists by field."""
    try:
        data = response.json()
    except (ValueError, RecursionError):
        return ""
    error = data.get("error", data) if isinstance(data, dict) else None
    return _flat(error.get("detail", "")) if isinstance(error, dict) else ""


def _flat(detail: object) -> str:
    if isinstance(detail, dict):
        return "; ".join(f"{name}: {_flat(value)}" for name, value in detail.items())
    if isinstance(detail, list):
        return ", ".join(_flat(value) for value in detail)
    return str(detail)
