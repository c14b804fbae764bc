"""Rows of what makes up and runs a cluster: nodes, namespaces, configuration, leases, the API itself."""

from typing import Any

from apiserver.api.meta import Obj, metadata, name_of
from apiserver.endpoints.tables.columns import AGE, CORE, META, NAME, Column, Printer, Printers
from apiserver.endpoints.tables.fields import (
    NONE,
    UNKNOWN,
    UNSET,
    Cells,
    condition_of,
    count,
    flag,
    mapping,
    mappings,
    number,
    quantity,
    shown,
    text,
)
from apiserver.endpoints.tables.format import age

_FLOW = "io.k8s.api.flowcontrol.v1."
_STORAGE_VERSION = "io.k8s.api.apiserverinternal.v1alpha1.StorageVersionStatus"

_ROLE_PREFIX = "node-role.kubernetes.io/"


def _node_status(node: Obj) -> str:
    # The last condition of a type counts, unlike elsewhere.
    ready = [c for c in mappings(mapping(node, "status"), "conditions") if c.get("type") == "Ready"]
    state = "Unknown" if not ready else "Ready" if ready[-1].get("status") == "True" else "NotReady"
    return f"{state},SchedulingDisabled" if flag(mapping(node, "spec"), "unschedulable") else state


def _node_roles(node: Obj) -> str:
    labels = mapping(metadata(node), "labels")
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(text(labels, "kubernetes.io/role"))
    return ",".join(sorted(roles - {""})) or NONE


def _node_address(status: Obj, kind: str) -> str:
    addresses = (text(a, "address") for a in mappings(status, "addresses") if a.get("type") == kind)
    return next(addresses, NONE)


_NODE_SOFTWARE = (
    ("OS-Image", "osImage"),
    ("Kernel-Version", "kernelVersion"),
    ("Container-Runtime", "containerRuntimeVersion"),
)


def _node(obj: Obj) -> Cells:
    status = mapping(obj, "status")
    info = mapping(status, "nodeInfo")
    return [
        name_of(obj),
        _node_status(obj),
        _node_roles(obj),
        age(obj),
        text(info, "kubeletVersion"),
        _node_address(status, "InternalIP"),
        _node_address(status, "ExternalIP"),
        *[text(info, field) or UNKNOWN for _, field in _NODE_SOFTWARE],
    ]


def _namespace(obj: Obj) -> Cells:
    return [name_of(obj), text(mapping(obj, "status"), "phase"), age(obj)]


def _component_status(obj: Obj) -> Cells:
    healthy = condition_of(obj, "Healthy")
    if healthy is None:
        return [name_of(obj), "Unknown", "", ""]
    state = "Healthy" if healthy.get("status") == "True" else "Unhealthy"
    return [name_of(obj), state, text(healthy, "message"), text(healthy, "error")]


def _config_map(obj: Obj) -> Cells:
    return [name_of(obj), count(obj, "data") + count(obj, "binaryData"), age(obj)]


def _secret(obj: Obj) -> Cells:
    return [name_of(obj), text(obj, "type"), count(obj, "data"), age(obj)]


def _service_account(obj: Obj) -> Cells:
    return [name_of(obj), count(obj, "secrets"), age(obj)]


def _resource_quota(obj: Obj) -> Cells:
    status = mapping(obj, "status")
    hard, used = mapping(status, "hard"), mapping(status, "used")
    lines = [(name, f"{name}: {quantity(used, name)}/{quantity(hard, name)}") for name in sorted(hard)]
    requests = ", ".join([line for name, line in lines if not name.startswith("limits.")])
    limits = ", ".join([line for name, line in lines if name.startswith("limits.")])
    return [name_of(obj), requests, limits, age(obj)]


def _runtime_class(obj: Obj) -> Cells:
    return [name_of(obj), text(obj, "handler"), age(obj)]


def _lease(obj: Obj) -> Cells:
    return [name_of(obj), text(mapping(obj, "spec"), "holderIdentity"), age(obj)]


def _lease_candidate(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    return [name_of(obj), *[text(spec, key) for key in ("leaseName", "binaryVersion", "emulationVersion")], age(obj)]


def _flow_schema(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    method, dangling = spec.get("distinguisherMethod"), condition_of(mapping(obj, "status"), "Dangling")
    return [
        name_of(obj),
        text(mapping(spec, "priorityLevelConfiguration"), "name"),
        number(spec, "matchingPrecedence"),
        text(method, "type") if isinstance(method, dict) else NONE,
        age(obj),
        "?" if dangling is None else text(dangling, "status"),
    ]


def _flow_schema_order(obj: Obj) -> tuple[int, str]:
    """The order in which flow schemas are tried on a request."""
    return number(mapping(obj, "spec"), "matchingPrecedence"), name_of(obj)


_QUEUING = (("Queues", "queues"), ("HandSize", "handSize"), ("QueueLengthLimit", "queueLengthLimit"))


def _priority_level(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    limited = spec.get("limited")
    shares: Any = NONE
    queuing = None
    if isinstance(limited, dict):
        shares = number(limited, "nominalConcurrencyShares")
        queuing = mapping(limited, "limitResponse").get("queuing")
    queues = [number(queuing, key) if isinstance(queuing, dict) else NONE for _, key in _QUEUING]
    return [name_of(obj), text(spec, "type"), shares, *queues, age(obj)]


def _storage_version(obj: Obj) -> Cells:
    status = mapping(obj, "status")
    versions = [
        f"{text(version, 'apiServerID')}={text(version, 'encodingVersion')}"
        for version in mappings(status, "storageVersions")
    ]
    return [name_of(obj), text(status, "commonEncodingVersion", UNSET), shown(versions) or UNSET, age(obj)]


_MIGRATION_STATES = frozenset({"Running", "Failed", "Succeeded"})


def _storage_version_migration(obj: Obj) -> Cells:
    resource = mapping(mapping(obj, "spec"), "resource")
    group = f".{text(resource, 'group')}" if text(resource, "group") else ""
    conditions = [c for c in mappings(mapping(obj, "status"), "conditions") if c.get("status") == "True"]
    states = [state for c in conditions if (state := text(c, "type")) in _MIGRATION_STATES]
    return [name_of(obj), f"{text(resource, 'resource')}{group}", states[-1] if states else "Unknown"]


def _api_service(obj: Obj) -> Cells:
    service = mapping(obj, "spec").get("service")
    where = f"{text(service, 'namespace')}/{text(service, 'name')}" if isinstance(service, dict) else "Local"
    return [name_of(obj), where, _availability(mapping(obj, "status")), age(obj)]


def _availability(status: Obj) -> str:
    available = condition_of(status, "Available") or {"status": "Unknown"}
    state, reason = text(available, "status"), text(available, "reason")
    return f"{state} ({reason})" if reason and state != "True" else state


def _status(obj: Obj) -> Cells:
    return [text(obj, "status"), text(obj, "reason"), text(obj, "message")]


PRINTERS: Printers = {
    ("", "Node"): Printer(
        columns=(
            NAME,
            Column("Status", "Whether the node is ready, and whether it takes new pods."),
            Column("Roles", "The roles that the node's labels give it."),
            AGE,
            Column("Version", f"{CORE}NodeSystemInfo#kubeletVersion"),
            Column("Internal-IP", f"{CORE}NodeStatus#addresses", priority=1),
            Column("External-IP", f"{CORE}NodeStatus#addresses", priority=1),
            *(Column(name, f"{CORE}NodeSystemInfo#{field}", priority=1) for name, field in _NODE_SOFTWARE),
        ),
        cells=_node,
    ),
    ("", "Namespace"): Printer(columns=(NAME, Column("Status", f"{CORE}NamespaceStatus#phase"), AGE), cells=_namespace),
    ("", "ComponentStatus"): Printer(
        columns=(
            NAME,
            Column("Status", "Whether the component is healthy."),
            Column("Message", f"{CORE}ComponentCondition#message"),
            Column("Error", f"{CORE}ComponentCondition#error"),
        ),
        cells=_component_status,
    ),
    ("", "ConfigMap"): Printer(columns=(NAME, Column("Data", f"{CORE}ConfigMap#data"), AGE), cells=_config_map),
    ("", "Secret"): Printer(
        columns=(NAME, Column("Type", f"{CORE}Secret#type"), Column("Data", f"{CORE}Secret#data"), AGE),
        cells=_secret,
    ),
    ("", "ServiceAccount"): Printer(
        columns=(NAME, Column("Secrets", f"{CORE}ServiceAccount#secrets"), AGE), cells=_service_account
    ),
    ("", "ResourceQuota"): Printer(
        columns=(
            NAME,
            Column("Request", "What is requested of each resource, and what may be."),
            Column("Limit", "What the limits of each resource add up to, and what they may."),
            AGE,
        ),
        cells=_resource_quota,
    ),
    ("", "Status"): Printer(
        columns=tuple(Column(field.capitalize(), f"{META}Status#{field}") for field in ("status", "reason", "message")),
        cells=_status,
    ),
    ("node.k8s.io", "RuntimeClass"): Printer(
        columns=(NAME, Column("Handler", "io.k8s.api.node.v1.RuntimeClass#handler"), AGE), cells=_runtime_class
    ),
    ("coordination.k8s.io", "Lease"): Printer(
        columns=(NAME, Column("Holder", "io.k8s.api.coordination.v1.LeaseSpec#holderIdentity"), AGE), cells=_lease
    ),
    ("coordination.k8s.io", "LeaseCandidate"): Printer(
        columns=(
            NAME,
            Column("LeaseName", "io.k8s.api.coordination.v1beta1.LeaseCandidateSpec#leaseName"),
            Column("BinaryVersion", "io.k8s.api.coordination.v1beta1.LeaseCandidateSpec#binaryVersion"),
            Column("EmulationVersion", "io.k8s.api.coordination.v1beta1.LeaseCandidateSpec#emulationVersion"),
            AGE,
        ),
        cells=_lease_candidate,
    ),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): Printer(
        columns=(
            NAME,
            Column("PriorityLevel", f"{_FLOW}PriorityLevelConfigurationReference#name"),
            Column("MatchingPrecedence", f"{_FLOW}FlowSchemaSpec#matchingPrecedence"),
            Column("DistinguisherMethod", f"{_FLOW}FlowSchemaSpec#distinguisherMethod"),
            AGE,
            Column("MissingPL", "Whether the priority level is missing."),
        ),
        cells=_flow_schema,
        order=_flow_schema_order,
    ),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): Printer(
        columns=(
            NAME,
            Column("Type", f"{_FLOW}PriorityLevelConfigurationSpec#type"),
            Column("NominalConcurrencyShares", f"{_FLOW}LimitedPriorityLevelConfiguration#nominalConcurrencyShares"),
            *(Column(name, f"{_FLOW}QueuingConfiguration#{key}") for name, key in _QUEUING),
            AGE,
        ),
        cells=_priority_level,
    ),
    ("internal.apiserver.k8s.io", "StorageVersion"): Printer(
        columns=(
            NAME,
            Column("CommonEncodingVersion", f"{_STORAGE_VERSION}#commonEncodingVersion"),
            Column("StorageVersions", f"{_STORAGE_VERSION}#storageVersions"),
            AGE,
        ),
        cells=_storage_version,
    ),
    ("storagemigration.k8s.io", "StorageVersionMigration"): Printer(
        columns=(
            Column("Name", f"{META}ObjectMeta#name"),
            Column("Resource", "The resource to migrate, with its group."),
            Column("Status", "How far the migration is, in one word."),
        ),
        cells=_storage_version_migration,
    ),
    ("apiregistration.k8s.io", "APIService"): Printer(
        columns=(
            NAME,
            Column("Service", "The service that serves the API, or Local."),
            Column("Available", "Whether the API is served."),
            AGE,
        ),
        cells=_api_service,
    ),
}
