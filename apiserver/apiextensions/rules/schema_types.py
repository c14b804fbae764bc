"""What a schema declares: the types of its values in expressions, and how large they may be.

Source: k8s.io/apiserver/pkg/cel/common/schemas.go. What has no schema of its own (x-kubernetes-preserve-unknown-fields)
is not declared, so rules cannot reach it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import EMBEDDED, INT_OR_STRING, items, properties, values
from apiserver.apiextensions.rules.escaping import escape, is_keyword
from apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    CelType,
    list_of,
    map_of,
    struct,
)

MOST_BYTES = 3 * 1024 * 1024
"""The size of a request, as far as costs are concerned."""

_NAME_LENGTH = 253
_SCALARS = {"boolean": (BOOL, 4), "number": (DOUBLE, 1), "integer": (INT, 1)}
_FORMATS = {  # format → type, the longest and the shortest text of it in JSON
    "duration": (DURATION, 32, 3),
    "date": (TIMESTAMP, 12, 12),
    "date-time": (TIMESTAMP, 32, 21),
}


@dataclass(frozen=True, slots=True)
class Declared:
    """The declaration of one node of a schema.

    Attributes:
        type: its type.
        fields: of an object: identifier → declaration.
        key, item: of a map or list.
        most: how many characters, bytes or items it may have; 0 for what has none.
        least_bytes: how short it may be in JSON.
    """

    type: CelType
    fields: Mapping[str, Declared] = field(default_factory=dict)
    key: Declared | None = None
    item: Declared | None = None
    most: int = 0
    least_bytes: int = 0

    def at(self, path: tuple[str, ...]) -> Declared | None:
        """The declaration of what stands at a path of identifiers, "@items", "@values" and "@keys"."""
        found: Declared | None = self
        for step in path:
            if found is None:
                return None
            if step in ("@items", "@values"):
                found = found.item
            else:
                found = found.key if step == "@keys" else found.fields.get(step)
        return found


_KEY = Declared(STRING, least_bytes=2)


class Declarations:
    """The declarations of a schema's nodes, each made once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bool], tuple[Obj, Declared | None]] = {}
        self._structs: dict[str, Declared] = {}

    def of(self, schema: Obj, *, is_root: bool, name: str = "") -> Declared | None:
        """The declaration of a node, None where expressions know nothing of it.

        Args:
            schema: the node.
            is_root: whether it is a resource, whose metadata.name is known whatever its schema says.
            name: what errors call its type; "" for a name of its own, which upstream makes of the time.
        """
        known = self._known.get((id(schema), is_root))
        if known is None:  # the schema is kept, so that no other can get its id
            name = name or f"selfType{len(self._known)}"
            known = self._known[id(schema), is_root] = schema, self._declared(schema, is_root=is_root, name=name)
        return known[1]

    def field_type(self, name: str, identifier: str, *, keywords: bool = True) -> CelType | None:
        """The type of a struct's field, None where there is no such field; some may be called as `keywords` are."""
        found = self._structs.get(name)
        if found is None:
            return None
        declared = found.fields.get(identifier)
        if declared is None and keywords and is_keyword(identifier):
            declared = found.fields.get(escape(identifier) or "")
        return declared.type if declared else None

    def _declared(self, schema: Obj, *, is_root: bool, name: str) -> Declared | None:
        if schema.get(INT_OR_STRING):
            longest = schema.get("maxLength")
            return Declared(DYN, most=MOST_BYTES - 2 if longest is None else max(0, longest) * 4, least_bytes=1)
        schema = with_metadata(schema) if is_root else schema
        kind = schema.get("type")
        if kind == "array":
            return self._list(schema, name)
        if kind == "object":
            inner = values(schema)
            return self._object(schema, name) if inner is None else self._map(schema, inner, name)
        if kind == "string":
            return _string(schema)
        found = _SCALARS.get(kind or "")
        return Declared(found[0], least_bytes=found[1]) if found else None

    def _list(self, schema: Obj, name: str) -> Declared | None:
        inner = items(schema)
        item = self.of(inner, is_root=bool(inner.get(EMBEDDED)), name=f"{name}.@idx") if inner is not None else None
        if item is None:
            return None
        limit = schema.get("maxItems")
        most = (MOST_BYTES - 2) // (item.least_bytes + 1) if limit is None else max(0, limit)
        return Declared(list_of(item.type), item=item, most=most, least_bytes=2)

    def _map(self, schema: Obj, inner: Obj, name: str) -> Declared | None:
        item = self.of(inner, is_root=bool(inner.get(EMBEDDED)), name=f"{name}.@elem")
        if item is None:
            return None
        limit = schema.get("maxProperties")
        most = (MOST_BYTES - 2) // (item.least_bytes + 6) if limit is None else max(0, limit)
        return Declared(map_of(STRING, item.type), key=_KEY, item=item, most=most, least_bytes=2)

    def _object(self, schema: Obj, name: str) -> Declared:
        required = frozenset(schema.get("required") or ())
        fields: dict[str, Declared] = {}
        least_bytes = 2
        for property_name, inner in properties(schema).items():
            identifier = escape(property_name)
            is_root = bool(inner.get(EMBEDDED))
            declared = self.of(inner, is_root=is_root, name=f"{name}.{identifier or property_name}")
            if declared is None:
                continue
            if identifier is not None:
                fields[identifier] = declared
            if property_name in required and inner.get("default") is None:
                least_bytes += len(property_name.encode()) + declared.least_bytes + 4
        found = self._structs[name] = Declared(struct(name), fields, least_bytes=least_bytes)
        return found


def _string(schema: Obj) -> Declared:
    longest = schema.get("maxLength")
    form = schema.get("format")
    if form in _FORMATS:
        kind, most, least = _FORMATS[form]
        return Declared(kind, most=most, least_bytes=least)
    if form == "byte":
        return Declared(BYTES, most=MOST_BYTES - 2 if longest is None else max(0, longest), least_bytes=2)
    if longest is not None:
        most = max(0, longest) * 4  # maxLength counts characters, of which each may have four bytes
    elif schema.get("enum"):
        most = max((len(value.encode()) for value in schema["enum"] if isinstance(value, str)), default=0)
    else:
        most = MOST_BYTES - 2
    return Declared(STRING, most=most, least_bytes=2)


def with_metadata(schema: Obj) -> Obj:
    """The schema of a resource, with the metadata that rules may use of every resource (WithTypeAndObjectMeta)."""
    known = properties(schema)
    metadata: Mapping[str, Any] = properties(known.get("metadata") or {})
    is_typed = _is(known, "kind", "string") and _is(known, "apiVersion", "string") and _is(known, "metadata", "object")
    if is_typed and _is(metadata, "name", "string") and _is(metadata, "generateName", "string"):
        return schema
    text: Obj = {"type": "string"}
    named = {"name": _capped(metadata, "name", _NAME_LENGTH), "generateName": _capped(metadata, "generateName", 252)}
    added = {"kind": text, "apiVersion": text, "metadata": {"type": "object", "properties": named}}
    return {**schema, "properties": {**known, **added}}


def _is(fields: Mapping[str, Any], name: str, kind: str) -> bool:
    return bool(fields.get(name)) and fields[name].get("type") == kind


def _capped(fields: Mapping[str, Any], name: str, longest: int) -> Obj:
    own = (fields.get(name) or {}).get("maxLength")
    return {"type": "string", "maxLength": longest if own is None else min(own, longest)}
