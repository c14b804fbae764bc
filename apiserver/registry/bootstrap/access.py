"""RBAC objects from the tables: roles, aggregated roles and bindings."""

from collections.abc import Iterable, Iterator

from apiserver.api.meta import Obj
from apiserver.registry.bootstrap.controllers import CONTROLLER_ROLES, PREFIX
from apiserver.registry.bootstrap.manager import KRUISE_BINDINGS, KRUISE_ROLES, MANAGER_BINDINGS, MANAGER_ROLES
from apiserver.registry.bootstrap.roles import AGGREGATED, BINDINGS, CLUSTER_BINDINGS, CLUSTER_ROLES, ROLES
from apiserver.registry.bootstrap.rules import rules

RBAC = "rbac.authorization.k8s.io"
API_VERSION = f"{RBAC}/v1"
_ANNOTATIONS = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}


def access() -> Iterator[Obj]:
    """Yield every role and binding that exists from the start."""
    for name, lines in CLUSTER_ROLES.items():
        yield _object("ClusterRole", name, labels=_aggregates(name), rules=rules(lines))
    for name in AGGREGATED:
        yield _aggregated(name)
    for name, lines in CONTROLLER_ROLES.items():
        yield _object("ClusterRole", PREFIX + name, rules=rules(lines))
        yield _binding(PREFIX + name, (f"ServiceAccount kube-system {name}",))
    for name, subjects in CLUSTER_BINDINGS.items():
        yield _binding(name, subjects)
    for (namespace, name), lines in ROLES.items():
        yield _object("Role", name, namespace=namespace, rules=rules(lines))
    for (namespace, name), subjects in BINDINGS.items():
        role = name if (namespace, name) in ROLES else name.removeprefix("system::")
        yield _binding(name, subjects, namespace=namespace, role=role)


def manager_access(*, kruise: bool) -> Iterator[Obj]:
    """Yield the roles and bindings of a mockube manager's accounts, of OpenKruise's controllers too if they run."""
    for name, lines in (MANAGER_ROLES | KRUISE_ROLES if kruise else MANAGER_ROLES).items():
        yield _object("ClusterRole", name, rules=rules(lines))
    for name, (role, account) in (MANAGER_BINDINGS | KRUISE_BINDINGS if kruise else MANAGER_BINDINGS).items():
        yield _binding(name, (f"ServiceAccount kube-system {account}",), role=role)


def _aggregates(name: str) -> dict[str, str]:
    """Return the labels by which a role is aggregated into others."""
    return {f"{RBAC}/aggregate-to-{aggregate}": "true" for aggregate, parts in AGGREGATED.items() if name in parts}


def _aggregated(name: str) -> Obj:
    """Return an aggregated role with the rules of its parts, as the aggregation controller would set them."""
    selector = {"matchLabels": {f"{RBAC}/aggregate-to-{name}": "true"}}
    lines = dict.fromkeys(_rule_lines(name))
    role = _object("ClusterRole", name, labels=_aggregates(name), rules=rules(lines))
    return role | {"aggregationRule": {"clusterRoleSelectors": [selector]}}


def _rule_lines(name: str) -> Iterator[str]:
    yield from CLUSTER_ROLES.get(name, ())
    for part in AGGREGATED.get(name, ()):
        yield from _rule_lines(part)


def _binding(name: str, subjects: Iterable[str], *, namespace: str = "", role: str = "") -> Obj:
    kind = "Role" if namespace else "ClusterRole"
    reference = {"apiGroup": RBAC, "kind": kind, "name": role or name}
    subject_objects = [_subject(*subject.split()) for subject in subjects]
    binding = _object(f"{kind}Binding", name, namespace=namespace, roleRef=reference)
    return binding | ({"subjects": subject_objects} if subject_objects else {})


def _subject(kind: str, *names: str) -> Obj:
    if kind == "ServiceAccount":
        return {"kind": kind, "namespace": names[0], "name": names[1]}
    return {"kind": kind, "apiGroup": RBAC, "name": names[0]}


def _object(kind: str, name: str, *, namespace: str = "", labels: dict[str, str] | None = None, **parts: object) -> Obj:
    meta: Obj = {"name": name, "annotations": _ANNOTATIONS, "labels": _LABELS | (labels or {})}
    if namespace:
        meta["namespace"] = namespace
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": meta, **parts}
