"""TLS handshakes that go on with a client certificate that cannot be verified, so that its owner gets a 401.

Python's ssl ends such a handshake, and the client sees a broken connection. OpenSSL leaves the decision to a callback,
which ssl does not offer, so it is set by ctypes on the very context that ssl has made:

    handshake, good certificate     OpenSSL verifies it; the callback agrees
    handshake, other certificate    OpenSSL says no; the callback notes the connection, and lets the handshake go on
    each request                    a connection that was noted gets 401, as from kube-apiserver

Sessions are not resumed, since a resumed handshake verifies nothing and would not be noted. Where OpenSSL cannot be
reached in this way, as in a Python that hides its symbols, handshakes end as ssl ends them.
"""

import _ssl
import ctypes
import ssl
import sys
from collections.abc import Callable
from typing import Any

_VERIFY_PEER = 1
_SESSION_CACHE_OFF = 0
_SET_SESSION_CACHE_MODE = 44
_APP_DATA = 0
"""The index at which _ssl stores its own object with OpenSSL's (SSL_set_app_data)."""

_Verify = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)


def accept_unverified(context: ssl.SSLContext, refuse: Callable[[ssl.SSLObject], None]) -> bool:
    """Let handshakes go on whose client certificate cannot be verified.

    Args:
        context: a server's context that asks for client certificates (CERT_OPTIONAL); it must outlive `refuse`.
        refuse: is called with each connection whose certificate cannot be verified.

    Returns:
        False if this Python does not allow it; nothing has changed then.
    """
    library = _openssl()
    if library is None or context.verify_mode is not ssl.CERT_OPTIONAL:
        return False
    # the first field of _ssl's object (PySSLContext), in all versions of CPython
    pointer = ctypes.c_void_p.from_address(id(context) + object.__basicsize__)
    if library.SSL_CTX_get_verify_mode(pointer) != _VERIFY_PEER:
        return False
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    library.SSL_CTX_ctrl(pointer, _SET_SESSION_CACHE_MODE, _SESSION_CACHE_OFF, None)
    callback = _callback(library, refuse)
    library.SSL_CTX_set_verify(pointer, _VERIFY_PEER, callback)
    vars(context)["verify_callback"] = callback  # OpenSSL calls it as long as the context exists
    return True


def _callback(library: Any, refuse: Callable[[ssl.SSLObject], None]) -> Any:
    """Return OpenSSL's verify_callback: it is called for each certificate of a chain, with 1 if that is good."""
    index = library.SSL_get_ex_data_X509_STORE_CTX_idx()

    def verify(is_good: int, store: int) -> int:
        if is_good:
            return 1
        try:
            connection = library.SSL_get_ex_data(library.X509_STORE_CTX_get_ex_data(store, index), _APP_DATA)
            refuse(ctypes.cast(connection, ctypes.py_object).value.owner)
        except Exception:  # noqa: BLE001 - an error must end the handshake, and not get lost in C
            return 0
        return 1

    return _Verify(verify)


def _openssl() -> Any:
    """Return the OpenSSL that ssl uses, None if its functions cannot be reached."""
    if sys.implementation.name != "cpython":
        return None
    try:
        library = ctypes.CDLL(getattr(_ssl, "__file__", None))
        for name, result, arguments in (
            ("SSL_CTX_get_verify_mode", ctypes.c_int, (ctypes.c_void_p,)),
            ("SSL_CTX_set_verify", None, (ctypes.c_void_p, ctypes.c_int, _Verify)),
            ("SSL_CTX_ctrl", ctypes.c_long, (ctypes.c_void_p, ctypes.c_int, ctypes.c_long, ctypes.c_void_p)),
            ("SSL_get_ex_data_X509_STORE_CTX_idx", ctypes.c_int, ()),
            ("X509_STORE_CTX_get_ex_data", ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_int)),
            ("SSL_get_ex_data", ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_int)),
        ):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError):
        return None
    return library
