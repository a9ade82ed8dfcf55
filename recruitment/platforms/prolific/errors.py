"""What went wrong between Prolific and us, as sentences, and whether it may have been done."""

import httpx

from recruitment.platforms.errors import PlatformError
from tiebreak.gateway.retry_after import retry_after_s

REFUSALS = {
    401: (
        "platform_token_refused",
        "Prolific does not accept the token: please enter a new one in the settings.",
    ),
    403: (
        "platform_forbidden",
        "Prolific does not allow this with this token: please look at its rights there.",
    ),
    404: (
        "platform_unknown",
        "Prolific does not know this study or submission: please check that it is of this account.",
    ),
}
MOVED = (
    "platform_moved",
    "Prolific sent the request elsewhere, where the token does not go: please check its address in"
    " the settings.",
)
MAY_BE_DONE = " It may have been done all the same: please look on Prolific before trying again."
LATER = " Please try again in some minutes."


def unreachable() -> PlatformError:
    return PlatformError(
        "platform_unreachable", "Prolific cannot be reached." + LATER, is_retryable=True
    )


def unanswered(is_repeatable: bool) -> PlatformError:
    advice = LATER if is_repeatable else MAY_BE_DONE
    return PlatformError(
        "platform_unanswered",
        "Prolific did not answer." + advice,
        is_retryable=is_repeatable,
        may_be_done=True,
    )


def overloaded(response: httpx.Response, is_repeatable: bool) -> PlatformError:
    """429 was surely not done, so it may be asked again whatever it was."""
    is_busy = response.status_code == httpx.codes.TOO_MANY_REQUESTS
    can_repeat = is_busy or is_repeatable
    said = "Prolific asks us to wait." if is_busy else "Prolific has a fault of its own."
    return PlatformError(
        "platform_busy" if is_busy else "platform_broken",
        said + (LATER if can_repeat else MAY_BE_DONE),
        status=503,
        is_retryable=can_repeat,
        may_be_done=not is_busy,
        platform_status=response.status_code,
        retry_after_s=retry_after_s(response.headers.get("Retry-After", "")),
    )


def nonsense(is_repeatable: bool, status: int) -> PlatformError:
    advice = LATER if is_repeatable else MAY_BE_DONE
    return PlatformError(
        "platform_nonsense",
        "Prolific answered with something that cannot be read." + advice,
        is_retryable=is_repeatable,
        may_be_done=True,
        platform_status=status,
    )


def detail_of(response: httpx.Response) -> str:
    """What Prolific says is wrong: a sentence, a list, or lists by field."""
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
