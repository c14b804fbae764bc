"""Where a cluster is, who asks it, and where in it the keys of a store lie."""

import ssl
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from etcd.store import StoreError

ALL: Final = b64encode(b"\0").decode()
"""As a key and as the end of a range, in a request: all keys."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a client of a cluster shows of itself, and whom it trusts.

    Attributes:
        authority: a file with who signs the members' certificates; "" for whom the system trusts.
        certificate, key: files with the client's own; "" for none.
        user, password: of etcd, "" for none.
    """

    authority: str = ""
    certificate: str = ""
    key: str = ""
    user: str = ""
    password: str = field(default="", repr=False)

    def context(self) -> ssl.SSLContext:
        """How connections are secured.

        Raises:
            StoreError: a file cannot be used.
        """
        try:
            context = ssl.create_default_context(cafile=self.authority or None)
            if self.certificate:
                context.load_cert_chain(self.certificate, self.key or None)
        except OSError as error:  # which errors of TLS are too
            files = ", ".join(filter(None, (self.authority, self.certificate, self.key)))
            why = str(error) if self.key or not self.certificate else "there is no key in it, and none is named"
            raise StoreError(f"the certificates for etcd ({files}) cannot be used: {why}") from error
        return context


@dataclass(frozen=True, slots=True)
class KeyPrefix:
    """Where the keys of a store lie in the cluster.

    Attributes:
        inside: what all keys begin with, as the store's users name them.
        outside: what stands there in the cluster.
    """

    inside: str = ""
    outside: str = ""

    def encoded(self, key: str) -> str:
        """A key as requests have it."""
        return b64encode((self.outside + key.removeprefix(self.inside)).encode()).decode()

    def end(self, prefix: str = "") -> str:
        """The end of the range of all keys, or of those with a prefix."""
        whole = (self.outside + prefix.removeprefix(self.inside)).encode()
        return b64encode(whole[:-1] + bytes((whole[-1] + 1,))).decode() if whole else ALL

    def decoded(self, key: str) -> str | None:
        """A key as it is named inside, None where it lies elsewhere or is no text."""
        try:
            found = b64decode(key).decode()
        except UnicodeDecodeError:
            return None
        return self.inside + found.removeprefix(self.outside) if found.startswith(self.outside) else None


@dataclass(frozen=True, slots=True)
class Access:
    """A cluster.

    Attributes:
        endpoints: URLs of its members.
        credentials: what is shown to them.
        place: where the keys of the store lie.
        compaction: seconds for which the cluster keeps history, 0 where somebody else sees to that.
    """

    endpoints: Sequence[str] = ()
    credentials: Credentials = Credentials()
    place: KeyPrefix = KeyPrefix()
    compaction: float = 0.0
