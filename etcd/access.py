"""Access to an etcd cluster: endpoints, the client's credentials, and the prefix of the keys of a store."""

import ssl
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from etcd.store import StoreError

ALL_KEYS: Final = b64encode(b"\0").decode()
"""All keys, as a request writes it: both as the first key and as the end of the range."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials of a cluster's client, and the CA that it trusts.

    Attributes:
        authority: a file with the CA certificates that sign the members' certificates; "" for the system's CAs.
        certificate, key: files with the client's own certificate and key; "" for none.
        user, password: of etcd's own authentication, "" for none.
    """

    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    user: str = ""
    password: str = field(default="", repr=False)

    def ssl_context(self) -> ssl.SSLContext:
        """Return the TLS context for connections to the members.

        Raises:
            StoreError: a file cannot be used.
        """
        try:
            context = ssl.create_default_context(cafile=self.ca_file or None)
            if self.cert_file:
                context.load_cert_chain(self.cert_file, self.key_file or None)
        except OSError as error:  # TLS errors are OSErrors too
            files = ", ".join(filter(None, (self.ca_file, self.cert_file, self.key_file)))
            reason = str(error) if self.key_file or not self.cert_file else "there is no key in it, and none is named"
            raise StoreError(f"the certificates for etcd ({files}) cannot be used: {reason}") from error
        return context


@dataclass(frozen=True, slots=True)
class KeyPrefix:
    """The prefix under which the keys of a store lie in the cluster.

    Attributes:
        inside: the prefix of all keys as the store's users name them.
        outside: the prefix that replaces it in the cluster.
    """

    store_prefix: str = ""
    cluster_prefix: str = ""

    def encode(self, key: str) -> str:
        """Return a key as requests have it (base64)."""
        return b64encode((self.cluster_prefix + key.removeprefix(self.store_prefix)).encode()).decode()

    def range_end(self, prefix: str = "") -> str:
        """Return the end of the range of all keys, or of those with a prefix."""
        cluster_prefix = (self.cluster_prefix + prefix.removeprefix(self.store_prefix)).encode()
        return (
            b64encode(cluster_prefix[:-1] + bytes((cluster_prefix[-1] + 1,))).decode() if cluster_prefix else ALL_KEYS
        )

    def decode(self, key: str) -> str | None:
        """Return a key as the store's users name it; None if it lies outside the prefix or is not UTF-8."""
        try:
            cluster_key = b64decode(key).decode()
        except UnicodeDecodeError:
            return None
        return (
            self.store_prefix + cluster_key.removeprefix(self.cluster_prefix)
            if cluster_key.startswith(self.cluster_prefix)
            else None
        )


@dataclass(frozen=True, slots=True)
class ClusterConfig:
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
