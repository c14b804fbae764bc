"""DaemonSets (apps): defaults, strategy, validation and columns."""

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation.combinators import FieldErrors, at, deeply_immutable, label_selector, nonnegative, struct
from apiserver.api.validation.contract import Validator
from apiserver.groups.apps.workload_columns import container_cells, pod_spec_of, selector_column
from apiserver.groups.apps.workload_defaults import REVISION_HISTORY, default_rolling, spec_with
from apiserver.groups.apps.workload_validation import min_ready, status_update
from apiserver.groups.cell_format import age, labels_text, selector_text
from apiserver.groups.cells import Cells, mapping, number_of
from apiserver.groups.columns import AGE, APPS, CONTAINERS, CORE, IMAGES, NAME, Column, Printer
from apiserver.groups.core.pods.defaults import default_template
from apiserver.groups.core.pods.templates import (
    at_most_all,
    mismatch,
    rolling_counts,
    validate_always_restarts,
    validate_selector,
    whole,
)
from apiserver.groups.core.pods.validation import pod_template
from apiserver.groups.kind import ALL, BuiltinKind
from apiserver.groups.notices import stored
from apiserver.groups.strategy import Strategy, increment_generation, keep_field


def default_daemon_set(daemon_set: Obj) -> None:
    """Set the defaults of a DaemonSet: pods are replaced on one node at a time."""
    spec = spec_with(daemon_set, {"revisionHistoryLimit": REVISION_HISTORY})
    default_rolling(spec.setdefault("updateStrategy", {}), {"maxSurge": 0, "maxUnavailable": 1})
    default_template(spec.setdefault("template", {}))


TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def _create_daemon_set(daemon_set: Obj) -> None:
    daemon_set["status"] = {
        "currentNumberScheduled": 0,
        "desiredNumberScheduled": 0,
        "numberMisscheduled": 0,
        "numberReady": 0,
    }
    daemon_set["metadata"]["generation"] = 1
    _set_template_generation(daemon_set, max(_template_generation(daemon_set), 1))


def _update_daemon_set(new: Obj, old: Obj) -> None:
    """Keep the status, and move the template's generation, which clients cannot set, with the template."""
    keep_field(new, old, "status")
    moved = new["spec"].get("template") != old["spec"].get("template")
    _set_template_generation(new, _template_generation(old) + moved)
    if new["spec"] != old["spec"]:
        increment_generation(new, old)


def _update_daemon_set_status(new: Obj, old: Obj) -> None:
    keep_field(new, old, "spec")
    _set_template_generation(new, _template_generation(old))


def _template_generation(daemon_set: Obj) -> int:
    """Return spec.templateGeneration, which an annotation holds in apps/v1 (conversion); 0 if absent or no number."""
    text = (daemon_set["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "")
    return int(text) if text.isascii() and text.isdecimal() else 0


def _set_template_generation(daemon_set: Obj, generation: int) -> None:
    meta = daemon_set["metadata"]
    meta["annotations"] = (meta.get("annotations") or {}) | {TEMPLATE_GENERATION: str(generation)}


DAEMON_SET_STRATEGY = Strategy(_create_daemon_set, _update_daemon_set, _update_daemon_set_status, has_status=True)

_history = struct(("revisionHistoryLimit", nonnegative))


def _rolling_daemon_set(rolling: Obj) -> FieldErrors:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors = [
        *rolling_counts(rolling),
        *at("maxUnavailable", at_most_all(unavailable)),
        *at("maxSurge", at_most_all(surge)),
    ]
    if whole(unavailable) and whole(surge):
        errors.append(field.invalid("maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    if not whole(unavailable) and not whole(surge):
        errors.append(field.required("maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors


def _daemon_set_strategy(strategy: Obj) -> FieldErrors:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return ()
    if kind != "RollingUpdate":
        return (field.not_supported("", strategy, ("RollingUpdate", "OnDelete")),)
    return (field.required("rollingUpdate"),) if rolling is None else at("rollingUpdate", _rolling_daemon_set(rolling))


def _daemon_set_spec(spec: Obj) -> list[FieldError]:
    selector, template = spec.get("selector"), spec.get("template") or {}
    errors = [*at("selector", label_selector(selector or {}))]
    if validate_selector(selector, template) is False:
        errors.append(mismatch(template))
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(field.invalid("selector", selector, "empty selector is invalid for daemonset"))
    errors += [*at("template", pod_template(template)), *validate_always_restarts(template, "DaemonSet")]
    errors += min_ready(spec)
    errors += at("updateStrategy", _daemon_set_strategy(spec.get("updateStrategy") or {}))
    return [*errors, *_history(spec)]


def _create(obj: Obj) -> FieldErrors:
    return at("spec", _daemon_set_spec(obj.get("spec") or {}))


def _update(new: Obj, old: Obj) -> FieldErrors:
    after, before = ((obj.get("spec") or {}).get("selector") for obj in (new, old))
    return [*_create(new), *deeply_immutable("spec.selector", after, before)]


_DAEMON_COUNTS = (
    ("Desired", "desiredNumberScheduled"),
    ("Current", "currentNumberScheduled"),
    ("Ready", "numberReady"),
    ("Up-to-date", "updatedNumberScheduled"),
    ("Available", "numberAvailable"),
)


def _daemon_set(obj: Obj) -> Cells:
    spec, status = mapping(obj, "spec"), mapping(obj, "status")
    pod_spec = pod_spec_of(spec)
    return [
        name_of(obj),
        *[number_of(status, field) for _, field in _DAEMON_COUNTS],
        labels_text(mapping(pod_spec, "nodeSelector")),
        age(obj),
        *container_cells(pod_spec),
        selector_text(spec, "selector"),
    ]


DAEMON_SET = BuiltinKind(
    "apps",
    "DaemonSet",
    ("ds",),
    categories=ALL,
    default=default_daemon_set,
    strategy=DAEMON_SET_STRATEGY,
    validator=Validator(
        create=_create,
        update=_update,
        status_update=status_update(
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ),
    ),
    printer=Printer(
        columns=(
            NAME,
            *(Column(name, f"{APPS}DaemonSetStatus#{field}", type="integer") for name, field in _DAEMON_COUNTS),
            Column("Node Selector", f"{CORE}PodSpec#nodeSelector"),
            AGE,
            CONTAINERS,
            IMAGES,
            selector_column(f"{APPS}DaemonSetSpec"),
        ),
        cells=_daemon_set,
    ),
    notices=stored("DaemonSet", "has no DaemonSet controller", "creates no Pods"),
)
