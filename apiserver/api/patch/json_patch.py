"""JSON patch (RFC 6902) as kube-apiserver applies it (github.com/evanphx/json-patch v4, patch.go of apiserver)."""

from collections.abc import Callable
from typing import Any

import orjson

from apiserver.api.errors import ApiError, bad_request, too_large
from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj
from apiserver.api.schema import may_repeat_fields
from apiserver.api.schema.strict import ANYTHING, decode_errors
from apiserver.api.schema.type_decoders import List, Scalar, Struct
from apiserver.api.schema.values import read_anything, read_string

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
"""The most bytes that all copy operations of a patch may add (JSONPatchMaxCopyBytes of the server's options)."""

_GO_NAMES = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


class PatchError(Exception):
    """An operation does not apply, or a test fails; the message is the library's. Users only see that there is one."""


class _MissingPathError(Exception):
    """A pointer leads to nothing, or through something that has no parts (findObject returns nil)."""


class _BadPartError(Exception):
    """The last part of a pointer is no key or index of its container; the message is the library's."""


def rejected_patch() -> ApiError:
    """Return 422: an operation does not apply, or a test fails; upstream hides which (NewGenericServerResponse)."""
    message = "the server rejected our request due to an error in our request"
    return ApiError(422, "Invalid", message, details={})


def apply(doc: Obj, patch: Any, *, raw: bytes = b"") -> Any:
    """Return the document with all operations applied in order; the document itself stays as it is.

    Args:
        doc: the object in the version of the request.
        patch: the decoded body: a list of operations.
        raw: the body as bytes, for tests that depend on how its texts are written.

    Returns:
        The new document; it is a list if the patch replaces the whole document by one.

    Raises:
        ApiError: 400 if the body is no patch, 413 if it has too many operations, 422 if one does not apply.
    """
    operations = operations_of(patch)
    if len(operations) > MAX_OPERATIONS:
        raise too_large(f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}")
    try:
        return apply_operations(doc, operations, raw=raw)
    except PatchError:
        raise rejected_patch() from None


def apply_operations(doc: Obj, operations: list[Obj], *, raw: bytes = b"") -> Any:
    """Return the document with all operations applied in order; see `apply`.

    Raises:
        PatchError: an operation does not apply.
    """
    document = _Document(doc, raw)
    try:
        for operation in operations:
            _OPERATIONS.get(operation.get("op"), _unknown)(document, operation)
    except (RecursionError, orjson.JSONEncodeError) as error:  # nested too deep to compare or copy
        raise PatchError(str(error)) from error
    return document.root


def operations_of(patch: Any) -> list[Obj]:
    """Return the operations of a decoded patch.

    Raises:
        ApiError: 400, it is not a list of objects.
    """
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise _undecodable(patch, "jsonpatch.Patch")
    for operation in patch:
        if not isinstance(operation, dict | None):
            raise _undecodable(operation, "jsonpatch.Operation")
    return [operation or {} for operation in patch]


def _undecodable(value: Any, target: str) -> ApiError:
    return bad_request(f"json: cannot unmarshal {_GO_NAMES[type(value)]} into Go value of type {target}")


def keys_of(pointer: str) -> list[str]:
    """Return the keys and indices that a pointer names."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


class _Document:
    """A document that copies a container before it first changes it, so that the original stays as it is."""

    def __init__(self, root: Any, raw: bytes) -> None:
        """Hold a document, and the text of the patch."""
        self.root = root
        self.raw = raw
        self.copied_bytes = 0
        self._own: dict[int, Any] = {}  # id → a container that was copied; the references keep the ids in use

    def _owned(self, container: Any) -> Any:
        if id(container) in self._own:
            return container
        copy = container.copy()
        self._own[id(copy)] = copy
        return copy

    def container(self, pointer: str, *, change: bool) -> tuple[Any, str]:
        """Return the container that the pointer's last part lies in, copied if it is to change, and that part.

        Raises:
            _MissingPathError: there is no such container.
        """
        parts = keys_of(pointer)
        if not parts or not isinstance(self.root, dict | list):
            raise _MissingPathError
        if change:
            self.root = self._owned(self.root)
        container = self.root
        for part in parts[:-1]:
            try:
                child = get(container, part)
            except _BadPartError:
                raise _MissingPathError from None
            if not isinstance(child, dict | list):
                raise _MissingPathError
            if change:
                child = container[_index(container, part)] = self._owned(child)
            container = child
        return container, parts[-1]


def _index(container: Any, part: str) -> Any:
    """Return the part as a key or an index of the container; an index may count from the end."""
    if isinstance(container, dict):
        if part not in container:
            raise _BadPartError(f"Unable to remove nonexistent key: {part}: missing value")
        return part
    return _number(part, len(container))


def _number(part: str, length: int) -> int:
    digits = part[1:] if part[:1] in {"+", "-"} else part
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        raise _BadPartError(f"strconv.Atoi: parsing {quoted(part)}: invalid syntax")
    index = int(part)
    if not -length <= index < length:
        raise _BadPartError(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + length if index < 0 else index


def get(container: Any, part: str) -> Any:
    """Return the child at a part of a pointer; a missing field of an object reads as null (partialDoc.get)."""
    return container.get(part) if isinstance(container, dict) else container[_index(container, part)]


def _pointer(operation: Obj, name: str) -> str:
    pointer = operation.get(name)
    if not isinstance(pointer, str):
        raise PatchError(f"{operation.get('op')} operation failed to decode {name}: missing value")
    return pointer


def _insert(container: Any, part: str, value: Any) -> None:
    if isinstance(container, dict):
        container[part] = value
    elif part == "-":
        container.append(value)
    else:
        try:
            index = _number(part, len(container) + 1)
        except _BadPartError as error:
            improper = f"value was not a proper array index: '{part}': " if "Atoi" in str(error) else ""
            raise _BadPartError(f"{improper}{error}") from None
        container.insert(index, value)


def _add(document: _Document, operation: Obj) -> None:
    pointer = _pointer(operation, "path")
    try:
        _insert(*document.container(pointer, change=True), operation.get("value"))
    except _MissingPathError:
        raise PatchError(f'add operation does not apply: doc is missing path: "{pointer}": missing value') from None
    except _BadPartError as error:
        raise PatchError(f"error in add for path: '{pointer}': {error}") from None


def _remove(document: _Document, operation: Obj) -> None:
    pointer = _pointer(operation, "path")
    try:
        container, part = document.container(pointer, change=True)
        del container[_index(container, part)]
    except _MissingPathError:
        raise PatchError(f'remove operation does not apply: doc is missing path: "{pointer}": missing value') from None
    except _BadPartError as error:
        raise PatchError(f"error in remove for path: '{pointer}': {error}") from None


def _replace(document: _Document, operation: Obj) -> None:
    pointer, value = _pointer(operation, "path"), operation.get("value")
    if not pointer:
        if not isinstance(value, dict | list):
            raise PatchError("replace operation value must be object or array: %!w(<nil>)")
        document.root = value
        return
    try:
        container, part = document.container(pointer, change=True)
        if isinstance(container, dict):  # a missing field is added: only items of lists have to exist
            container[part] = value
        else:
            container[_index(container, part)] = value
    except _MissingPathError:
        raise PatchError(f"replace operation does not apply: doc is missing path: {pointer}: missing value") from None
    except _BadPartError:
        raise PatchError(f"replace operation does not apply: doc is missing key: {pointer}: missing value") from None


def _move(document: _Document, operation: Obj) -> None:
    source = _pointer(operation, "from")
    try:
        container, part = document.container(source, change=True)
    except _MissingPathError:
        raise PatchError(f"move operation does not apply: doc is missing from path: {source}: missing value") from None
    try:
        value = container.pop(_index(container, part))
    except _BadPartError as error:
        raise PatchError(f"error in move for path: '{part}': {error}") from None
    _insert_moved(document, _pointer(operation, "path"), value, "move", "error in move for path: '{}'")


def _insert_moved(document: _Document, pointer: str, value: Any, operation: str, failure: str) -> None:
    """Insert the value of a move or a copy."""
    try:
        _insert(*document.container(pointer, change=True), value)
    except _MissingPathError:
        message = f"{operation} operation does not apply: doc is missing destination path: {pointer}: missing value"
        raise PatchError(message) from None
    except _BadPartError as error:
        raise PatchError(f"{failure.format(pointer)}: {error}") from None


def _copy(document: _Document, operation: Obj) -> None:
    source = _pointer(operation, "from")
    try:
        value = get(*document.container(source, change=False))
    except _MissingPathError:
        raise PatchError(f"copy operation does not apply: doc is missing from path: {source}: missing value") from None
    except _BadPartError as error:
        raise PatchError(f"error in copy for from: '{source}': {error}") from None
    frozen = orjson.dumps(value)  # each of the two values may be changed later on
    document.copied_bytes += 0 if value is None else len(frozen)
    if document.copied_bytes > MAX_COPIED_BYTES:
        raise PatchError(
            f"Unable to complete the copy, the accumulated size increase of copy is {document.copied_bytes}, "
            f"exceeding the limit {MAX_COPIED_BYTES}"
        )
    failure = "error while adding value during copy"
    _insert_moved(document, _pointer(operation, "path"), orjson.loads(frozen), "copy", failure)


def _test(document: _Document, operation: Obj) -> None:
    pointer = _pointer(operation, "path")
    try:
        actual = get(*document.container(pointer, change=False)) if pointer else document.root
    except _MissingPathError:
        raise PatchError(f"test operation does not apply: is missing path: {pointer}: missing value") from None
    except _BadPartError as error:
        raise PatchError(f"error in test for path: '{pointer}': {error}") from None
    value = operation.get("value")
    if not _equal(actual, value) or (_has_markup(document.raw) and _has_markup(orjson.dumps(value))):
        raise PatchError(f"testing value {pointer} failed: test failed")


def _has_markup(text: bytes) -> bool:
    """Return whether a JSON text has one of the characters that encoding/json writes as escapes.

    Upstream compares the encoded texts, and those of the object are encoded by Go: such a test always fails.
    """
    return any(character in text for character in _MARKUP)


_MARKUP = (b"<", b">", b"&", "\u2028".encode(), "\u2029".encode())


def _equal(left: Any, right: Any) -> bool:
    """Return whether both are the same JSON; in Python alone True equals 1."""
    return left == right and orjson.dumps(left, option=_SORTED) == orjson.dumps(right, option=_SORTED)


_SORTED = orjson.OPT_SORT_KEYS


def _unknown(_document: _Document, operation: Obj) -> None:
    kind = operation.get("op")
    raise PatchError(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")


_OPERATIONS: dict[Any, Callable[[_Document, Obj], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


_TEXTS = frozenset(("op", "path", "from"))
_FIELDS = _TEXTS | {"value"}


def decoding_errors(raw: bytes, body: Any) -> list[str]:
    """Return the unknown and the repeated fields of the operations of a JSON patch, in the order of the body.

    Args:
        raw: the body.
        body: the parsed body.

    Raises:
        DecodeError: the body is not a list of operations.
    """
    if _is_plain(body) and not may_repeat_fields(raw, body):
        return []
    text = Scalar("string", read_string, "")
    operation = Struct("handlers.jsonPatchOp", {**dict.fromkeys(_TEXTS, text), "value": ANYTHING})
    return decode_errors(List("[]handlers.jsonPatchOp", operation, read_anything), raw)


def _is_plain(body: Any) -> bool:
    """Return whether all operations have only known fields, of the right types."""
    return isinstance(body, list) and all(
        isinstance(operation, dict)
        and operation.keys() <= _FIELDS
        and all(isinstance(operation.get(name, ""), str) for name in _TEXTS)
        for operation in body
    )
