"""Strategic merge patch: objects merge, lists merge by key where the type says so (strategicpatch/patch.go).

Directives stand among the fields of a patch: `$patch` replaces or deletes what it stands in, `$retainKeys` names the
fields of an object that stay, `$deleteFromPrimitiveList/f` takes scalars out of the list f, `$setElementOrder/f` gives
the order of its items. Nothing given is changed; what does not change is shared.

For example, containers merge by their key `name`:

    object   [{name: web, image: nginx:1, env: [{name: A, value: x}]}, {name: log, image: fluentd}]
    patch    [{name: log, $patch: delete}, {name: web, image: nginx:2}, {name: new, image: busybox}]
    result   [{name: web, image: nginx:2, env: [{name: A, value: x}]}, {name: new, image: busybox}]
"""

from collections.abc import Iterable
from typing import Any

from apiserver.api.errors import ApiError, bad_request
from apiserver.api.golang.values import go_text
from apiserver.api.meta import Obj
from apiserver.api.patch.json_patch import rejected
from apiserver.api.patch.merge_patch import TOO_DEEP
from apiserver.api.patch.merge_schema import MergeField, MergeKind, failed

_PATCH, _RETAIN = "$patch", "$retainKeys"
_DELETE_FROM, _ORDER = "$deleteFromPrimitiveList", "$setElementOrder"
_BAD_DELETION = "invalid patch format of primitive list"
_BAD_RETAIN = "invalid patch format of retainKeys"
_BAD_ORDER = "invalid patch format of setElementOrder list"
_GO_TYPES = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    int: "int64",
    float: "float64",
    bool: "bool",
    type(None): "%!s(<nil>)",
}


def apply(doc: Obj, patch: Any, kind: MergeKind) -> Obj:
    """The document merged with the patch.

    Args:
        doc: the object as clients see it in this version; it stays as it is.
        patch: the decoded body.
        kind: the object's kind.

    Raises:
        ApiError: 400 or 422 where the patch is malformed, 500 where it does not fit the type, as upstream answers.
    """
    if patch is None:
        return doc
    if not isinstance(patch, dict):
        kinds = {list: "array", str: "string", bool: "bool"}
        told = kinds.get(type(patch), "number")
        raise bad_request(f"json: cannot unmarshal {told} into Go value of type map[string]interface {{}}")
    try:
        return _merged_map(doc, patch, kind)
    except RecursionError:
        raise bad_request(TOO_DEEP) from None


def _no_merge_key(item: Obj, key: str) -> ApiError:
    return failed(f"map: {go_text(item)} does not contain declared merge key: {key}")


def _bad_type(expected: type, actual: Any) -> ApiError:
    return failed(f"expected a {_GO_TYPES[expected]}, but received a {_GO_TYPES[type(actual)]}")


def _merged_map(original: Obj, patch: Obj, kind: MergeKind) -> Obj:
    if _PATCH in patch:
        return _directed(patch)
    merged = _retained(original, patch) if _RETAIN in patch else original.copy()
    done = _order_lists(merged, patch, kind)
    for key, value in patch.items():
        if key == _RETAIN or key in done:
            continue
        if key.startswith(_DELETE_FROM):
            _delete_from(merged, _target(key, _BAD_DELETION), value, kind)
        elif value is None:
            merged.pop(key, None)
        else:
            _merge_field(merged, key, value, kind)
    return merged


def _directed(patch: Obj) -> Obj:
    match patch[_PATCH]:
        case "replace":
            return {key: value for key, value in patch.items() if key != _PATCH}
        case "delete":
            return {}
        case unknown:
            raise failed(f"unknown patch type: {go_text(unknown)} in map: {go_text(patch)}")


def _retained(original: Obj, patch: Obj) -> Obj:
    keys = patch[_RETAIN]
    if not isinstance(keys, list):
        raise bad_request(_BAD_RETAIN)
    for key, value in patch.items():
        if value is not None and key not in keys and key != _RETAIN and not key.startswith((_DELETE_FROM, _ORDER)):
            raise bad_request(_BAD_RETAIN)
    return {key: value for key, value in original.items() if key in keys}


def _target(directive: str, words: str) -> str:
    """The field that a directive is for: "x" of "$setElementOrder/x"."""
    head, slash, field = directive.partition("/")
    if not slash or head not in {_DELETE_FROM, _ORDER}:
        raise bad_request(words)
    return field


def _delete_from(merged: Obj, key: str, doomed: Any, kind: MergeKind) -> None:
    if doomed is None:
        merged.pop(key, None)
    elif isinstance(doomed, list) and isinstance(current := merged.get(key), list) and (doomed or current):
        field = kind.field(key)
        if _check_types(current, doomed) is dict:
            merged[key] = _merged_list(current, doomed, field)  # a deletion in name only
        else:
            gone = set(doomed)
            merged[key] = [item for item in current if item not in gone]


def _merge_field(merged: Obj, key: str, value: Any, kind: MergeKind) -> None:
    current: Any = merged.get(key)
    if type(current) is not type(value):
        kept, clean = _cleaned(value)
        if kept:
            merged[key] = clean
        else:
            merged.pop(key, None)
    elif isinstance(value, dict):
        field = kind.field(key)
        merged[key] = value if field.strategy == "replace" else _merged_map(current, value, field.kind)
    elif isinstance(value, list):
        merged[key] = _merged_by_strategy(current, value, kind.field(key))
    else:
        merged[key] = value


def _cleaned(value: Any) -> tuple[bool, Any]:
    """Whether a value that replaces all there is stays, and it without nulls and without what is only a directive."""
    if isinstance(value, dict):
        found = {key: _cleaned(inner) for key, inner in value.items() if inner is not None}
        return _PATCH not in value, {key: inner for key, (kept, inner) in found.items() if kept}
    if isinstance(value, list):
        return True, [inner for kept, inner in map(_cleaned, value) if kept]
    return True, value


def _merged_by_strategy(original: list[Any], patch: list[Any], field: MergeField) -> list[Any]:
    return _merged_list(original, patch, field) if field.strategy == "merge" else patch


def _merged_list(original: list[Any], patch: list[Any], field: MergeField) -> list[Any]:
    if not original and not patch:
        return original
    if _check_types(original, patch) is not dict:
        merged = list(dict.fromkeys([*original, *patch]))
        return _ordered(merged, patch, server=original, key="")
    if not field.merge_key:
        raise failed("cannot merge lists without merge key for struct")
    original, patch = _without_directives(original, patch, field.merge_key)
    merged = _merged_items(original, patch, field)
    return _ordered(merged, patch, server=original, key=field.merge_key)


def _check_types(*lists: list[Any]) -> type:
    """The type of the items of all lists, which must be one."""
    types = {type(item) for items in lists for item in items}
    if not types:
        raise failed("no elements in any of the given slices")
    if list in types:
        raise rejected()
    if len(types) > 1 or type(None) in types:
        raise failed(f"list element types are not identical: {go_text(list(lists))}")
    return types.pop()


def _without_directives(original: list[Obj], patch: list[Obj], key: str) -> tuple[list[Obj], list[Obj]]:
    """The lists after the items that are directives: some delete an item, one replaces the whole list."""
    plain: list[Obj] = []
    doomed: set[Any] = set()
    replace = False
    for item in patch:
        match item.get(_PATCH):
            case None if _PATCH not in item:
                plain.append(item)
            case "delete":
                doomed.add(_key_of(item, key))
            case "replace":
                replace = True
            case "merge":
                raise failed("merging lists cannot yet be specified in the patch")
            case unknown:
                raise failed(f"unknown patch type: {go_text(unknown)} in map: {go_text(item)}")
    if replace:
        return [], plain
    return [kept for kept in original if _hashable(kept.get(key)) not in doomed] if doomed else original, plain


def _merged_items(original: list[Obj], patch: list[Obj], field: MergeField) -> list[Obj]:
    merged = original.copy()
    places: dict[Any, int] = {}
    for place, item in enumerate(merged):
        places.setdefault(_hashable(item.get(field.merge_key)), place)
    for item in patch:
        key = _key_of(item, field.merge_key)
        if key in places:
            merged[places[key]] = _merged_map(merged[places[key]], item, field.kind)
        else:
            places[key] = len(merged)
            merged.append(item)
    return merged


def _key_of(item: Any, key: str) -> Any:
    """What an item is known by: itself, or the value of its merge key."""
    if not key:
        return _hashable(item)
    if not isinstance(item, dict):
        raise _bad_type(dict, item)
    if key not in item:
        raise _no_merge_key(item, key)
    return _hashable(item[key])


def _hashable(value: Any) -> Any:
    if isinstance(value, dict | list):
        raise failed(f"{go_text(value)} cannot be a merge key")  # upstream panics
    return value


def _ordered(items: list[Any], patch: Iterable[Any], *, server: Iterable[Any], key: str) -> list[Any]:
    """The items: those of the patch in its order, the others in theirs, woven as the server had them.

    Where the server knows an item of both, they keep its order, else that of the patch goes first.
    """
    wanted, had = _ranks(patch, key), _ranks(server, key)
    keyed = [(_key_of(item, key), item) for item in items]
    named = sorted((pair for pair in keyed if pair[0] in wanted), key=lambda pair: wanted[pair[0]])
    others = sorted((pair for pair in keyed if pair[0] not in wanted), key=lambda pair: had.get(pair[0], -1))
    woven: list[Any] = []
    for name, item in named:
        place = had.get(name, -1)
        while others and 0 <= had.get(others[0][0], -1) < place:
            woven.append(others.pop(0)[1])
        woven.append(item)
    return woven + [item for _, item in others]


def _ranks(items: Iterable[Any], key: str) -> dict[Any, int]:
    ranks: dict[Any, int] = {}
    for rank, item in enumerate(items):
        ranks.setdefault(_key_of(item, key), rank)
    return ranks


def _order_lists(merged: Obj, patch: Obj, kind: MergeKind) -> set[str]:
    """Merge and order the lists for which the patch has an order; returns the patch's keys that this was for."""
    done: set[str] = set()
    for directive, order in patch.items():
        if not directive.startswith(_ORDER):
            continue
        if not isinstance(order, list):
            raise _bad_type(list, order)
        key = _target(directive, _BAD_ORDER)
        field = kind.field(key)
        given = [found[key] for found in (merged, patch) if key in found]
        for items in given:
            if not isinstance(items, list):
                raise _bad_type(list, items)
        _check_order(patch.get(key, []), order, field.merge_key)
        if given:
            merged[key] = _in_order(merged.get(key), patch.get(key), order=order, field=field)
        done |= {directive, key}
    return done


def _in_order(current: list[Any] | None, patch: list[Any] | None, *, order: list[Any], field: MergeField) -> list[Any]:
    if current is None:
        items = _cleaned(patch)[1]
    elif patch is None:
        items = current
    else:
        items = _merged_by_strategy(current, patch, field)
    _check_types(current or [], patch or [])
    return _ordered(items, order, server=current or [], key=field.merge_key)


def _check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """The items of the patch must stand among those of the order, in the same order; deleted ones do not count."""
    if not patch or not order:
        return
    places = iter(order)
    for item in patch:
        if isinstance(item, dict) and _PATCH in item:
            continue
        name = _key_of(item, key)
        if not any(_key_of(place, key) == name for place in places):
            raise failed(
                f"The order in patch list:\n{go_text(patch)}\n doesn't match {_ORDER} list:\n{go_text(order)}\n"
            )
