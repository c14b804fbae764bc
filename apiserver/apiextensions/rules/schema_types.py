"""The types of a schema's values in expressions, and their greatest sizes.

Source: k8s.io/apiserver/pkg/cel/common/schemas.go. Values without a schema (x-kubernetes-preserve-unknown-fields) are
not declared, so rules cannot use them.
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

MAX_REQUEST_BYTES = 3 * 1024 * 1024
"""The greatest size of a request, for cost estimates."""

_NAME_LENGTH = 253
_SCALARS = {"boolean": (BOOL, 4), "number": (DOUBLE, 1), "integer": (INT, 1)}
_FORMATS = {  # format → type, the length of its longest and of its shortest text in JSON
    "duration": (DURATION, 32, 3),
    "date": (TIMESTAMP, 12, 12),
    "date-time": (TIMESTAMP, 32, 21),
}


@dataclass(frozen=True, slots=True)
class DeclType:
    """The declaration of one node of a schema.

    Attributes:
        type: its type.
        fields: the fields of an object: identifier → declaration.
        key, item: the declarations of a map's keys and of a map's or list's items.
        most: the most characters, bytes or items; 0 for types without a length.
        least_bytes: the length of its shortest JSON.
    """

    type: CelType
    fields: Mapping[str, DeclType] = field(default_factory=dict)
    key: DeclType | None = None
    item: DeclType | None = None
    max_elements: int = 0
    least_bytes: int = 0

    def type_at(self, path: tuple[str, ...]) -> DeclType | None:
        """Return the declaration at a path of identifiers, "@items", "@values" and "@keys"; None if there is none."""
        declared: DeclType | None = self
        for step in path:
            if declared is None:
                return None
            if step in ("@items", "@values"):
                declared = declared.item
            else:
                declared = declared.key if step == "@keys" else declared.fields.get(step)
        return declared


_KEY = DeclType(STRING, least_bytes=2)


class Declarations:
    """The declarations of a schema's nodes, each created once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bool], tuple[Obj, DeclType | None]] = {}
        self._structs: dict[str, DeclType] = {}

    def declaration_of(self, schema: Obj, *, is_root: bool, name: str = "") -> DeclType | None:
        """Return the declaration of a node; None if expressions cannot use it.

        Args:
            schema: the node.
            is_root: True if it is a resource, whose metadata.name is declared whatever its schema says.
            name: its type's name in errors; "" for a generated one, which upstream makes from the time.
        """
        cached = self._known.get((id(schema), is_root))
        if cached is None:  # the schema is kept, so that its id cannot be reused
            name = name or f"selfType{len(self._known)}"
            cached = self._known[id(schema), is_root] = schema, self._declared(schema, is_root=is_root, name=name)
        return cached[1]

    def field_type(self, name: str, identifier: str, *, keywords: bool = True) -> CelType | None:
        """Return the type of a struct's field, None if it does not exist; `keywords` allows keywords as field names."""
        structure = self._structs.get(name)
        if structure is None:
            return None
        declared = structure.fields.get(identifier)
        if declared is None and keywords and is_keyword(identifier):
            declared = structure.fields.get(escape(identifier) or "")
        return declared.type if declared else None

    def _declared(self, schema: Obj, *, is_root: bool, name: str) -> DeclType | None:
        if schema.get(INT_OR_STRING):
            longest = schema.get("maxLength")
            return DeclType(
                DYN, max_elements=MAX_REQUEST_BYTES - 2 if longest is None else max(0, longest) * 4, least_bytes=1
            )
        schema = with_metadata(schema) if is_root else schema
        kind = schema.get("type")
        if kind == "array":
            return self._list(schema, name)
        if kind == "object":
            inner = values(schema)
            return self._object(schema, name) if inner is None else self._map(schema, inner, name)
        if kind == "string":
            return _string(schema)
        scalar = _SCALARS.get(kind or "")
        return DeclType(scalar[0], least_bytes=scalar[1]) if scalar else None

    def _list(self, schema: Obj, name: str) -> DeclType | None:
        inner = items(schema)
        item = (
            self.declaration_of(inner, is_root=bool(inner.get(EMBEDDED)), name=f"{name}.@idx")
            if inner is not None
            else None
        )
        if item is None:
            return None
        limit = schema.get("maxItems")
        most = (MAX_REQUEST_BYTES - 2) // (item.least_bytes + 1) if limit is None else max(0, limit)
        return DeclType(list_of(item.type), item=item, max_elements=most, least_bytes=2)

    def _map(self, schema: Obj, inner: Obj, name: str) -> DeclType | None:
        item = self.declaration_of(inner, is_root=bool(inner.get(EMBEDDED)), name=f"{name}.@elem")
        if item is None:
            return None
        limit = schema.get("maxProperties")
        most = (MAX_REQUEST_BYTES - 2) // (item.least_bytes + 6) if limit is None else max(0, limit)
        return DeclType(map_of(STRING, item.type), key=_KEY, item=item, max_elements=most, least_bytes=2)

    def _object(self, schema: Obj, name: str) -> DeclType:
        required = frozenset(schema.get("required") or ())
        fields: dict[str, DeclType] = {}
        least_bytes = 2
        for property_name, inner in properties(schema).items():
            identifier = escape(property_name)
            is_root = bool(inner.get(EMBEDDED))
            declared = self.declaration_of(inner, is_root=is_root, name=f"{name}.{identifier or property_name}")
            if declared is None:
                continue
            if identifier is not None:
                fields[identifier] = declared
            if property_name in required and inner.get("default") is None:
                least_bytes += len(property_name.encode()) + declared.least_bytes + 4
        declaration = self._structs[name] = DeclType(struct(name), fields, least_bytes=least_bytes)
        return declaration


def _string(schema: Obj) -> DeclType:
    longest = schema.get("maxLength")
    form = schema.get("format")
    if form in _FORMATS:
        kind, most, least = _FORMATS[form]
        return DeclType(kind, max_elements=most, least_bytes=least)
    if form == "byte":
        return DeclType(
            BYTES, max_elements=MAX_REQUEST_BYTES - 2 if longest is None else max(0, longest), least_bytes=2
        )
    if longest is not None:
        most = max(0, longest) * 4  # maxLength counts characters of up to four bytes
    elif schema.get("enum"):
        most = max((len(value.encode()) for value in schema["enum"] if isinstance(value, str)), default=0)
    else:
        most = MAX_REQUEST_BYTES - 2
    return DeclType(STRING, max_elements=most, least_bytes=2)


def with_metadata(schema: Obj) -> Obj:
    """Return the schema of a resource, with the metadata that rules may use of any resource (WithTypeAndObjectMeta)."""
    fields = properties(schema)
    metadata: Mapping[str, Any] = properties(fields.get("metadata") or {})
    is_typed = (
        _is(fields, "kind", "string") and _is(fields, "apiVersion", "string") and _is(fields, "metadata", "object")
    )
    if is_typed and _is(metadata, "name", "string") and _is(metadata, "generateName", "string"):
        return schema
    text: Obj = {"type": "string"}
    named = {"name": _capped(metadata, "name", _NAME_LENGTH), "generateName": _capped(metadata, "generateName", 252)}
    added = {"kind": text, "apiVersion": text, "metadata": {"type": "object", "properties": named}}
    return {**schema, "properties": {**fields, **added}}


def _is(fields: Mapping[str, Any], name: str, kind: str) -> bool:
    return bool(fields.get(name)) and fields[name].get("type") == kind


def _capped(fields: Mapping[str, Any], name: str, longest: int) -> Obj:
    own = (fields.get(name) or {}).get("maxLength")
    return {"type": "string", "maxLength": longest if own is None else min(own, longest)}
