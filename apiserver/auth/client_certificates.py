"""Users of client certificates (apiserver's authentication/request/x509)."""

import hashlib
import ssl
from collections.abc import Callable
from typing import NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from apiserver.api.user import AUTHENTICATED, AuthenticationError, AuthenticatorResponse, User

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
UID_ATTRIBUTE = "1.3.6.1.4.1.57683.2"
"""The attribute of a subject that holds the user's uid."""


class _Holder(NamedTuple):
    """The user of a certificate, None if its subject has no common name, and the time at which it ends."""

    response: AuthenticatorResponse | None
    end: float


class ClientCertificates:
    """The users of the certificates that clients have shown, one for each connection.

    A certificate that cannot be verified does not end the handshake: the connection is noted here, and its requests get
    a 401, as those of other bad credentials do.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        """Store the clock: `now` returns the seconds since 1970."""
        self._now = now
        self._holders: WeakKeyDictionary[ssl.SSLObject, _Holder] = WeakKeyDictionary()
        self._unverified: WeakSet[ssl.SSLObject] = WeakSet()

    def refuse(self, connection: ssl.SSLObject) -> None:
        """Note that the certificate that the client has shown on a connection cannot be verified."""
        self._unverified.add(connection)

    def authenticate(self, connection: ssl.SSLObject) -> AuthenticatorResponse | None:
        """Return the user of the certificate that a client has shown, None if there is none or it names nobody.

        Raises:
            AuthenticationError: it cannot be verified; a good one may also end while the connection lasts.
        """
        holder = self._holders.get(connection)
        if holder is None:
            holder = self._holders[connection] = _holder_of(connection)
        if self._now() > holder.end or connection in self._unverified:
            raise AuthenticationError("x509: the client certificate cannot be verified")
        return holder.response


def _holder_of(connection: ssl.SSLObject) -> _Holder:
    """Return the user named by the common name, in the groups of the organizations (CommonNameUserConversion)."""
    certificate, raw = connection.getpeercert(), connection.getpeercert(binary_form=True)
    if not certificate or raw is None:
        return _Holder(None, float("inf"))
    subject = certificate.get("subject", ())
    attributes = [(str(pair[0]), str(pair[1])) for part in subject if isinstance(part, tuple) for pair in part]
    end = float(ssl.cert_time_to_seconds(str(certificate["notAfter"])))
    names = [value for key, value in attributes if key == "commonName"]
    if not names or not names[-1]:
        return _Holder(None, end)
    groups = tuple(value for key, value in attributes if key == "organizationName")
    uids = [value for key, value in attributes if key == UID_ATTRIBUTE]
    extra: dict[str, tuple[str, ...]] = {CREDENTIAL_ID: (f"X509SHA256={hashlib.sha256(raw).hexdigest()}",)}
    user = User(names[-1], uids[0] if len(uids) == 1 else "", (*groups, AUTHENTICATED), extra)
    return _Holder(AuthenticatorResponse(user), end)
