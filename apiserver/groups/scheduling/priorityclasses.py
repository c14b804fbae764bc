"""PriorityClasses (scheduling.k8s.io): defaults, validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks
from apiserver.api.validation.contract import Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, flag, number_of, text_of
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import Strategy, creation, unchanged


def default_priority_class(priority_class: Obj) -> None:
    """Set the default preemptionPolicy of a PriorityClass: it may preempt pods of lower priority."""
    priority_class.setdefault("preemptionPolicy", "PreemptLowerPriority")


_MAX_USER_PRIORITY = 1_000_000_000

_SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}

_PREEMPTION = ("PreemptLowerPriority", "Never")


def _validate_priority_class(priority_class: Obj) -> Iterator[FieldError]:
    name, value = priority_class["metadata"].get("name") or "", priority_class.get("value") or 0
    if name.startswith("system-"):
        problem = _system_class_problem(name, value, by_default=bool(priority_class.get("globalDefault")))
        if problem:
            detail = "priority class names with 'system-' prefix are reserved for system use only. error: "
            yield field.forbidden("metadata.name", detail + problem)
    elif value > _MAX_USER_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {_MAX_USER_PRIORITY}"
        yield field.forbidden("value", detail)
    policy = priority_class.get("preemptionPolicy")
    if policy is not None:
        yield from checks.required_one_of("preemptionPolicy", policy, _PREEMPTION)


def _system_class_problem(name: str, value: int, *, by_default: bool) -> str:
    expected = _SYSTEM_PRIORITIES.get(name)
    if expected is None:
        return f"{name} is not a known system priority class"
    if value != expected:
        return f"value of {name} PriorityClass must be {expected}"
    return f"globalDefault of {name} PriorityClass must be false" if by_default else ""


def _priority_class_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    if (new.get("value") or 0) != (old.get("value") or 0):
        yield field.forbidden("value", "may not be changed in an update.")
    yield from checks.immutable("preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy"))


_V1 = "io.k8s.api.scheduling.v1."


def _priority_class_cells(obj: Obj) -> Cells:
    return [
        name_of(obj),
        number_of(obj, "value"),
        flag(obj, "globalDefault"),
        age(obj),
        text_of(obj, "preemptionPolicy"),
    ]


PRIORITY_CLASS = BuiltinKind(
    "scheduling.k8s.io",
    "PriorityClass",
    ("pc",),
    namespaced=False,
    default=default_priority_class,
    strategy=Strategy(creation(), unchanged, unchanged),
    validator=Validator(_validate_priority_class, _priority_class_update),
    printer=Printer(
        columns=(
            NAME,
            Column("Value", f"{_V1}PriorityClass#value", type="integer"),
            Column("Global-Default", f"{_V1}PriorityClass#globalDefault", type="boolean"),
            AGE,
            Column("PreemptionPolicy", f"{_V1}PriorityClass#preemptionPolicy"),
        ),
        cells=_priority_class_cells,
    ),
)
