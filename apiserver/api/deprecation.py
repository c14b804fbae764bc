"""Deprecated kinds: since when, until when, and their replacements (APILifecycle… of k8s.io/api)."""

from collections.abc import Mapping
from typing import NamedTuple


class Lifecycle(NamedTuple):
    """The deprecation of a kind; releases are minor versions of Kubernetes 1.

    Attributes:
        deprecated: the first release that warns clients.
        removed: the first release without the kind, 0 if its removal is not planned.
        replacement: such as "apps/v1 Deployment", "" if the types name none.
    """

    deprecated: int
    removed: int = 0
    replacement: str = ""


_BETA_OF_FLOW_CONTROL = "flowcontrol.apiserver.k8s.io/v1beta3"

LIFECYCLES: Mapping[tuple[str, str], Lifecycle] = {
    ("v1", "ComponentStatus"): Lifecycle(19),
    ("v1", "Endpoints"): Lifecycle(33, 0, "discovery.k8s.io/v1 EndpointSlice"),
    ("admissionregistration.k8s.io/v1alpha1", "MutatingAdmissionPolicy"): Lifecycle(35, 38),
    ("admissionregistration.k8s.io/v1alpha1", "MutatingAdmissionPolicyBinding"): Lifecycle(35, 38),
    ("admissionregistration.k8s.io/v1alpha1", "ValidatingAdmissionPolicy"): Lifecycle(29, 32),
    ("admissionregistration.k8s.io/v1alpha1", "ValidatingAdmissionPolicyBinding"): Lifecycle(29, 32),
    ("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicy"): Lifecycle(
        37, 40, "admissionregistration.k8s.io/v1 MutatingAdmissionPolicy"
    ),
    ("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicyBinding"): Lifecycle(
        37, 40, "admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding"
    ),
    ("admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicy"): Lifecycle(31, 34),
    ("admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicyBinding"): Lifecycle(31, 34),
    ("authentication.k8s.io/v1alpha1", "SelfSubjectReview"): Lifecycle(29, 32),
    ("authentication.k8s.io/v1beta1", "SelfSubjectReview"): Lifecycle(30, 33),
    ("certificates.k8s.io/v1alpha1", "ClusterTrustBundle"): Lifecycle(34, 37),
    ("certificates.k8s.io/v1beta1", "ClusterTrustBundle"): Lifecycle(
        37, 40, "certificates.k8s.io/v1 ClusterTrustBundle"
    ),
    ("certificates.k8s.io/v1beta1", "PodCertificateRequest"): Lifecycle(
        37, 40, "certificates.k8s.io/v1 PodCertificateRequest"
    ),
    ("coordination.k8s.io/v1alpha2", "LeaseCandidate"): Lifecycle(35, 38),
    ("coordination.k8s.io/v1beta1", "LeaseCandidate"): Lifecycle(36, 39),
    ("flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema"): Lifecycle(23, 26, f"{_BETA_OF_FLOW_CONTROL} FlowSchema"),
    ("flowcontrol.apiserver.k8s.io/v1beta1", "PriorityLevelConfiguration"): Lifecycle(
        23, 26, f"{_BETA_OF_FLOW_CONTROL} PriorityLevelConfiguration"
    ),
    ("flowcontrol.apiserver.k8s.io/v1beta2", "FlowSchema"): Lifecycle(26, 29, f"{_BETA_OF_FLOW_CONTROL} FlowSchema"),
    ("flowcontrol.apiserver.k8s.io/v1beta2", "PriorityLevelConfiguration"): Lifecycle(
        26, 29, f"{_BETA_OF_FLOW_CONTROL} PriorityLevelConfiguration"
    ),
    ("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema"): Lifecycle(
        29, 32, "flowcontrol.apiserver.k8s.io/v1 FlowSchema"
    ),
    ("flowcontrol.apiserver.k8s.io/v1beta3", "PriorityLevelConfiguration"): Lifecycle(
        29, 32, "flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration"
    ),
    ("networking.k8s.io/v1beta1", "IPAddress"): Lifecycle(34, 37),
    ("networking.k8s.io/v1beta1", "ServiceCIDR"): Lifecycle(34, 37),
    ("resource.k8s.io/v1alpha3", "DeviceTaintRule"): Lifecycle(36, 39),
    ("resource.k8s.io/v1beta1", "DeviceClass"): Lifecycle(35, 38),
    ("resource.k8s.io/v1beta1", "ResourceClaim"): Lifecycle(35, 38),
    ("resource.k8s.io/v1beta1", "ResourceClaimTemplate"): Lifecycle(35, 38),
    ("resource.k8s.io/v1beta1", "ResourceSlice"): Lifecycle(35, 38),
    ("resource.k8s.io/v1beta2", "DeviceClass"): Lifecycle(36, 39),
    ("resource.k8s.io/v1beta2", "ResourceClaim"): Lifecycle(36, 39),
    ("resource.k8s.io/v1beta2", "ResourceClaimTemplate"): Lifecycle(36, 39),
    ("resource.k8s.io/v1beta2", "ResourceSlice"): Lifecycle(36, 39),
    ("storage.k8s.io/v1alpha1", "VolumeAttributesClass"): Lifecycle(32, 35, "storage.k8s.io/v1 VolumeAttributesClass"),
    ("storage.k8s.io/v1beta1", "CSIStorageCapacity"): Lifecycle(24, 27, "storage.k8s.io/v1 CSIStorageCapacity"),
    ("storage.k8s.io/v1beta1", "VolumeAttributesClass"): Lifecycle(34, 37, "storage.k8s.io/v1 VolumeAttributesClass"),
    ("storagemigration.k8s.io/v1beta1", "StorageVersionMigration"): Lifecycle(
        37, 40, "storagemigration.k8s.io/v1 StorageVersionMigration"
    ),
}
"""(apiVersion, kind) → its deprecation, for all kinds that some release from 1.25 to 1.37 serves and warns about."""


def deprecation_warning(api_version: str, kind: str, minor: int) -> str:
    """Return a release's warning to users of a kind, or "" if it has none (deprecation.WarningMessage).

    Args:
        api_version: such as "apps/v1".
        kind: such as "Deployment".
        minor: the minor version of the release.
    """
    lifecycle = LIFECYCLES.get((api_version, kind))
    if lifecycle is None or lifecycle.deprecated > minor:
        return ""
    text = f"{api_version} {kind} is deprecated in v1.{lifecycle.deprecated}+"
    if lifecycle.removed:
        text += f", unavailable in v1.{lifecycle.removed}+"
    return f"{text}; use {lifecycle.replacement}" if lifecycle.replacement else text
