"""The admission plug-ins in the order in which they are called, and the choice of those that run.

The order and the defaults are those of pkg/kubeapiserver/options/plugins.go (AllOrderedPlugins,
DefaultOffAdmissionPlugins).
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from apiserver.admission.always import AlwaysAdmit, AlwaysDeny
from apiserver.admission.always_pull_images import AlwaysPullImages
from apiserver.admission.certificate_requester import CertificateRequester
from apiserver.admission.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
)
from apiserver.admission.default_ingress_class import DefaultIngressClass
from apiserver.admission.default_storage_class import DefaultStorageClass
from apiserver.admission.default_toleration_seconds import DefaultTolerationSeconds
from apiserver.admission.extended_resource_toleration import ExtendedResourceToleration
from apiserver.admission.kruise_sets import KruiseSets
from apiserver.admission.limit_ranger import LimitRanger
from apiserver.admission.matching import Matcher
from apiserver.admission.metrics import AdmissionMetrics
from apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from apiserver.admission.owner_references import OwnerReferencesPermissionEnforcement
from apiserver.admission.persistent_volume_claim_resize import PersistentVolumeClaimResize
from apiserver.admission.pod_node_selector import PodNodeSelector
from apiserver.admission.podsecurity.plugin import PodSecurity
from apiserver.admission.policy.validating import ValidatingAdmissionPolicy
from apiserver.admission.priority import Priority
from apiserver.admission.resource_quota import ResourceQuota
from apiserver.admission.runtime_class import RuntimeClass
from apiserver.admission.service_account import ServiceAccount
from apiserver.admission.storage_protection import StorageObjectInUseProtection
from apiserver.admission.taint_nodes_by_condition import TaintNodesByCondition
from apiserver.admission.united_deployment import UnitedDeployments
from apiserver.admission.webhook.caller import WebhookCaller
from apiserver.admission.webhook.mutating import MutatingAdmissionWebhook
from apiserver.admission.webhook.objects import ReviewObjects
from apiserver.admission.webhook.validating import ValidatingAdmissionWebhook
from apiserver.registry.admission import Plugin
from apiserver.registry.authorizer import Authorizer
from apiserver.registry.context import Registry
from etcd.store import Store


class PluginContext(NamedTuple):
    """The collaborators and settings that plug-ins are made of (initializer.New).

    Attributes:
        registry: the collaborators of the verbs.
        metrics: counts the calls of webhooks.
        authorizer: decides who may do what.
        minor: the minor number of the release that the server plays.
        has_controllers: whether a controller manager runs; the defaults are without what only one that runs allows.
        kruise: whether OpenKruise's workloads are served.
    """

    registry: Registry
    metrics: AdmissionMetrics
    authorizer: Authorizer
    minor: int
    has_controllers: bool = True
    kruise: bool = False

    @property
    def store(self) -> Store:
        """The server's store."""
        return self.registry.storage.store

    def webhook_caller(self) -> WebhookCaller:
        """Return what asks admission webhooks."""
        registry = self.registry
        return WebhookCaller(
            registry.webhooks,
            Matcher(self.store, registry.table),
            ReviewObjects(registry),
            registry.ids,
            self.metrics,
            registry.security.authorizer,
        )


class PluginRow(NamedTuple):
    """A plug-in that can run.

    Attributes:
        name: its name in flags.
        make: makes the plug-in.
        runs_by_default: (context) → whether it runs unless a flag says otherwise.
        is_switchable: whether flags may name it; False for what upstream does elsewhere than in admission.
    """

    name: str
    make: Callable[[PluginContext], Plugin]
    runs_by_default: Callable[[PluginContext], bool] = lambda _: True
    is_switchable: bool = True


def never(_: PluginContext) -> bool:
    """Return that a plug-in does not run by default."""
    return False


def _with_controllers(context: PluginContext) -> bool:
    return context.has_controllers


def _with_kruise(context: PluginContext) -> bool:
    return context.kruise


ORDERED: Sequence[PluginRow] = (
    PluginRow("AlwaysAdmit", lambda _: AlwaysAdmit(), never),
    PluginRow("NamespaceLifecycle", lambda context: NamespaceLifecycle(context.store)),
    PluginRow("LimitRanger", lambda context: LimitRanger(context.store)),
    PluginRow("ServiceAccount", lambda context: ServiceAccount(context.store, context.registry.ids), never),
    PluginRow("TaintNodesByCondition", lambda _: TaintNodesByCondition(), never),
    PluginRow("AlwaysPullImages", lambda _: AlwaysPullImages(), never),
    PluginRow("PodSecurity", lambda context: PodSecurity(context.store, context.minor)),
    PluginRow("PodNodeSelector", lambda context: PodNodeSelector(context.store), never),
    PluginRow("Priority", lambda context: Priority(context.store)),
    PluginRow("DefaultTolerationSeconds", lambda _: DefaultTolerationSeconds(), never),
    PluginRow("ExtendedResourceToleration", lambda _: ExtendedResourceToleration(), never),
    PluginRow("DefaultStorageClass", lambda context: DefaultStorageClass(context.store)),
    # controllers remove its finalizers
    PluginRow("StorageObjectInUseProtection", lambda _: StorageObjectInUseProtection(), _with_controllers),
    PluginRow(
        "OwnerReferencesPermissionEnforcement",
        lambda context: OwnerReferencesPermissionEnforcement(context.authorizer, context.registry.table),
        never,
    ),
    PluginRow("PersistentVolumeClaimResize", lambda context: PersistentVolumeClaimResize(context.store)),
    PluginRow("RuntimeClass", lambda context: RuntimeClass(context.store)),
    PluginRow("CertificateApproval", lambda context: CertificateApproval(context.authorizer)),
    PluginRow("CertificateSigning", lambda context: CertificateSigning(context.authorizer)),
    PluginRow("ClusterTrustBundleAttest", lambda context: ClusterTrustBundleAttest(context.authorizer)),
    PluginRow("CertificateSubjectRestriction", lambda _: CertificateSubjectRestriction()),
    PluginRow("DefaultIngressClass", lambda context: DefaultIngressClass(context.store)),
    # upstream's strategy of CertificateSigningRequests does this
    PluginRow(
        "CertificateRequester", lambda each: CertificateRequester(each.registry.timestamps.now), is_switchable=False
    ),
    # OpenKruise's webhooks do this
    PluginRow(
        "UnitedDeployment",
        lambda context: UnitedDeployments(context.registry.schema),
        _with_kruise,
        is_switchable=False,
    ),
    PluginRow(
        "KruiseSets",
        lambda context: KruiseSets(context.registry.schema, context.store),
        _with_kruise,
        is_switchable=False,
    ),
    PluginRow("MutatingAdmissionWebhook", lambda each: MutatingAdmissionWebhook(each.store, each.webhook_caller())),
    PluginRow("ValidatingAdmissionPolicy", lambda each: ValidatingAdmissionPolicy(each.registry, each.metrics)),
    PluginRow("ValidatingAdmissionWebhook", lambda each: ValidatingAdmissionWebhook(each.store, each.webhook_caller())),
    PluginRow("ResourceQuota", lambda context: ResourceQuota(context.registry)),
    PluginRow("AlwaysDeny", lambda _: AlwaysDeny(), never),
)
SWITCHABLE: Sequence[str] = sorted(row.name for row in ORDERED if row.is_switchable)
"""The names that flags may have."""


def plugin_errors(enable: Collection[str], disable: Collection[str]) -> list[str]:
    """Return what is wrong with the names of two flags (AdmissionOptions.Validate)."""
    flags = (("enable-admission-plugins", enable), ("disable-admission-plugins", disable))
    unknown = [
        f'{flag} plugin "{name}" is unknown: choose from {", ".join(SWITCHABLE)}'
        for flag, names in flags
        for name in names
        if name not in SWITCHABLE
    ]
    both = sorted(set(enable) & set(disable))
    overlap = f"[{' '.join(both)}] in enable-admission-plugins and disable-admission-plugins overlapped"
    return [*unknown, *([overlap] if both else [])]


def enabled_plugins(context: PluginContext, enable: Collection[str], disable: Collection[str]) -> list[Plugin]:
    """Return the plug-ins of a server in their order: the default ones, and those of the flags.

    Args:
        context: what they are made of.
        enable: the names of plug-ins that run in addition.
        disable: the names of default ones that do not run.
    """
    return [
        row.make(context)
        for row in ORDERED
        if row.name in enable or (row.name not in disable and row.runs_by_default(context))
    ]
