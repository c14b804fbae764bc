"""StorageClasses (storage.k8s.io): defaults, validation and columns."""

from collections.abc import Callable, Iterator, Mapping

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.storage_classes import DEFAULT_MARKS
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, flag, text_of
from apiserver.groups.columns import AGE, NAME, STORAGE, Column, Printer
from apiserver.groups.core.persistentvolumeclaims import annotations_in
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import PLAIN


def default_storage_class(storage_class: Obj) -> None:
    """Set the defaults of a StorageClass."""
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


_MAX_PARAMETERS, _MAX_PARAMETER_BYTES, LONGEST_NODE_ID = 512, 256 * 1024, 192

_RECLAIM_POLICIES = frozenset({"Delete", "Retain"})

_BINDING_MODES = frozenset({"Immediate", "WaitForFirstConsumer"})


def _class(storage_class: Obj) -> Iterator[FieldError]:
    yield from provisioner_errors("provisioner", storage_class.get("provisioner") or "")
    yield from parameter_errors(storage_class.get("parameters") or {})
    policy = storage_class.get("reclaimPolicy")
    if policy:
        yield from checks.one_of("reclaimPolicy", policy, _RECLAIM_POLICIES)
    yield from checks.required_one_of("volumeBindingMode", storage_class.get("volumeBindingMode"), _BINDING_MODES)
    yield from checks.each("allowedTopologies", storage_class.get("allowedTopologies"), _topology)


def provisioner_errors(path: str, name: str) -> checks.FieldErrors:
    """Return the errors of the name of a provisioner or driver."""
    return checks.invalid_values(path, name, names.qualified_name(name.lower())) if name else (field.required(path),)


def parameter_errors(parameters: Mapping[str, str]) -> Iterator[FieldError]:
    """Return the errors of the parameters of a class."""
    if len(parameters) > _MAX_PARAMETERS:
        yield field.too_long("parameters", _MAX_PARAMETERS)
        return
    if "" in parameters:
        yield field.invalid("parameters", "", "field can not be empty.")
    if sum(len(name.encode()) + len(value.encode()) for name, value in parameters.items()) > _MAX_PARAMETER_BYTES:
        yield field.too_long("parameters", _MAX_PARAMETER_BYTES)


def _topology(term: Obj) -> Iterator[FieldError]:
    requirements, seen = term.get("matchLabelExpressions") or (), set()
    for index, requirement in enumerate(requirements):
        key, values = requirement.get("key", ""), requirement.get("values") or ()
        path = f"matchLabelExpressions[{index}]"
        yield from checks.required(f"{path}.values", values)
        for value_index, value in enumerate(values):
            if value in values[:value_index]:
                yield field.duplicate(f"{path}.values[{value_index}]", value)
        yield from checks.invalid_values(f"{path}.key", key, names.qualified_name(key))
        if key in seen:
            yield field.duplicate(f"{path}.key", key)
        seen.add(key)


def _class_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    for name in ("parameters", "provisioner"):
        if not checks.equal_or_both_empty(new.get(name), old.get(name)):
            yield field.forbidden(name, f"updates to {name} are forbidden.")
    for name in ("reclaimPolicy", "volumeBindingMode"):
        yield from checks.immutable(name, new.get(name), old.get(name))


def fixed(*fields: str) -> Callable[[Obj, Obj], Errors]:
    """Return a check that an update changes none of the fields."""

    def update(new: Obj, old: Obj) -> Iterator[FieldError]:
        for name in fields:
            yield from checks.immutable(name, new.get(name), old.get(name))

    return update


def _storage_class(obj: Obj) -> Cells:
    annotations = annotations_in(obj)
    is_default = any(annotations.get(key) == "true" for key in DEFAULT_MARKS)
    return [
        f"{name_of(obj)} (default)" if is_default else name_of(obj),
        text_of(obj, "provisioner"),
        text_of(obj, "reclaimPolicy", "Delete"),
        text_of(obj, "volumeBindingMode", "Immediate"),
        flag(obj, "allowVolumeExpansion"),
        age(obj),
    ]


STORAGE_CLASS = BuiltinKind(
    "storage.k8s.io",
    "StorageClass",
    ("sc",),
    namespaced=False,
    default=default_storage_class,
    returns_deleted=True,
    strategy=PLAIN,
    validator=Validator(_class, _class_update),
    printer=Printer(
        columns=(
            NAME,
            Column("Provisioner", f"{STORAGE}StorageClass#provisioner"),
            Column("ReclaimPolicy", f"{STORAGE}StorageClass#reclaimPolicy"),
            Column("VolumeBindingMode", f"{STORAGE}StorageClass#volumeBindingMode"),
            Column("AllowVolumeExpansion", f"{STORAGE}StorageClass#allowVolumeExpansion"),
            AGE,
        ),
        cells=_storage_class,
    ),
)
