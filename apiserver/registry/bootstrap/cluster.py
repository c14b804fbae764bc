"""The system's namespaces and their contents, the server's own Service, priority classes and API services."""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.api.resources import ResourceTable

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
PRIORITY_CLASSES: Mapping[str, tuple[int, str]] = {
    "system-node-critical": (
        2000001000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    "system-cluster-critical": (
        2000000000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
}
GROUP_PRIORITIES: Mapping[str, int] = {
    "": 18000,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "apiextensions.k8s.io": 16700,
    "admissionregistration.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
    "internal.apiserver.k8s.io": 16000,
    "resource.k8s.io": 15900,
    "storagemigration.k8s.io": 15800,
}
"""Group → groupPriorityMinimum of its APIServices (controlplane/apiserver's aggregator.go)."""
OTHER_PRIORITY = 15700
AGGREGATOR = "apiregistration.k8s.io"
"""The group that registers the others, and not itself."""
CA_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


TOKEN_TRACKING = "kube-apiserver-legacy-service-account-token-tracking"  # noqa: S105 - the name of a ConfigMap
"""The ConfigMap that says since when the last use of tokens is noted (controlplane/controller/legacytokentracking)."""


@dataclass(frozen=True, slots=True)
class ServerLocation:
    """The server's address in the cluster.

    Attributes:
        address: an address that others can reach; "" if there is none but loopback.
        port: the server's port.
        services: the ranges of cluster IPs, one or two with a comma; the first address is the server's.
        ca: the certificate of the CA that signed the server's, "" for plain HTTP.
    """

    address: str
    port: int
    services: str
    ca: str = ""


def namespaces() -> Iterator[Obj]:
    """Yield the system's namespaces."""
    for name in NAMESPACES:
        yield _object("v1", "Namespace", name)


def cluster(location: ServerLocation, table: ResourceTable, *, now: str, tracks_tokens: bool = True) -> Iterator[Obj]:
    """Yield the other objects of the cluster, created at `now`.

    Args:
        location: the address, port and ranges of the server.
        table: the kinds that are served.
        now: the time as objects have it.
        tracks_tokens: True if the release labels the Secrets of tokens that are used, from then on.
    """
    for namespace in NAMESPACES:
        yield _object("v1", "ServiceAccount", "default", namespace=namespace)
        if location.ca:
            config = _object("v1", "ConfigMap", "kube-root-ca.crt", namespace=namespace, data={"ca.crt": location.ca})
            config["metadata"]["annotations"] = {"kubernetes.io/description": CA_DESCRIPTION}
            yield config
    if tracks_tokens:
        yield _object("v1", "ConfigMap", TOKEN_TRACKING, namespace="kube-system", data={"since": now[:10]})
    yield from _server(location)
    yield _service_cidr(location, now)
    for name, (value, description) in PRIORITY_CLASSES.items():
        yield _object("scheduling.k8s.io/v1", "PriorityClass", name, value=value, description=description)
    yield from _api_services(table.groups())


def _server(location: ServerLocation) -> Iterator[Obj]:
    """Yield the server's own Service, with its Endpoints and EndpointSlice."""
    first = str(ipaddress.ip_network(location.services.split(",")[0])[1])
    port = {"name": "https", "protocol": "TCP", "port": 443, "targetPort": location.port}
    service = _object(
        "v1",
        "Service",
        "kubernetes",
        namespace="default",
        labels={"component": "apiserver", "provider": "kubernetes"},
        spec={"clusterIP": first, "clusterIPs": [first], "type": "ClusterIP", "ports": [port]},
    )
    yield service
    if not location.address:
        return
    ports = [{"name": "https", "port": location.port, "protocol": "TCP"}]
    yield _object(
        "v1",
        "Endpoints",
        "kubernetes",
        namespace="default",
        labels={"endpointslice.kubernetes.io/skip-mirror": "true"},
        subsets=[{"addresses": [{"ip": location.address}], "ports": ports}],
    )
    yield _object(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        "kubernetes",
        namespace="default",
        labels={"kubernetes.io/service-name": "kubernetes"},
        addressType=f"IPv{ipaddress.ip_address(location.address).version}",
        endpoints=[{"addresses": [location.address], "conditions": {"ready": True}}],
        ports=ports,
    )


def _service_cidr(location: ServerLocation, now: str) -> Obj:
    """Return the ServiceCIDR of --service-cluster-ip-range, with its finalizer, as in a real cluster."""
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
        "lastTransitionTime": now,
    }
    obj = _object(
        "networking.k8s.io/v1",
        "ServiceCIDR",
        "kubernetes",
        spec={"cidrs": location.services.split(",")},
        status={"conditions": [ready]},
    )
    obj["metadata"]["finalizers"] = ["networking.k8s.io/service-cidr-finalizer"]
    return obj


def _api_services(groups: Mapping[str, Iterable[str]]) -> Iterator[Obj]:
    for group, versions in groups.items():
        if group == AGGREGATOR:
            continue
        for version in versions:
            yield _object(
                "apiregistration.k8s.io/v1",
                "APIService",
                f"{version}.{group}",
                labels={"kube-aggregator.kubernetes.io/automanaged": "onstart"},
                spec={
                    "group": group,
                    "version": version,
                    "groupPriorityMinimum": GROUP_PRIORITIES.get(group, OTHER_PRIORITY),
                    "versionPriority": version_priority(group, version),
                },
            )


def version_priority(group: str, version: str) -> int:
    """Return the versionPriority of an APIService: the higher, the more preferred."""
    if not group:
        return 1
    if "alpha" in version:
        return 1
    if "beta" in version:
        return 9
    return 15 * int(version.removeprefix("v"))


def _object(version: str, kind: str, name: str, *, namespace: str = "", labels: object = None, **parts: object) -> Obj:
    meta: Obj = {"name": name}
    if namespace:
        meta["namespace"] = namespace
    if labels:
        meta["labels"] = labels
    return {"apiVersion": version, "kind": kind, "metadata": meta, **parts}
