"""The envelope of a protobuf body: four bytes of magic, then the kind and the message (runtime.Unknown)."""

from apiserver.api.meta import Obj
from apiserver.api.protobuf.messages import Field, load_messages, read
from apiserver.api.protobuf.wire import LENGTH, MalformedError

MAGIC = b"k8s\x00"


def _keep(obj: Obj, name: str, value: object) -> None:
    obj[name] = value


_TYPE_META = {1: Field("apiVersion", LENGTH, bytes.decode, _keep), 2: Field("kind", LENGTH, bytes.decode, _keep)}
_UNKNOWN = {
    1: Field("type", LENGTH, lambda data: read(_TYPE_META, data), _keep),
    2: Field("raw", LENGTH, bytes, _keep),
}


def read_object(body: bytes, kind: str) -> Obj:
    """Return the object in a protobuf body, as the same client would have sent it in JSON.

    Args:
        body: the bytes.
        kind: the kind that the path expects, used if the envelope names none.

    Raises:
        MalformedError: the bytes are no such object.
    """
    if not body.startswith(MAGIC):
        raise MalformedError(
            f"provided data does not appear to be a protobuf message, expected prefix [{' '.join(map(str, MAGIC))}]"
        )
    try:
        unknown = read(_UNKNOWN, body[len(MAGIC) :])
    except UnicodeDecodeError as error:
        raise MalformedError("the kind is no text") from error
    type_meta: Obj = unknown.get("type", {})
    api_version, kind = type_meta.get("apiVersion", ""), type_meta.get("kind") or kind
    reader = load_messages().reader(api_version, kind)
    if reader is None:
        raise MalformedError(f'no kind "{kind}" is registered for version "{api_version}"')
    obj: Obj = reader(unknown.get("raw", b""))
    return {"kind": kind, "apiVersion": api_version} | obj
