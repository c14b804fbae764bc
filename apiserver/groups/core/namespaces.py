"""Namespaces (core): defaults, strategy, validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, mapping, text_of
from apiserver.groups.columns import AGE, CORE, NAME, Column, Printer
from apiserver.groups.field_labels import at_paths
from apiserver.groups.kind import NO_COLLECTION_DELETE, BuiltinKind
from apiserver.groups.strategy import Strategy, keep_field, status_updating, unchanged, updating

NAME_LABEL = "kubernetes.io/metadata.name"


def default_namespace(namespace: Obj) -> None:
    """Set the defaults of a Namespace: active, and labelled with its own name once it has one."""
    meta = namespace.setdefault("metadata", {})
    if name := meta.get("name"):
        meta["labels"] = (meta.get("labels") or {}) | {NAME_LABEL: name}
    namespace.setdefault("status", {}).setdefault("phase", "Active")


KUBERNETES_FINALIZER = "kubernetes"


def _create_namespace(namespace: Obj) -> None:
    """Make the Namespace active, with the finalizer that only the namespace controller removes."""
    namespace["status"] = {"phase": "Active"}
    spec = namespace.setdefault("spec", {})
    finalizers = spec.get("finalizers") or []
    if KUBERNETES_FINALIZER not in finalizers:
        spec["finalizers"] = [*finalizers, KUBERNETES_FINALIZER]


def _label_namespace(namespace: Obj) -> None:
    meta = namespace["metadata"]
    meta["labels"] = (meta.get("labels") or {}) | {NAME_LABEL: meta["name"]}


def _update_namespace(new: Obj, old: Obj) -> None:
    """Keep the status and the spec's finalizers, which only /finalize changes."""
    keep_field(new, old, "status")
    keep_field(new.setdefault("spec", {}), old.get("spec") or {}, "finalizers")


NAMESPACE_STRATEGY = Strategy(
    _create_namespace, _update_namespace, status_updating(), has_status=True, canonicalize=_label_namespace
)

NAMESPACE_FINALIZE = Strategy(_create_namespace, updating(), unchanged)

_FINALIZERS = frozenset({"foregroundDeletion", "kubernetes", "orphan"})


def _validate_namespace(namespace: Obj) -> Iterator[FieldError]:
    for name in (namespace.get("spec") or {}).get("finalizers") or ():
        yield from checks.invalid_values("spec.finalizers", name, names.qualified_name(name))
        if "/" not in name and name not in _FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield field.invalid("spec.finalizers", name, detail)


def _namespace_status(new: Obj, _old: Obj) -> Iterator[FieldError]:
    phase = (new.get("status") or {}).get("phase") or ""
    deleting = bool(new["metadata"].get("deletionTimestamp"))
    expected, state = ("Terminating", "not empty") if deleting else ("Active", "empty")
    if phase != expected:
        detail = f"may only be '{expected}' if `deletionTimestamp` is {state}"
        yield field.invalid("status.Phase", phase, detail)


def _finalize(new: Obj, _old: Obj) -> Iterator[FieldError]:
    for index, finalizer in enumerate((new.get("spec") or {}).get("finalizers") or ()):
        yield from checks.invalid_values(f"spec.finalizers[{index}]", finalizer, names.qualified_name(finalizer))


def _namespace_cells(obj: Obj) -> Cells:
    return [name_of(obj), text_of(mapping(obj, "status"), "phase"), age(obj)]


NAMESPACE = BuiltinKind(
    "",
    "Namespace",
    ("ns",),
    namespaced=False,
    verbs=NO_COLLECTION_DELETE,
    subresources=("finalize",),
    fields=("status.phase",),
    selects_namespace=False,
    default=default_namespace,
    strategy=NAMESPACE_STRATEGY,
    subresource_strategies={"finalize": NAMESPACE_FINALIZE},
    validator=Validator(_validate_namespace, lambda _new, _old: (), _namespace_status),
    subresource_validators={"finalize": _finalize},
    field_labels=at_paths("status.phase"),
    printer=Printer(columns=(NAME, Column("Status", f"{CORE}NamespaceStatus#phase"), AGE), cells=_namespace_cells),
    name_rule=names.dns1123_label,
)
