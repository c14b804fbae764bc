"""Strategic merge patch: objects merge, lists merge by key where the type says so (strategicpatch/patch.go).

Directives are fields of a patch: `$patch` replaces or deletes the object or list that it is in, `$retainKeys` lists the
fields of an object that stay, `$deleteFromPrimitiveList/f` removes scalars from the list f, `$setElementOrder/f` gives
the order of its items. The arguments are not changed, and the result shares their unchanged parts.

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
from apiserver.api.patch.json_patch import rejected_patch
from apiserver.api.patch.merge_patch import TOO_DEEP
from apiserver.api.patch.merge_schema import MergeField, MergeKind, patch_error

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
    """Return the document merged with the patch.

    Args:
        doc: the object in the version of the request; it stays as it is.
        patch: the decoded body.
        kind: the object's kind.

    Raises:
        ApiError: 400 or 422 if the patch is malformed, 500 if it does not fit the type, as upstream responds.
    """
    if patch is None:
        return doc
    if not isinstance(patch, dict):
        kinds = {list: "array", str: "string", bool: "bool"}
        json_type = kinds.get(type(patch), "number")
        raise bad_request(f"json: cannot unmarshal {json_type} into Go value of type map[string]interface {{}}")
    try:
        return _merged_map(doc, patch, kind)
    except RecursionError:
        raise bad_request(TOO_DEEP) from None


def _no_merge_key(item: Obj, key: str) -> ApiError:
    return patch_error(f"map: {go_text(item)} does not contain declared merge key: {key}")


def _bad_type(expected: type, actual: Any) -> ApiError:
    return patch_error(f"expected a {_GO_TYPES[expected]}, but received a {_GO_TYPES[type(actual)]}")


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
            raise patch_error(f"unknown patch type: {go_text(unknown)} in map: {go_text(patch)}")


def _retained(original: Obj, patch: Obj) -> Obj:
    keys = patch[_RETAIN]
    if not isinstance(keys, list):
        raise bad_request(_BAD_RETAIN)
    for key, value in patch.items():
        if value is not None and key not in keys and key != _RETAIN and not key.startswith((_DELETE_FROM, _ORDER)):
            raise bad_request(_BAD_RETAIN)
    return {key: value for key, value in original.items() if key in keys}


def _target(directive: str, words: str) -> str:
    """Return the field that a directive is for: "x" for "$setElementOrder/x"."""
    head, slash, field = directive.partition("/")
    if not slash or head not in {_DELETE_FROM, _ORDER}:
        raise bad_request(words)
    return field


def _delete_from(merged: Obj, key: str, values: Any, kind: MergeKind) -> None:
    if values is None:
        merged.pop(key, None)
    elif isinstance(values, list) and isinstance(current := merged.get(key), list) and (values or current):
        field = kind.field(key)
        if _check_types(current, values) is dict:
            merged[key] = _merged_list(current, values, field)  # like upstream, objects are merged, not deleted
        else:
            removed = set(values)
            merged[key] = [item for item in current if item not in removed]


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
    """Return whether a value that replaces all of the field stays, and the value without nulls and directives."""
    if isinstance(value, dict):
        cleaned = {key: _cleaned(inner) for key, inner in value.items() if inner is not None}
        return _PATCH not in value, {key: inner for key, (kept, inner) in cleaned.items() if kept}
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
        raise patch_error("cannot merge lists without merge key for struct")
    original, patch = _without_directives(original, patch, field.merge_key)
    merged = _merged_items(original, patch, field)
    return _ordered(merged, patch, server=original, key=field.merge_key)


def _check_types(*lists: list[Any]) -> type:
    """Return the type of the items of all lists, which must be the same."""
    types = {type(item) for items in lists for item in items}
    if not types:
        raise patch_error("no elements in any of the given slices")
    if list in types:
        raise rejected_patch()
    if len(types) > 1 or type(None) in types:
        raise patch_error(f"list element types are not identical: {go_text(list(lists))}")
    return types.pop()


def _without_directives(original: list[Obj], patch: list[Obj], key: str) -> tuple[list[Obj], list[Obj]]:
    """Return both lists after the directives, which delete single items or replace the whole list."""
    plain: list[Obj] = []
    deleted: set[Any] = set()
    replace = False
    for item in patch:
        match item.get(_PATCH):
            case None if _PATCH not in item:
                plain.append(item)
            case "delete":
                deleted.add(_key_of(item, key))
            case "replace":
                replace = True
            case "merge":
                raise patch_error("merging lists cannot yet be specified in the patch")
            case unknown:
                raise patch_error(f"unknown patch type: {go_text(unknown)} in map: {go_text(item)}")
    if replace:
        return [], plain
    return [item for item in original if _hashable(item.get(key)) not in deleted] if deleted else original, plain


def _merged_items(original: list[Obj], patch: list[Obj], field: MergeField) -> list[Obj]:
    merged = original.copy()
    positions: dict[Any, int] = {}
    for position, item in enumerate(merged):
        positions.setdefault(_hashable(item.get(field.merge_key)), position)
    for item in patch:
        key = _key_of(item, field.merge_key)
        if key in positions:
            merged[positions[key]] = _merged_map(merged[positions[key]], item, field.kind)
        else:
            positions[key] = len(merged)
            merged.append(item)
    return merged


def _key_of(item: Any, key: str) -> Any:
    """Return the key that identifies an item: itself, or the value of its merge key."""
    if not key:
        return _hashable(item)
    if not isinstance(item, dict):
        raise _bad_type(dict, item)
    if key not in item:
        raise _no_merge_key(item, key)
    return _hashable(item[key])


def _hashable(value: Any) -> Any:
    if isinstance(value, dict | list):
        raise patch_error(f"{go_text(value)} cannot be a merge key")  # upstream panics
    return value


def _ordered(items: list[Any], patch: Iterable[Any], *, server: Iterable[Any], key: str) -> list[Any]:
    """Return the items of the patch in its order and the others in theirs, interleaved like on the server.

    Two items that the server has keep its order; otherwise the patch's item comes first.
    """
    wanted_ranks, ranks = _ranks(patch, key), _ranks(server, key)
    keyed = [(_key_of(item, key), item) for item in items]
    patched = sorted((pair for pair in keyed if pair[0] in wanted_ranks), key=lambda pair: wanted_ranks[pair[0]])
    others = sorted((pair for pair in keyed if pair[0] not in wanted_ranks), key=lambda pair: ranks.get(pair[0], -1))
    result: list[Any] = []
    for name, item in patched:
        server_rank = ranks.get(name, -1)
        while others and 0 <= ranks.get(others[0][0], -1) < server_rank:
            result.append(others.pop(0)[1])
        result.append(item)
    return result + [item for _, item in others]


def _ranks(items: Iterable[Any], key: str) -> dict[Any, int]:
    ranks: dict[Any, int] = {}
    for rank, item in enumerate(items):
        ranks.setdefault(_key_of(item, key), rank)
    return ranks


def _order_lists(merged: Obj, patch: Obj, kind: MergeKind) -> set[str]:
    """Merge and order the lists that the patch has an order for; return the patch's keys that are done by this."""
    done: set[str] = set()
    for directive, order in patch.items():
        if not directive.startswith(_ORDER):
            continue
        if not isinstance(order, list):
            raise _bad_type(list, order)
        key = _target(directive, _BAD_ORDER)
        field = kind.field(key)
        lists = [parent[key] for parent in (merged, patch) if key in parent]
        for items in lists:
            if not isinstance(items, list):
                raise _bad_type(list, items)
        _check_order(patch.get(key, []), order, field.merge_key)
        if lists:
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
    """Check that the patch's items are in the order's relative order; deleted items do not count."""
    if not patch or not order:
        return
    ordered_items = iter(order)
    for item in patch:
        if isinstance(item, dict) and _PATCH in item:
            continue
        name = _key_of(item, key)
        if not any(_key_of(ordered_item, key) == name for ordered_item in ordered_items):
            raise patch_error(
                f"The order in patch list:\n{go_text(patch)}\n doesn't match {_ORDER} list:\n{go_text(order)}\n"
            )
