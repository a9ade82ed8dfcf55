"""Determines a request's client IP address. Only this module decides which header to trust."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from django.conf import settings
from django.http import HttpRequest

# What proxies add, whether or not this server trusts them.
FORWARDING = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_FORWARDED", "HTTP_VIA")


def client_address(request: HttpRequest) -> str:
    """Return the client's IP address in canonical form, or "" if it is unknown.

    Each trusted proxy appends the address of its peer to X-Forwarded-For. The entry of the
    outermost proxy is therefore number `TIEBREAK_PROXIES` from the right, and everything to its
    left comes from the client and may be forged. Without a trusted proxy the header is ignored.
    """
    if settings.TIEBREAK_BEHIND_PROXY:
        forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        if len(forwarded) >= settings.TIEBREAK_PROXIES:
            client = _parsed(forwarded[-settings.TIEBREAK_PROXIES])
            if client is not None:
                return str(client)
    peer = _parsed(request.META.get("REMOTE_ADDR", ""))
    return str(peer) if peer is not None else ""


def is_from_this_host(request: HttpRequest) -> bool:
    """Whether a program on this host asks directly. A request through a proxy is from anywhere."""
    peer = _parsed(request.META.get("REMOTE_ADDR", ""))
    is_forwarded = any(name in request.META for name in FORWARDING)
    return peer is not None and peer.is_loopback and not is_forwarded


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an address, possibly with a port, as in 192.0.2.1:443 or [2001:db8::1]:443."""
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
        return address.ipv4_mapped  # an IPv4 client of a dual-stack server
    return address
