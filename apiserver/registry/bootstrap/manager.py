"""The roles of those accounts of a mockube manager that kube-controller-manager does not have.

The scheduler, the simulated nodes and OpenKruise's controllers are processes of their own upstream; here they run in
the manager, each as a ServiceAccount in kube-system.
"""

from typing import Final

from apiserver.registry.bootstrap.rules import EVENTS

MANAGER_ROLES: Final[dict[str, tuple[str, ...]]] = {
    "mockube:storageclass-controller": ("create : storage.k8s.io : storageclasses",),
}
"""Name → rules, of controllers that upstream does not have."""

MANAGER_BINDINGS: Final[dict[str, tuple[str, str]]] = {
    "mockube:kube-scheduler": ("system:kube-scheduler", "kube-scheduler"),
    "mockube:simulated-nodes": ("system:node", "simulated-nodes"),
    "mockube:storageclass-controller": ("mockube:storageclass-controller", "storageclass-controller"),
    "mockube:volume-scheduler": ("system:volume-scheduler", "kube-scheduler"),
}
"""Binding → its role, and the account that it is for."""

KRUISE_ROLES: Final[dict[str, tuple[str, ...]]] = {
    "kruise-manager-role": (
        EVENTS,
        "ALL : CORE : pods persistentvolumeclaims",
        "patch update get : CORE : pods/status",
        "create : CORE : pods/eviction",
        "READ : CORE : nodes",
        "ALL : apps : controllerrevisions deployments replicasets statefulsets",
        "patch update get : apps : deployments/status replicasets/status statefulsets/status",
        "ALL : apps.kruise.io : clonesets statefulsets uniteddeployments",
        (
            "patch update get : apps.kruise.io : clonesets/status clonesets/finalizers statefulsets/status "
            "statefulsets/finalizers uniteddeployments/status uniteddeployments/finalizers"
        ),
    ),
}
"""The same for OpenKruise's controllers (its config/rbac/role.yaml, as far as they are here)."""

KRUISE_BINDINGS: Final[dict[str, tuple[str, str]]] = {
    "kruise-manager-rolebinding": ("kruise-manager-role", "kruise-manager"),
}
"""The same for OpenKruise's controllers."""
