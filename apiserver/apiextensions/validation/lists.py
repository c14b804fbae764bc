"""Validation of list types, list keys and map types in a schema, which server-side apply merges by.

The rules are those of apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, in its order.
"""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import LIST_KEYS, LIST_TYPE, MAP_TYPE
from apiserver.apiextensions.validation.internal import printed_items

_LIST_TYPES, _MAP_TYPES = ("atomic", "set", "map"), ("atomic", "granular")
_ITEM_OF_SET = "must be atomic as item of a list with x-kubernetes-list-type=set"
_NEEDS_MAP = "must be map if x-kubernetes-list-map-keys is non-empty"
_NEEDS_ITEMS = "must have a schema if x-kubernetes-list-type is map"
_NEEDS_ONE = "must only have a single schema if x-kubernetes-list-type is map"
_NEEDS_OBJECTS = "must be object if parent array's x-kubernetes-list-type is map"
_NEEDS_SCALARS = "must be a scalar type if parent array's x-kubernetes-list-type is map"
_NEEDS_KEYS = "must not be empty if x-kubernetes-list-type is map"
_NEEDS_KEY = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
_NULL_KEY = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"


def merge_errors(schema: Obj, *, atomic_sets: bool, sound_keys: bool) -> Iterator[FieldError]:
    """Yield the errors of the list type, the map type and the list keys of one schema.

    Args:
        schema: the schema, whose subschemas are not validated.
        atomic_sets: the items of sets must be atomic.
        sound_keys: every item must have its keys.
    """
    list_type, keys = schema.get(LIST_TYPE), schema.get(LIST_KEYS) or []
    yield from _map_type(schema)
    yield from _list_type(schema, list_type, atomic_sets=atomic_sets)
    if keys and list_type is None:
        yield field.required(LIST_TYPE, _NEEDS_MAP)
    elif keys and list_type != "map":
        yield field.invalid(LIST_TYPE, list_type, _NEEDS_MAP)
    if list_type == "map":
        yield from _keyed(schema, keys)
    if sound_keys:
        yield from _loose_keys(schema)


def has_loose_set(schema: Obj) -> bool:
    """Return True if it is a set whose items are not atomic."""
    return schema.get(LIST_TYPE) == "set" and any(_loose_item(schema))


def has_loose_keys(schema: Obj) -> bool:
    """Return True if items of the list can lack their keys."""
    return any(_loose_keys(schema))


def _map_type(schema: Obj) -> Iterator[FieldError]:
    map_type = schema.get(MAP_TYPE)
    if map_type is not None:
        yield from _of_type(schema, "object", MAP_TYPE)
        if map_type not in _MAP_TYPES:
            yield field.not_supported(MAP_TYPE, map_type, _MAP_TYPES)


def _list_type(schema: Obj, list_type: str | None, *, atomic_sets: bool) -> Iterator[FieldError]:
    if list_type is None:
        return
    if schema.get("type") != "array":
        yield from _of_type(schema, "array", LIST_TYPE)
    elif atomic_sets and list_type == "set":
        yield from _loose_item(schema)
    if list_type not in _LIST_TYPES:
        yield field.not_supported(LIST_TYPE, list_type, _LIST_TYPES)


def _of_type(schema: Obj, needed: str, because: str) -> Iterator[FieldError]:
    kind, message = schema.get("type"), f"must be {needed} if {because} is specified"
    if not kind:
        yield field.required("type", message)
    elif kind != needed:
        yield field.invalid("type", kind, message)


def _loose_item(schema: Obj) -> Iterator[FieldError]:
    """Require that the items of a set are atomic, as scalars and, by default, lists are."""
    items = schema.get("items")
    if not isinstance(items, dict):
        return
    list_type = items.get(LIST_TYPE)
    if items.get("type") == "array" and list_type not in {None, "atomic"}:
        yield field.invalid(f"items.{LIST_TYPE}", list_type, _ITEM_OF_SET)
    if items.get("type") == "object" and items.get(MAP_TYPE) != "atomic":
        yield field.invalid(f"items.{MAP_TYPE}", list_type, _ITEM_OF_SET)  # upstream prints the list type here too


def _keyed(schema: Obj, keys: list[str]) -> Iterator[FieldError]:
    """Require that the items of a list with keys are objects with these keys."""
    items = schema.get("items")
    if not keys:
        yield field.required(LIST_KEYS, _NEEDS_KEYS)
    if items is None:
        yield field.required("items", _NEEDS_ITEMS)
    elif isinstance(items, list):
        yield field.invalid("items", printed_items(items), _NEEDS_ONE)
    elif items.get("type") != "object":
        yield field.invalid("items.type", items.get("type") or "", _NEEDS_OBJECTS)
    else:
        yield from _keys_of(items, keys)


def _keys_of(items: Obj, keys: list[str]) -> Iterator[FieldError]:
    properties = items.get("properties") or {}
    for index, key in enumerate(keys):
        if key not in properties:
            yield field.invalid(LIST_KEYS, keys, "entries must all be names of item properties")
        elif properties[key].get("type") in {"array", "object"}:
            # upstream prints the type of the items, not of the key
            yield field.invalid(f"items.properties[{key}].type", "object", _NEEDS_SCALARS)
        if key in keys[:index]:
            yield field.invalid(LIST_KEYS, keys, "must not contain duplicate entries")


def _loose_keys(schema: Obj) -> Iterator[FieldError]:
    """Yield an error for each item or key of a set or map that may be null or absent (validateMapListKeysMapSet)."""
    items, list_type = schema.get("items"), schema.get(LIST_TYPE)
    if not isinstance(items, dict) or list_type not in {"map", "set"}:
        return
    if items.get("nullable"):
        yield field.forbidden("items.nullable", f"cannot be nullable when x-kubernetes-list-type is {list_type}")
    if list_type == "set":
        return
    properties, required = items.get("properties") or {}, items.get("required") or ()
    for key in schema.get(LIST_KEYS) or ():
        key_schema = properties.get(key)
        if key_schema is None:
            continue
        if key not in required and "default" not in key_schema:
            yield field.required(f"items.properties[{key}].default", _NEEDS_KEY)
        if key_schema.get("nullable"):
            yield field.forbidden(f"items.properties[{key}].nullable", _NULL_KEY)
