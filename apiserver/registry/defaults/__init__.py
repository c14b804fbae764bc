"""Defaults: what Kubernetes fills in where an object says nothing, as one table of functions by kind.

Belongs here: what pkg/apis/*/*/defaults.go and `+default` markers set, and the mirroring of deprecated fields that
conversions do. Pure, in place, on an object that the decoder has just made: nulls and empty optional values are gone
and quantities canonical. Not here: what creation alone sets (strategy), what admission and allocation decide.
Functions address fields directly, since every write runs them; a shared constant table stands where a loop suffices.
"""

from collections.abc import Callable, Mapping

from apiserver.api.meta import Obj
from apiserver.registry.defaults import pods, services, storage, workloads

Default = Callable[[Obj], None]

DEFAULTS: Mapping[tuple[str, str], Default] = {
    ("", "Endpoints"): services.default_endpoints,
    ("", "PersistentVolume"): storage.default_volume,
    ("", "PersistentVolumeClaim"): storage.default_claim,
    ("", "Pod"): pods.default_pod,
    ("", "PodTemplate"): workloads.default_pod_template,
    ("", "ReplicationController"): workloads.default_replication_controller,
    ("", "Service"): services.default_service,
    ("apps", "DaemonSet"): workloads.default_daemon_set,
    ("apps", "Deployment"): workloads.default_deployment,
    ("apps", "ReplicaSet"): workloads.default_replica_set,
    ("apps", "StatefulSet"): workloads.default_stateful_set,
    ("batch", "CronJob"): workloads.default_cron_job,
    ("batch", "Job"): workloads.default_job,
    ("discovery.k8s.io", "EndpointSlice"): services.default_endpoint_slice,
    ("networking.k8s.io", "IngressClass"): services.default_ingress_class,
    ("networking.k8s.io", "NetworkPolicy"): services.default_network_policy,
    ("storage.k8s.io", "CSIDriver"): storage.default_csi_driver,
    ("storage.k8s.io", "StorageClass"): storage.default_storage_class,
}
"""(group, kind) -> the function that defaults an object in place, in every version; absent: no defaults."""

VERSION_DEFAULTS: Mapping[tuple[str, str, str], Default] = {}
"""(group, version, kind) -> the function of a kind whose versions differ."""


def set_defaults(obj: Obj, *, group: str, version: str, kind: str) -> None:
    """Defaults a freshly decoded object in place; does nothing for a kind without defaults."""
    default = DEFAULTS.get((group, kind)) or VERSION_DEFAULTS.get((group, version, kind))
    if default is not None:
        default(obj)
