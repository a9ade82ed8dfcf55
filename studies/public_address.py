"""The public address of this server, and whether it can be reached from outside."""

from ipaddress import ip_address
from urllib.parse import urljoin, urlsplit

from django.conf import settings
from django.http import HttpRequest

PRIVATE_ENDINGS = (".localhost", ".local", ".internal", ".lan", ".home.arpa", ".test")


def public_url(request: HttpRequest, path: str) -> str:
    """Return a complete URL on this server; without a configured address, use the request's."""
    address = settings.TIEBREAK_PUBLIC_URL  # whose path begins the given one, too
    return urljoin(address, path) if address else request.build_absolute_uri(path)


def is_local(url: str) -> bool:
    """Return whether an address works only on the computer that the server runs on."""
    return urlsplit(url).hostname in {"127.0.0.1", "::1", "localhost"}


def address_problem() -> str:
    """Return why the public address cannot be reached from outside; "" if it can.

    Host names are not resolved, so a name that points to a private address counts as public.
    """
    origin = settings.TIEBREAK_PUBLIC_URL
    if not origin:
        return "this server has no public address configured"
    parts = urlsplit(origin)
    if parts.scheme != "https":
        return f"{origin} is not an https:// address"
    return (
        f"{origin} can only be reached from the local network"
        if _is_private(parts.hostname or "")
        else ""
    )


def _is_private(host: str) -> bool:
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith(PRIVATE_ENDINGS)
