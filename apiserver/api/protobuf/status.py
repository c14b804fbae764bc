"""A Status in protobuf: the only object in protobuf responses, for clients that prefer protobuf to JSON."""

from apiserver.api.meta import Obj
from apiserver.api.protobuf.envelope import MAGIC
from apiserver.api.protobuf.wire import VARINT, encode_field, encode_varint


def encode_status(status: Obj) -> bytes:
    """Return a Status in the envelope of Kubernetes (runtime.Unknown).

    Go's code writes a text or number even if it is empty, since the fields of the message are no pointers.
    """
    kind = _text(1, status["apiVersion"]) + _text(2, status["kind"])
    return MAGIC + encode_field(1, kind) + encode_field(2, _message(status)) + _text(3, "") + _text(4, "")


def _message(status: Obj) -> bytes:
    details = status.get("details")
    return b"".join(
        (
            encode_field(1, _list_meta(status.get("metadata") or {})),
            _text(2, status.get("status")),
            _text(3, status.get("message")),
            _text(4, status.get("reason")),
            b"" if details is None else encode_field(5, _details(details)),
            _number(6, status.get("code")),
        )
    )


def _list_meta(metadata: Obj) -> bytes:
    remaining = metadata.get("remainingItemCount")
    texts = (
        _text(number, metadata.get(name)) for number, name in enumerate(("selfLink", "resourceVersion", "continue"), 1)
    )
    return b"".join(texts) + (b"" if remaining is None else _number(4, remaining))


def _details(details: Obj) -> bytes:
    return b"".join(
        (
            _text(1, details.get("name")),
            _text(2, details.get("group")),
            _text(3, details.get("kind")),
            *(encode_field(4, _cause(cause)) for cause in details.get("causes") or ()),
            _number(5, details.get("retryAfterSeconds")),
            _text(6, details.get("uid")),
        )
    )


def _cause(cause: Obj) -> bytes:
    return _text(1, cause.get("reason")) + _text(2, cause.get("message")) + _text(3, cause.get("field"))


def _text(number: int, text: str | None) -> bytes:
    return encode_field(number, (text or "").encode())


def _number(number: int, value: int | None) -> bytes:
    return encode_varint(number << 3 | VARINT) + encode_varint(value or 0)
