"""Errors of model servers over HTTP, as `GatewayError`."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from tiebreak.gateway.protocol import GatewayError


def retry_after_s(header: str) -> float:
    """Return the seconds to wait according to a Retry-After header, or 0 if it is invalid.

    The header is a number of seconds or a date. Source: RFC 9110, section 10.2.3.

    Examples
    --------
    >>> retry_after_s("120"), retry_after_s("soon")
    (120.0, 0.0)
    """
    if re.fullmatch(r"[0-9]{1,9}", header.strip()):
        return float(header)
    try:
        date = parsedate_to_datetime(header)
    except (ValueError, OverflowError):  # OverflowError for a year that datetime cannot represent
        return 0.0
    aware = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())


TRY_LATER = " Try again in a few minutes."
ERRORS_BY_STATUS = {
    401: (
        "refused_key",
        "The model server rejected the API key. Check the key in the settings.",
    ),
    403: (
        "forbidden",
        "The API key is not allowed to do this. Check its permissions on the model server.",
    ),
    404: (
        "unknown_model",
        "The model server has no such model or address. Check the model's name and the server's"
        " address in the settings.",
    ),
}
# Servers have no common code for a prompt that is too long, but similar words.
TOO_LONG = re.compile(
    r"context.?(length|window|size)|max_model_len|maximum model len", re.IGNORECASE
)
REDIRECTED = (
    "moved",
    "The model server redirected the request, but redirects are not followed. Enter the final"
    " address in the settings.",
)


def bad_address() -> GatewayError:
    return GatewayError(
        "bad_settings",
        "The address of the model server is invalid. Enter it in the settings in the form"
        " http://host:8000/v1, without user name, password, query or fragment.",
    )


def host_not_allowed(authority: str) -> GatewayError:
    return GatewayError(
        "host_not_allowed",
        f"The host {authority} is not allowed. If the address is correct, ask an administrator to add"
        f" “{authority}” to the allowed hosts.",
    )


def status_error(status: int, detail: str, retry_after_s: float) -> GatewayError:
    """Return the error for a status other than 2xx; ``detail`` is the server's own message."""
    if status in ERRORS_BY_STATUS:
        return GatewayError(*ERRORS_BY_STATUS[status])
    if status in (408, 425, 429, 503):
        return GatewayError(
            "busy",
            "The model server is busy." + TRY_LATER,
            is_retryable=True,
            retry_after_s=retry_after_s,
        )
    if status >= 500:
        return GatewayError(
            "broken",
            f"The model server reported an internal error (HTTP {status})." + TRY_LATER,
            is_retryable=status != 501,
            retry_after_s=retry_after_s,
        )
    if 300 <= status < 400:
        return GatewayError(*REDIRECTED)
    quoted = f": {detail}" if detail else ""
    return rejected(f"The model server rejected the request (HTTP {status}){quoted}.", detail)


def rejected(sentence: str, detail: str) -> GatewayError:
    """Return the error of a request that is at fault itself; ``detail`` is the server's own message."""
    if TOO_LONG.search(detail):
        remedy = " Use a model with a longer context, shorter texts, or fewer examples."
        return GatewayError("too_long", sentence + remedy)
    return GatewayError("refused", f"{sentence} Correct the request, and try again.")


def unreachable(authority: str) -> GatewayError:
    return GatewayError(
        "unreachable",
        f"The model server at {authority} cannot be reached. Check that it is running.",
        is_retryable=True,
    )


def untrusted_certificate(authority: str) -> GatewayError:
    return GatewayError(
        "bad_settings",
        f"The certificate of the model server at {authority} is not trusted. Check the address, or"
        " install the certificate of its authority on this machine.",
    )


def timed_out(timeout_s: float) -> GatewayError:
    return GatewayError(
        "too_slow",
        f"The model server did not respond within {timeout_s:g} seconds. Try again, request fewer or"
        " shorter texts, or increase the timeout.",
        is_retryable=True,
    )


def connection_lost() -> GatewayError:
    return GatewayError(
        "incomplete",
        "The connection to the model server was lost during the response." + TRY_LATER,
        is_retryable=True,
    )


def malformed_response() -> GatewayError:
    return GatewayError(
        "nonsense",
        "The model server sent an invalid response. Check that the address belongs to an"
        " OpenAI-compatible server.",
        is_retryable=True,
    )
