"""Strategies: what creation and updates do to an object of each kind, as one table.

Belongs here: PrepareForCreate and PrepareForUpdate of pkg/registry/*/*/strategy.go and the answers of their one-line
methods; pure, in place on the new object, with the old one left alone. The part common to all kinds (rest.BeforeCreate
and BeforeUpdate: uid, timestamps, resourceVersion, the generation taken from the old object) is the caller's. Not
here: defaults, which need no old object; validation; allocation of addresses and ports.
"""

from collections.abc import Mapping

from apiserver.api.resources import Resource
from apiserver.registry.strategy import cluster, extension, pods, services, workloads
from apiserver.registry.strategy.contract import (
    METADATA_OF_STATUS,
    Strategy,
    creation,
    nothing,
    status_updating,
    unchanged,
    updating,
)

__all__ = ["CUSTOM", "CUSTOM_WITH_STATUS", "STRATEGIES", "SUBRESOURCES", "Strategy", "strategy_of"]

CUSTOM, CUSTOM_WITH_STATUS = extension.CUSTOM, extension.CUSTOM_WITH_STATUS

_PLAIN = Strategy(nothing, unchanged, unchanged)
_PINNED = Strategy(nothing, unchanged, unchanged, allow_unconditional_update=False)
_COUNTED = Strategy(creation(), updating("spec", status=False), unchanged)
_COUNTED_PINNED = Strategy(creation(), updating("spec", status=False), unchanged, allow_unconditional_update=False)
_WEBHOOKS = Strategy(creation(), updating("webhooks", status=False), unchanged, allow_unconditional_update=False)
_WITH_STATUS = Strategy(creation(status=dict, generation=False), updating(), status_updating(), has_status=True)
_GUARDED_STATUS = Strategy(
    creation(status=dict, generation=False), updating(), status_updating(*METADATA_OF_STATUS), has_status=True
)
_COUNTED_STATUS = Strategy(
    creation(status=dict), updating("spec"), status_updating(*METADATA_OF_STATUS), has_status=True
)
_COUNTED_STATUS_PINNED = Strategy(
    creation(status=dict),
    updating("spec"),
    status_updating(*METADATA_OF_STATUS),
    has_status=True,
    allow_unconditional_update=False,
)
_OWN_STATUS = Strategy(nothing, unchanged, status_updating(*METADATA_OF_STATUS))
"""Of a kind whose main resource writes the status too."""

STRATEGIES: Mapping[tuple[str, str], Strategy] = {
    ("", "ComponentStatus"): _PLAIN,
    ("", "ConfigMap"): _PLAIN,
    ("", "Endpoints"): _PLAIN,
    ("", "Event"): _PLAIN,
    ("", "LimitRange"): _PLAIN,
    ("", "Namespace"): cluster.NAMESPACE,
    ("", "Node"): Strategy(nothing, updating(), status_updating()),
    ("", "PersistentVolume"): cluster.PERSISTENT_VOLUME,
    ("", "PersistentVolumeClaim"): cluster.PERSISTENT_VOLUME_CLAIM,
    ("", "Pod"): pods.POD,
    ("", "PodTemplate"): Strategy(creation(), updating("template", status=False), unchanged),
    ("", "ReplicationController"): workloads.REPLICATION_CONTROLLER,
    ("", "ResourceQuota"): _WITH_STATUS,
    ("", "Secret"): _PLAIN,
    ("", "Service"): services.SERVICE,
    ("", "ServiceAccount"): cluster.SERVICE_ACCOUNT,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): _COUNTED_PINNED,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): _COUNTED_PINNED,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): _COUNTED_STATUS_PINNED,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): _COUNTED_PINNED,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): extension.CUSTOM_RESOURCE_DEFINITION,
    ("apiregistration.k8s.io", "APIService"): extension.API_SERVICE,
    ("apps", "ControllerRevision"): _PLAIN,
    ("apps", "DaemonSet"): workloads.DAEMON_SET,
    ("apps", "Deployment"): workloads.DEPLOYMENT,
    ("apps", "ReplicaSet"): workloads.REPLICA_SET,
    ("apps", "StatefulSet"): workloads.STATEFUL_SET,
    ("autoscaling", "HorizontalPodAutoscaler"): workloads.AUTOSCALER,
    ("batch", "CronJob"): workloads.CRON_JOB,
    ("batch", "Job"): workloads.JOB,
    ("certificates.k8s.io", "CertificateSigningRequest"): extension.CERTIFICATE_SIGNING_REQUEST,
    ("certificates.k8s.io", "ClusterTrustBundle"): _PINNED,
    ("certificates.k8s.io", "PodCertificateRequest"): Strategy(
        creation(status=dict, generation=False),
        updating(),
        status_updating(*METADATA_OF_STATUS),
        has_status=True,
        allow_unconditional_update=False,
    ),
    ("coordination.k8s.io", "Lease"): _PINNED,
    ("coordination.k8s.io", "LeaseCandidate"): _PINNED,
    ("discovery.k8s.io", "EndpointSlice"): Strategy(creation(), extension.update_endpoint_slice, unchanged),
    ("events.k8s.io", "Event"): _PLAIN,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): _COUNTED_STATUS,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): _COUNTED_STATUS,
    ("internal.apiserver.k8s.io", "StorageVersion"): Strategy(
        creation(status=dict, generation=False),
        updating(),
        status_updating(),
        has_status=True,
        allow_unconditional_update=False,
    ),
    ("lifecycle.k8s.io", "Eviction"): _GUARDED_STATUS,
    ("lifecycle.k8s.io", "EvictionRequest"): _GUARDED_STATUS,
    ("networking.k8s.io", "IPAddress"): _PLAIN,
    ("networking.k8s.io", "Ingress"): Strategy(
        creation(status=lambda: {"loadBalancer": {}}), updating("spec"), status_updating(), has_status=True
    ),
    ("networking.k8s.io", "IngressClass"): _COUNTED,
    ("networking.k8s.io", "NetworkPolicy"): _COUNTED,
    ("networking.k8s.io", "ServiceCIDR"): _OWN_STATUS,
    ("node.k8s.io", "RuntimeClass"): _PINNED,
    ("policy", "PodDisruptionBudget"): Strategy(
        creation(status=lambda: {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}),
        updating("spec"),
        status_updating(),
        has_status=True,
        allow_unconditional_update=False,
    ),
    ("rbac.authorization.k8s.io", "ClusterRole"): _PLAIN,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _PLAIN,
    ("rbac.authorization.k8s.io", "Role"): _PLAIN,
    ("rbac.authorization.k8s.io", "RoleBinding"): _PLAIN,
    ("resource.k8s.io", "DeviceClass"): _COUNTED,
    ("resource.k8s.io", "DeviceTaintRule"): _COUNTED_STATUS,
    ("resource.k8s.io", "ResourceClaim"): _GUARDED_STATUS,
    ("resource.k8s.io", "ResourceClaimTemplate"): _PLAIN,
    ("resource.k8s.io", "ResourcePoolStatusRequest"): Strategy(
        nothing, updating(), status_updating(*METADATA_OF_STATUS), has_status=True
    ),
    ("resource.k8s.io", "ResourceSlice"): _COUNTED,
    ("scheduling.k8s.io", "CompositePodGroup"): _GUARDED_STATUS,
    ("scheduling.k8s.io", "PodGroup"): _GUARDED_STATUS,
    ("scheduling.k8s.io", "PriorityClass"): Strategy(creation(), unchanged, unchanged),
    ("scheduling.k8s.io", "Workload"): _PLAIN,
    ("storage.k8s.io", "CSIDriver"): _COUNTED_PINNED,
    ("storage.k8s.io", "CSINode"): Strategy(
        nothing, updating(), status_updating(), has_status=True, allow_unconditional_update=False
    ),
    ("storage.k8s.io", "CSIStorageCapacity"): _PINNED,
    ("storage.k8s.io", "StorageClass"): _PLAIN,
    ("storage.k8s.io", "VolumeAttachment"): Strategy(
        creation(status=lambda: {"attached": False}, generation=False),
        updating(),
        status_updating(*METADATA_OF_STATUS),
        has_status=True,
        allow_unconditional_update=False,
    ),
    ("storage.k8s.io", "VolumeAttributesClass"): _PLAIN,
    ("storagemigration.k8s.io", "StorageVersionMigration"): _COUNTED_STATUS_PINNED,
}
"""(group, kind) -> its strategy; a kind that is absent is a custom one."""

SUBRESOURCES: Mapping[tuple[str, str, str], Strategy] = {
    ("", "Namespace", "finalize"): cluster.NAMESPACE_FINALIZE,
    ("", "Pod", "ephemeralcontainers"): pods.POD_EPHEMERAL_CONTAINERS,
    ("", "Pod", "resize"): pods.POD_RESIZE,
    ("certificates.k8s.io", "CertificateSigningRequest", "approval"): extension.CERTIFICATE_SIGNING_REQUEST_APPROVAL,
}
"""(group, kind, subresource) -> the strategy whose prepare_update serves it; all but /status and /scale."""


def strategy_of(resource: Resource) -> Strategy:
    """The strategy of a row: a custom kind guards its status only where it serves it as a subresource."""
    custom = CUSTOM_WITH_STATUS if "status" in resource.subresources else CUSTOM
    return STRATEGIES.get((resource.group, resource.kind), custom)
