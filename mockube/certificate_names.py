"""The subjects of certificates, and how long before their end they are renewed; imports no cryptography."""

from ipaddress import ip_address

USER = "kubernetes-admin"
GROUP = "system:masters"
MANAGER = "system:kube-controller-manager"
"""The user as which the controller manager starts; each of its controllers acts as an account of its own."""
RENEW_BEFORE = 7 * 86400.0
"""Seconds before its end at which a certificate is replaced: a server may run for some days."""


def is_address(name: str) -> bool:
    """Return True if a name is an IP address."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
