"""What an address of a scheduler says about who could listen."""

from __future__ import annotations

import ipaddress

_PROTECTED = ("tls", "wss", "ucxx+tls", "inproc")


def warning(address: str) -> str:
    """What users should know: dask runs what it is sent, whoever sends it. Empty: nothing."""
    scheme, found, rest = address.rpartition("://")
    if (found and scheme in _PROTECTED) or _is_loopback(_host(rest)):
        return ""
    return (
        f"the connection to {address} has no TLS: whoever can reach that port can run programs there,"
        " and whoever is between can read and change what is sent"
    )


def _host(rest: str) -> str:
    if rest.startswith("["):
        return rest[1:].partition("]")[0]
    return rest.partition(":")[0] if rest.count(":") <= 1 else rest


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
