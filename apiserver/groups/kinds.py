"""All built-in kinds, collected from the groups' files, in the order in which discovery lists groups."""

from collections.abc import Mapping

from apiserver.groups.admissionregistration.admissionpolicies import (
    MUTATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY,
)
from apiserver.groups.admissionregistration.admissionpolicybindings import (
    MUTATING_ADMISSION_POLICY_BINDING,
    VALIDATING_ADMISSION_POLICY_BINDING,
)
from apiserver.groups.admissionregistration.webhookconfigurations import (
    MUTATING_WEBHOOK_CONFIGURATION,
    VALIDATING_WEBHOOK_CONFIGURATION,
)
from apiserver.groups.apiextensions.customresourcedefinitions import CUSTOM_RESOURCE_DEFINITION
from apiserver.groups.apiregistration.apiservices import API_SERVICE
from apiserver.groups.apiserverinternal.storageversions import STORAGE_VERSION
from apiserver.groups.apps.controllerrevisions import CONTROLLER_REVISION
from apiserver.groups.apps.daemonsets import DAEMON_SET
from apiserver.groups.apps.deployments import DEPLOYMENT
from apiserver.groups.apps.replicasets import REPLICA_SET
from apiserver.groups.apps.statefulsets import STATEFUL_SET
from apiserver.groups.authentication.reviews import SELF_SUBJECT_REVIEW, TOKEN_REVIEW
from apiserver.groups.authorization.reviews import (
    LOCAL_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_RULES_REVIEW,
    SUBJECT_ACCESS_REVIEW,
)
from apiserver.groups.autoscaling.horizontalpodautoscalers.kind import HORIZONTAL_POD_AUTOSCALER
from apiserver.groups.autoscaling.scales import SCALE
from apiserver.groups.batch.cronjobs import CRON_JOB
from apiserver.groups.batch.jobs.kind import JOB
from apiserver.groups.certificates.certificatesigningrequests import CERTIFICATE_SIGNING_REQUEST
from apiserver.groups.certificates.clustertrustbundles import CLUSTER_TRUST_BUNDLE
from apiserver.groups.certificates.podcertificaterequests import POD_CERTIFICATE_REQUEST
from apiserver.groups.coordination.leasecandidates import LEASE_CANDIDATE
from apiserver.groups.coordination.leases import LEASE
from apiserver.groups.core.bindings import BINDING
from apiserver.groups.core.componentstatuses import COMPONENT_STATUS
from apiserver.groups.core.configmaps import CONFIG_MAP
from apiserver.groups.core.endpoints import ENDPOINTS
from apiserver.groups.core.events import EVENT, EVENT_OF_EVENTS
from apiserver.groups.core.limitranges import LIMIT_RANGE
from apiserver.groups.core.namespaces import NAMESPACE
from apiserver.groups.core.nodes import NODE
from apiserver.groups.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIM
from apiserver.groups.core.persistentvolumes import PERSISTENT_VOLUME
from apiserver.groups.core.pods.kind import POD
from apiserver.groups.core.podtemplates import POD_TEMPLATE
from apiserver.groups.core.replicationcontrollers import REPLICATION_CONTROLLER
from apiserver.groups.core.resourcequotas import RESOURCE_QUOTA
from apiserver.groups.core.secrets import SECRET
from apiserver.groups.core.serviceaccounts import SERVICE_ACCOUNT
from apiserver.groups.core.services.kind import SERVICE
from apiserver.groups.core.statuses import STATUS
from apiserver.groups.discovery.endpointslices import ENDPOINT_SLICE
from apiserver.groups.flowcontrol.flowschemas import FLOW_SCHEMA
from apiserver.groups.flowcontrol.prioritylevelconfigurations import PRIORITY_LEVEL_CONFIGURATION
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.lifecycle.evictionrequests import EVICTION_REQUEST
from apiserver.groups.lifecycle.evictions import EVICTION
from apiserver.groups.networking.clustercidrs import CLUSTER_CIDR
from apiserver.groups.networking.ingressclasses import INGRESS_CLASS
from apiserver.groups.networking.ingresses import INGRESS
from apiserver.groups.networking.ipaddresses import IP_ADDRESS
from apiserver.groups.networking.networkpolicies import NETWORK_POLICY
from apiserver.groups.networking.servicecidrs import SERVICE_CIDR
from apiserver.groups.node.runtimeclasses import RUNTIME_CLASS
from apiserver.groups.policy.poddisruptionbudgets import POD_DISRUPTION_BUDGET
from apiserver.groups.rbac.rolebindings import CLUSTER_ROLE_BINDING, ROLE_BINDING
from apiserver.groups.rbac.roles import CLUSTER_ROLE, ROLE
from apiserver.groups.resource.deviceclasses import DEVICE_CLASS
from apiserver.groups.resource.devicetaintrules import DEVICE_TAINT_RULE
from apiserver.groups.resource.podschedulingcontexts import POD_SCHEDULING, POD_SCHEDULING_CONTEXT
from apiserver.groups.resource.resourceclaims import RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE
from apiserver.groups.resource.resourceclasses import RESOURCE_CLASS
from apiserver.groups.resource.resourceparameters import RESOURCE_CLAIM_PARAMETERS, RESOURCE_CLASS_PARAMETERS
from apiserver.groups.resource.resourcepoolstatusrequests import RESOURCE_POOL_STATUS_REQUEST
from apiserver.groups.resource.resourceslices import RESOURCE_SLICE
from apiserver.groups.scheduling.podgroups import COMPOSITE_POD_GROUP, POD_GROUP
from apiserver.groups.scheduling.priorityclasses import PRIORITY_CLASS
from apiserver.groups.scheduling.workloads import WORKLOAD
from apiserver.groups.storage.csidrivers import CSI_DRIVER
from apiserver.groups.storage.csinodes import CSI_NODE
from apiserver.groups.storage.csistoragecapacities import CSI_STORAGE_CAPACITY
from apiserver.groups.storage.storageclasses import STORAGE_CLASS
from apiserver.groups.storage.volumeattachments import VOLUME_ATTACHMENT
from apiserver.groups.storage.volumeattributesclasses import VOLUME_ATTRIBUTES_CLASS
from apiserver.groups.storagemigration.storageversionmigrations import STORAGE_VERSION_MIGRATION

KINDS: Mapping[str, tuple[BuiltinKind, ...]] = {
    "": (
        BINDING,
        COMPONENT_STATUS,
        CONFIG_MAP,
        ENDPOINTS,
        EVENT,
        LIMIT_RANGE,
        NAMESPACE,
        NODE,
        PERSISTENT_VOLUME_CLAIM,
        PERSISTENT_VOLUME,
        POD,
        POD_TEMPLATE,
        REPLICATION_CONTROLLER,
        RESOURCE_QUOTA,
        SECRET,
        SERVICE_ACCOUNT,
        SERVICE,
    ),
    "apiregistration.k8s.io": (API_SERVICE,),
    "apps": (
        CONTROLLER_REVISION,
        DAEMON_SET,
        DEPLOYMENT,
        REPLICA_SET,
        STATEFUL_SET,
    ),
    "events.k8s.io": (EVENT_OF_EVENTS,),
    "authentication.k8s.io": (
        SELF_SUBJECT_REVIEW,
        TOKEN_REVIEW,
    ),
    "authorization.k8s.io": (
        LOCAL_SUBJECT_ACCESS_REVIEW,
        SELF_SUBJECT_ACCESS_REVIEW,
        SELF_SUBJECT_RULES_REVIEW,
        SUBJECT_ACCESS_REVIEW,
    ),
    "autoscaling": (HORIZONTAL_POD_AUTOSCALER,),
    "batch": (
        CRON_JOB,
        JOB,
    ),
    "certificates.k8s.io": (
        CERTIFICATE_SIGNING_REQUEST,
        CLUSTER_TRUST_BUNDLE,
        POD_CERTIFICATE_REQUEST,
    ),
    "networking.k8s.io": (
        CLUSTER_CIDR,
        INGRESS_CLASS,
        INGRESS,
        IP_ADDRESS,
        NETWORK_POLICY,
        SERVICE_CIDR,
    ),
    "policy": (POD_DISRUPTION_BUDGET,),
    "rbac.authorization.k8s.io": (
        CLUSTER_ROLE_BINDING,
        CLUSTER_ROLE,
        ROLE_BINDING,
        ROLE,
    ),
    "storage.k8s.io": (
        CSI_DRIVER,
        CSI_NODE,
        CSI_STORAGE_CAPACITY,
        STORAGE_CLASS,
        VOLUME_ATTACHMENT,
        VOLUME_ATTRIBUTES_CLASS,
    ),
    "admissionregistration.k8s.io": (
        MUTATING_ADMISSION_POLICY,
        MUTATING_ADMISSION_POLICY_BINDING,
        MUTATING_WEBHOOK_CONFIGURATION,
        VALIDATING_ADMISSION_POLICY,
        VALIDATING_ADMISSION_POLICY_BINDING,
        VALIDATING_WEBHOOK_CONFIGURATION,
    ),
    "apiextensions.k8s.io": (CUSTOM_RESOURCE_DEFINITION,),
    "scheduling.k8s.io": (
        COMPOSITE_POD_GROUP,
        POD_GROUP,
        PRIORITY_CLASS,
        WORKLOAD,
    ),
    "coordination.k8s.io": (
        LEASE_CANDIDATE,
        LEASE,
    ),
    "node.k8s.io": (RUNTIME_CLASS,),
    "discovery.k8s.io": (ENDPOINT_SLICE,),
    "flowcontrol.apiserver.k8s.io": (
        FLOW_SCHEMA,
        PRIORITY_LEVEL_CONFIGURATION,
    ),
    "internal.apiserver.k8s.io": (STORAGE_VERSION,),
    "resource.k8s.io": (
        DEVICE_CLASS,
        DEVICE_TAINT_RULE,
        POD_SCHEDULING,
        POD_SCHEDULING_CONTEXT,
        RESOURCE_CLAIM,
        RESOURCE_CLAIM_PARAMETERS,
        RESOURCE_CLAIM_TEMPLATE,
        RESOURCE_CLASS,
        RESOURCE_CLASS_PARAMETERS,
        RESOURCE_POOL_STATUS_REQUEST,
        RESOURCE_SLICE,
    ),
    "storagemigration.k8s.io": (STORAGE_VERSION_MIGRATION,),
    "lifecycle.k8s.io": (
        EVICTION_REQUEST,
        EVICTION,
    ),
}
"""Group → its kinds. Groups are in upstream's order of discovery (groupPriorityMinimum, then name)."""

COMPUTED: tuple[BuiltinKind, ...] = (
    STATUS,
    SCALE,
)
"""Kinds without a collection: they exist only in responses, and have columns."""

ALL_KINDS: Mapping[tuple[str, str], BuiltinKind] = {
    (kind.group, kind.name): kind for kind in (*(kind for kinds in KINDS.values() for kind in kinds), *COMPUTED)
}
"""(group, kind) → the built-in kind."""
