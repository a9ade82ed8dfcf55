"""The errors of a model server over HTTP, as `GatewayError`."""

from tiebreak.gateway.protocol import GatewayError

LATER = " Please try again in some minutes."
ERRORS_BY_STATUS = {
    401: (
        "refused_key",
        "The model server does not accept the key: please enter the right one in the settings.",
    ),
    403: (
        "forbidden",
        "The model server does not allow this with this key: please look at its rights there.",
    ),
    404: (
        "unknown_model",
        "The model server does not know this model or this address: please compare both with what"
        " it serves.",
    ),
}
REDIRECTED = (
    "moved",
    "The model server sent the request elsewhere, where it does not go: please enter the server's"
    " own address in the settings.",
)


def bad_address() -> GatewayError:
    return GatewayError(
        "bad_settings",
        "The address of a model server looks like http://host:8000/v1, with no name, password,"
        " question mark or # in it: please correct it in the settings.",
    )


def host_not_allowed(authority: str) -> GatewayError:
    return GatewayError(
        "host_not_allowed",
        f"Model servers at {authority} are not allowed here. If this one is right, please have"
        f" “{authority}” added to the allowed hosts in the settings.",
    )


def status_error(status: int, detail: str, retry_after_s: float) -> GatewayError:
    """The error for a response whose status is not 2xx; ``detail`` is the server's own message."""
    if status in ERRORS_BY_STATUS:
        return GatewayError(*ERRORS_BY_STATUS[status])
    if status in (408, 425, 429, 503):
        return GatewayError(
            "busy",
            "The model server asks us to wait." + LATER,
            is_retryable=True,
            retry_after_s=retry_after_s,
        )
    if status >= 500:
        return GatewayError(
            "broken",
            f"The model server has a fault of its own (HTTP {status})." + LATER,
            is_retryable=status != 501,
            retry_after_s=retry_after_s,
        )
    if 300 <= status < 400:
        return GatewayError(*REDIRECTED)
    quoted = f": {detail}" if detail else ""
    return GatewayError(
        "refused",
        f"The model server refused the request (HTTP {status}){quoted}. Please correct what was"
        " asked and try again.",
    )


def unreachable(authority: str) -> GatewayError:
    return GatewayError(
        "unreachable",
        f"The model server at {authority} cannot be reached. Please look whether it is running.",
        is_retryable=True,
    )


def untrusted_certificate(authority: str) -> GatewayError:
    return GatewayError(
        "bad_settings",
        f"The certificate of the model server at {authority} is not one to trust. Please correct"
        " the address, or have the server's authority added to this machine's.",
    )


def timed_out(timeout_s: float) -> GatewayError:
    return GatewayError(
        "too_slow",
        f"The model server did not answer within {timeout_s:g} seconds. Please try again, ask for"
        " fewer or shorter texts, or allow more time.",
        is_retryable=True,
    )


def connection_lost() -> GatewayError:
    return GatewayError(
        "incomplete", "The model server broke off in mid-answer." + LATER, is_retryable=True
    )


def malformed_response() -> GatewayError:
    return GatewayError(
        "nonsense",
        "The model server answered with something that cannot be read. Please check that its"
        " address is that of an OpenAI-compatible server.",
        is_retryable=True,
    )
