"""The address that platforms and people are given, and whether it can be reached from outside."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

PRIVATE_ENDINGS = (".localhost", ".local", ".internal", ".lan", ".home.arpa", ".test")


def public_url(request: HttpRequest, path: str) -> str:
    """A whole address of this server: where none is set, that of the request."""
    origin = settings.TIEBREAK_PUBLIC_URL
    return f"{origin}{path}" if origin else request.build_absolute_uri(path)


def address_problem() -> str:
    """Why people elsewhere cannot come by the public address; "" if they can.

    Names are not looked up: one that stands for a private address is taken for public.
    """
    origin = settings.TIEBREAK_PUBLIC_URL
    if not origin:
        return "this server was not told its public address"
    parts = urlsplit(origin)
    if parts.scheme != "https":
        return f"{origin} is not an https:// address"
    return f"{origin} can only be reached from inside" if _is_private(parts.hostname or "") else ""


def _is_private(host: str) -> bool:
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith(PRIVATE_ENDINGS)
