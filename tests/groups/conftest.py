"""Objects as the verbs hand them to defaults, strategies and validation, and the results."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.endpoints.tables import printer_of
from apiserver.groups.strategy import Strategy
from apiserver.registry.kind_tables import set_defaults
from apiserver.registry.strategy import CUSTOM_WITH_STATUS, STRATEGIES
from apiserver.registry.validation import VALIDATORS

NOW = 1_704_070_800.0  # 2024-01-01T01:00:00Z
CREATED = "2024-01-01T00:00:00Z"

Printed = Callable[[str, str, Obj], dict[str, Any]]


@pytest.fixture
def defaulted() -> Callable[..., Obj]:
    """Return a function that makes an object of a kind with its defaults."""

    def make(kind: str, given: Obj, *, group: str = "", version: str = "v1") -> Obj:
        obj = copy.deepcopy(given)
        set_defaults(group, version, kind, obj)
        return obj

    return make


@pytest.fixture
def strategy() -> Callable[[str, str], Strategy]:
    """(group, kind) → its strategy; a kind that is not built in guards its status."""
    return lambda group, kind: STRATEGIES.get((group, kind), CUSTOM_WITH_STATUS)


@pytest.fixture
def created(strategy: Callable[[str, str], Strategy]) -> Callable[[str, str, Obj], Obj]:
    """Return a function that prepares an object for its creation."""

    def make(group: str, kind: str, obj: Obj) -> Obj:
        new = copy.deepcopy(obj)
        new.setdefault("metadata", {})
        strategy(group, kind).prepare_create(new)
        return new

    return make


@pytest.fixture
def updated(strategy: Callable[[str, str], Strategy]) -> Callable[[str, str, Obj, Obj], Obj]:
    """Return a function that prepares an object for an update; like the verbs, with the old one's generation."""

    def make(group: str, kind: str, new: Obj, old: Obj) -> Obj:
        obj, before = copy.deepcopy(new), copy.deepcopy(old)
        obj.setdefault("metadata", {})
        before.setdefault("metadata", {})["generation"] = obj["metadata"]["generation"] = 4
        unspoilt = copy.deepcopy(before)
        strategy(group, kind).prepare_update(obj, before)
        assert before == unspoilt
        return obj

    return make


@pytest.fixture
def pod() -> Callable[..., Obj]:
    """Return a function that makes a pod of a part of its spec, and of a part of its container."""

    def make(spec: Obj, **container: Any) -> Obj:
        given = {"containers": [{"name": "c", "image": "i"} | container], "serviceAccountName": "default"} | spec
        obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}, "spec": given}
        set_defaults("", "v1", "Pod", obj)
        return obj

    return make


@pytest.fixture
def errors_of_pod(pod: Callable[..., Obj]) -> Callable[..., list[str]]:
    """Return a function that lists the validation errors of a new pod with such a spec."""
    return lambda spec, **container: [str(error) for error in VALIDATORS["", "Pod"].create(pod(spec, **container))]


@pytest.fixture
def printed() -> Printed:
    """Prints an object of a kind as a person sees it one hour after its creation: column name → cell."""

    def show(group: str, kind: str, body: Obj) -> dict[str, Any]:
        metadata = {"name": "x", "creationTimestamp": CREATED, **body.get("metadata", {})}
        printer = printer_of(group, kind)
        names = [column["name"] for column in printer.column_definitions({})]
        cells = printer.row({**body, "metadata": metadata}).cells_at(NOW)
        return dict(zip(names, cells, strict=False))

    return show
