"""Lists that are sets or maps, and maps that are one value: what a schema must say of their items to be merged.

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
    """What is wrong with the list type, the map type and the keys of one schema.

    Args:
        schema: without those below it.
        atomic_sets: the items of sets must be one value each.
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
    """Is it a set of items that are more than one value?"""
    return schema.get(LIST_TYPE) == "set" and any(_loose_item(schema))


def has_loose_keys(schema: Obj) -> bool:
    """Can items of the list lack their keys?"""
    return any(_loose_keys(schema))


def _map_type(schema: Obj) -> Iterator[FieldError]:
    given = schema.get(MAP_TYPE)
    if given is not None:
        yield from _of_type(schema, "object", MAP_TYPE)
        if given not in _MAP_TYPES:
            yield field.not_supported(MAP_TYPE, given, _MAP_TYPES)


def _list_type(schema: Obj, given: str | None, *, atomic_sets: bool) -> Iterator[FieldError]:
    if given is None:
        return
    if schema.get("type") != "array":
        yield from _of_type(schema, "array", LIST_TYPE)
    elif atomic_sets and given == "set":
        yield from _loose_item(schema)
    if given not in _LIST_TYPES:
        yield field.not_supported(LIST_TYPE, given, _LIST_TYPES)


def _of_type(schema: Obj, needed: str, because: str) -> Iterator[FieldError]:
    given, words = schema.get("type"), f"must be {needed} if {because} is specified"
    if not given:
        yield field.required("type", words)
    elif given != needed:
        yield field.invalid("type", given, words)


def _loose_item(schema: Obj) -> Iterator[FieldError]:
    """An item of a set that is no scalar must be one value, which lists are if they do not say otherwise."""
    items = schema.get("items")
    if not isinstance(items, dict):
        return
    list_type = items.get(LIST_TYPE)
    if items.get("type") == "array" and list_type not in {None, "atomic"}:
        yield field.invalid(f"items.{LIST_TYPE}", list_type, _ITEM_OF_SET)
    if items.get("type") == "object" and items.get(MAP_TYPE) != "atomic":
        yield field.invalid(f"items.{MAP_TYPE}", list_type, _ITEM_OF_SET)  # upstream prints the list type here too


def _keyed(schema: Obj, keys: list[str]) -> Iterator[FieldError]:
    """A list with keys: its items are objects that have them."""
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
            yield field.invalid(f"items.properties[{key}].type", "object", _NEEDS_SCALARS)  # the type of the items
        if key in keys[:index]:
            yield field.invalid(LIST_KEYS, keys, "must not contain duplicate entries")


def _loose_keys(schema: Obj) -> Iterator[FieldError]:
    """What keeps items of a set or a map from having a value, or a value at each key (validateMapListKeysMapSet)."""
    items, list_type = schema.get("items"), schema.get(LIST_TYPE)
    if not isinstance(items, dict) or list_type not in {"map", "set"}:
        return
    if items.get("nullable"):
        yield field.forbidden("items.nullable", f"cannot be nullable when x-kubernetes-list-type is {list_type}")
    if list_type == "set":
        return
    properties, required = items.get("properties") or {}, items.get("required") or ()
    for key in schema.get(LIST_KEYS) or ():
        known = properties.get(key)
        if known is None:
            continue
        if key not in required and "default" not in known:
            yield field.required(f"items.properties[{key}].default", _NEEDS_KEY)
        if known.get("nullable"):
            yield field.forbidden(f"items.properties[{key}].nullable", _NULL_KEY)
