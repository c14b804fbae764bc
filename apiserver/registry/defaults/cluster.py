"""The cluster's own objects: namespaces, nodes, secrets, limits, priorities, runtimes and bindings of roles."""

from base64 import b64encode

from apiserver.api.meta import Obj
from apiserver.registry.defaults.quantities import round_up_to_milli

RBAC_GROUP = "rbac.authorization.k8s.io"
NAME_LABEL = "kubernetes.io/metadata.name"
_LIMIT_LISTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def default_namespace(namespace: Obj) -> None:
    """Defaults a namespace: active, and labelled with its own name once it has one."""
    meta = namespace.setdefault("metadata", {})
    if name := meta.get("name"):
        meta["labels"] = (meta.get("labels") or {}) | {NAME_LABEL: name}
    namespace.setdefault("status", {}).setdefault("phase", "Active")


def default_node(node: Obj) -> None:
    """Defaults a node: all it has is for pods; podCIDR is the first of podCIDRs, and rules (conversion)."""
    status = node.setdefault("status", {})
    round_up_to_milli(status.get("capacity"))
    if "capacity" in status and "allocatable" not in status:
        status["allocatable"] = dict(status["capacity"])
    round_up_to_milli(status.get("allocatable"))
    spec = node.setdefault("spec", {})
    block, blocks = spec.get("podCIDR"), spec.get("podCIDRs")
    if block and (not blocks or blocks[0] != block):
        spec["podCIDRs"] = [block]
    elif blocks:
        spec["podCIDR"] = blocks[0]


def default_secret(secret: Obj) -> None:
    """Defaults a secret's type; stringData, which is only ever written, goes into data (conversion)."""
    secret.setdefault("type", "Opaque")
    plain = secret.pop("stringData", None)
    if plain:
        encoded = {key: b64encode(text.encode()).decode() for key, text in plain.items()}
        secret["data"] = (secret.get("data") or {}) | encoded


def default_limit_range(limit_range: Obj) -> None:
    """Defaults the limits of containers: default from max, defaultRequest from default and min."""
    for item in (limit_range.get("spec") or {}).get("limits") or ():
        if item.get("type") == "Container":
            _default_container_limit(item)
        for name in _LIMIT_LISTS:
            round_up_to_milli(item.get(name))


def default_resource_quota(quota: Obj) -> None:
    """Rounds a quota's amounts."""
    round_up_to_milli((quota.get("spec") or {}).get("hard"))
    status = quota.get("status") or {}
    round_up_to_milli(status.get("hard"))
    round_up_to_milli(status.get("used"))


def default_priority_class(priority_class: Obj) -> None:
    """Defaults a priority class: it may displace others."""
    priority_class.setdefault("preemptionPolicy", "PreemptLowerPriority")


def default_runtime_class(runtime_class: Obj) -> None:
    """Rounds a runtime class' overhead."""
    round_up_to_milli((runtime_class.get("overhead") or {}).get("podFixed"))


def default_role_binding(binding: Obj) -> None:
    """Defaults the groups of a binding's role and of its users and groups; accounts are of the core group."""
    role = binding.setdefault("roleRef", {})
    role["apiGroup"] = role.get("apiGroup") or RBAC_GROUP
    for subject in binding.get("subjects") or ():
        if subject.get("kind") in {"User", "Group"}:
            subject.setdefault("apiGroup", RBAC_GROUP)


def _default_container_limit(item: Obj) -> None:
    default = item.get("max", {}) | item.get("default", {})
    request = item.get("min", {}) | default | item.get("defaultRequest", {})
    if default:
        item["default"] = default
    if request:
        item["defaultRequest"] = request
