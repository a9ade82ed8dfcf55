"""Where a request came from: the one place that decides which header is believed."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """The client's IP address in its usual spelling, or "" where nobody knows it.

    Each trusted proxy appends the address it was reached from to X-Forwarded-For. So the entry
    that the outermost of them wrote stands `TIEBREAK_PROXIES` from the right, and whatever stands
    left of it was sent by the client. Without a proxy the header is the client's own word.
    """
    if settings.TIEBREAK_BEHIND_PROXY:
        forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        if len(forwarded) >= settings.TIEBREAK_PROXIES:
            seen = _parsed(forwarded[-settings.TIEBREAK_PROXIES])
            if seen is not None:
                return str(seen)
    peer = _parsed(request.META.get("REMOTE_ADDR", ""))
    return str(peer) if peer is not None else ""


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    """Some proxies add the port, as 192.0.2.1:443 or [2001:db8::1]:443."""
    host = text.strip()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped  # the same client, at a server that listens on both
    return address
