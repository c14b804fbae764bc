"""Defaults: what Kubernetes fills in where an object says nothing, as one table of functions by kind.

Belongs here: what pkg/apis/*/*/defaults.go and `+default` markers set, and the mirroring of deprecated fields that
conversions do. Pure, in place, on an object that the decoder has just made: nulls and empty optional values are gone
and quantities canonical. Not here: what creation alone sets (strategy), what admission and allocation decide.
Functions address fields directly, since every write runs them; a shared constant table stands where a loop suffices.
"""

from collections.abc import Callable, Mapping

from apiserver.api.meta import Obj
from apiserver.registry.defaults import autoscaling, cluster, extension, pods, services, storage, workloads

Default = Callable[[Obj], None]

DEFAULTS: Mapping[tuple[str, str], Default] = {
    ("", "Endpoints"): services.default_endpoints,
    ("", "LimitRange"): cluster.default_limit_range,
    ("", "Namespace"): cluster.default_namespace,
    ("", "Node"): cluster.default_node,
    ("", "PersistentVolume"): storage.default_volume,
    ("", "PersistentVolumeClaim"): storage.default_claim,
    ("", "Pod"): pods.default_pod,
    ("", "PodTemplate"): workloads.default_pod_template,
    ("", "ReplicationController"): workloads.default_replication_controller,
    ("", "ResourceQuota"): cluster.default_resource_quota,
    ("", "Secret"): cluster.default_secret,
    ("", "Service"): services.default_service,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): extension.default_admission_policy,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): extension.default_admission_policy_binding,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): extension.default_mutating_webhooks,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): extension.default_admission_policy,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): extension.default_admission_policy_binding,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): extension.default_validating_webhooks,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): extension.default_definition,
    ("apiregistration.k8s.io", "APIService"): extension.default_api_service,
    ("apps", "DaemonSet"): workloads.default_daemon_set,
    ("apps", "Deployment"): workloads.default_deployment,
    ("apps", "ReplicaSet"): workloads.default_replica_set,
    ("apps", "StatefulSet"): workloads.default_stateful_set,
    ("batch", "CronJob"): workloads.default_cron_job,
    ("batch", "Job"): workloads.default_job,
    ("certificates.k8s.io", "PodCertificateRequest"): extension.default_pod_certificate_request,
    ("discovery.k8s.io", "EndpointSlice"): services.default_endpoint_slice,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): extension.default_flow_schema,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): extension.default_priority_level,
    ("networking.k8s.io", "IngressClass"): services.default_ingress_class,
    ("networking.k8s.io", "NetworkPolicy"): services.default_network_policy,
    ("node.k8s.io", "RuntimeClass"): cluster.default_runtime_class,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): cluster.default_role_binding,
    ("rbac.authorization.k8s.io", "RoleBinding"): cluster.default_role_binding,
    ("resource.k8s.io", "ResourceClaim"): extension.default_resource_claim,
    ("resource.k8s.io", "ResourceClaimTemplate"): extension.default_resource_claim_template,
    ("scheduling.k8s.io", "PriorityClass"): cluster.default_priority_class,
    ("storage.k8s.io", "CSIDriver"): storage.default_csi_driver,
    ("storage.k8s.io", "StorageClass"): storage.default_storage_class,
}
"""(group, kind) -> the function that defaults an object in place, in every version; absent: no defaults."""

VERSION_DEFAULTS: Mapping[tuple[str, str, str], Default] = {
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): autoscaling.default_autoscaler_v1,
    ("autoscaling", "v2", "HorizontalPodAutoscaler"): autoscaling.default_autoscaler_v2,
    ("autoscaling", "v2beta2", "HorizontalPodAutoscaler"): autoscaling.default_autoscaler_v2,
}
"""(group, version, kind) -> the function of a kind whose versions differ."""

BESIDE_SPEC: Mapping[tuple[str, str], Default] = {("", "Pod"): pods.default_pod_status}
"""(group, kind) -> what its defaults do outside the spec, for objects whose spec comes with its defaults."""


def set_defaults(group: str, version: str, kind: str, obj: Obj) -> None:
    """Defaults a freshly decoded object in place; does nothing for a kind without defaults."""
    default = DEFAULTS.get((group, kind)) or VERSION_DEFAULTS.get((group, version, kind))
    if default is not None:
        default(obj)
