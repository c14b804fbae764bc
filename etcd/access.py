"""Access to an etcd cluster: endpoints, the client's credentials, and the prefix of the keys of a store."""

import ssl
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from etcd.store import StoreError

ALL: Final = b64encode(b"\0").decode()
"""All keys, as a request writes it: both as the first key and as the end of the range."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials of a cluster's client, and the CA that it trusts.

    Attributes:
        authority: a file with the CA certificates that sign the members' certificates; "" for the system's CAs.
        certificate, key: files with the client's own certificate and key; "" for none.
        user, password: of etcd's own authentication, "" for none.
    """

    authority: str = ""
    certificate: str = ""
    key: str = ""
    user: str = ""
    password: str = field(default="", repr=False)

    def context(self) -> ssl.SSLContext:
        """Return the TLS context for connections to the members.

        Raises:
            StoreError: a file cannot be used.
        """
        try:
            context = ssl.create_default_context(cafile=self.authority or None)
            if self.certificate:
                context.load_cert_chain(self.certificate, self.key or None)
        except OSError as error:  # TLS errors are OSErrors too
            files = ", ".join(filter(None, (self.authority, self.certificate, self.key)))
            reason = str(error) if self.key or not self.certificate else "there is no key in it, and none is named"
            raise StoreError(f"the certificates for etcd ({files}) cannot be used: {reason}") from error
        return context


@dataclass(frozen=True, slots=True)
class KeyPrefix:
    """The prefix under which the keys of a store lie in the cluster.

    Attributes:
        inside: the prefix of all keys as the store's users name them.
        outside: the prefix that replaces it in the cluster.
    """

    inside: str = ""
    outside: str = ""

    def encoded(self, key: str) -> str:
        """Return a key as requests have it (base64)."""
        return b64encode((self.outside + key.removeprefix(self.inside)).encode()).decode()

    def end(self, prefix: str = "") -> str:
        """Return the end of the range of all keys, or of those with a prefix."""
        cluster_prefix = (self.outside + prefix.removeprefix(self.inside)).encode()
        return b64encode(cluster_prefix[:-1] + bytes((cluster_prefix[-1] + 1,))).decode() if cluster_prefix else ALL

    def decoded(self, key: str) -> str | None:
        """Return a key as the store's users name it; None if it lies outside the prefix or is not UTF-8."""
        try:
            cluster_key = b64decode(key).decode()
        except UnicodeDecodeError:
            return None
        return self.inside + cluster_key.removeprefix(self.outside) if cluster_key.startswith(self.outside) else None


@dataclass(frozen=True, slots=True)
class Access:
    """The access to a cluster.

    Attributes:
        endpoints: URLs of its members.
        credentials: what the client authenticates with.
        key_prefix: the prefix of the keys.
        compaction: seconds for which the cluster keeps history, 0 if this client does not compact it.
    """

    endpoints: Sequence[str] = ()
    credentials: Credentials = Credentials()
    key_prefix: KeyPrefix = KeyPrefix()
    compaction: float = 0.0
