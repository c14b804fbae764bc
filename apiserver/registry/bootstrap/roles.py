"""The default cluster roles of RBAC (plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go), as data."""

from collections.abc import Mapping

from apiserver.registry.bootstrap.rules import EVENTS

CSR = "system:certificates.k8s.io"

CLUSTER_ROLES: Mapping[str, tuple[str, ...]] = {
    "cluster-admin": ("* : * : *", "* : URLS : *"),
    "system:aggregate-to-admin": (
        "create : authorization.k8s.io : localsubjectaccessreviews",
        "ALL : rbac.authorization.k8s.io : roles rolebindings",
    ),
    "system:aggregate-to-edit": (
        "READ : CORE : pods/attach pods/proxy pods/exec pods/portforward secrets services/proxy",
        "impersonate : CORE : serviceaccounts",
        "WRITE : CORE : pods pods/attach pods/proxy pods/exec pods/portforward",
        "create : CORE : pods/eviction",
        (
            "WRITE : CORE : replicationcontrollers replicationcontrollers/scale serviceaccounts services "
            "services/proxy "
            "persistentvolumeclaims configmaps secrets events"
        ),
        "create : CORE : serviceaccounts/token",
        (
            "WRITE : apps : statefulsets statefulsets/scale daemonsets deployments deployments/scale "
            "deployments/rollback "
            "replicasets replicasets/scale"
        ),
        "WRITE : autoscaling : horizontalpodautoscalers",
        "WRITE : batch : jobs cronjobs",
        (
            "WRITE : extensions : daemonsets deployments deployments/scale deployments/rollback ingresses replicasets "
            "replicasets/scale replicationcontrollers/scale networkpolicies"
        ),
        "WRITE : policy : poddisruptionbudgets",
        "WRITE : networking.k8s.io : networkpolicies ingresses",
        "ALL : coordination.k8s.io : leases",
        "WRITE : resource.k8s.io : resourceclaims resourceclaimtemplates",
    ),
    "system:aggregate-to-view": (
        (
            "READ : CORE : pods replicationcontrollers replicationcontrollers/scale serviceaccounts services "
            "services/status endpoints persistentvolumeclaims persistentvolumeclaims/status configmaps"
        ),
        (
            "READ : CORE : limitranges resourcequotas bindings events pods/status resourcequotas/status "
            "namespaces/status "
            "replicationcontrollers/status pods/log"
        ),
        "READ : CORE : namespaces",
        "READ : discovery.k8s.io : endpointslices",
        (
            "READ : apps : controllerrevisions statefulsets statefulsets/status statefulsets/scale daemonsets "
            "daemonsets/status deployments deployments/status deployments/scale replicasets replicasets/status "
            "replicasets/scale"
        ),
        "READ : autoscaling : horizontalpodautoscalers horizontalpodautoscalers/status",
        "READ : batch : jobs cronjobs cronjobs/status jobs/status",
        (
            "READ : extensions : daemonsets daemonsets/status deployments deployments/scale deployments/status "
            "ingresses "
            "ingresses/status replicasets replicasets/scale replicasets/status replicationcontrollers/scale "
            "networkpolicies"
        ),
        "READ : policy : poddisruptionbudgets poddisruptionbudgets/status",
        "READ : networking.k8s.io : networkpolicies ingresses ingresses/status",
        "READ : resource.k8s.io : resourceclaims resourceclaims/status resourceclaimtemplates",
    ),
    "system:auth-delegator": (
        "create : authentication.k8s.io : tokenreviews",
        "create : authorization.k8s.io : subjectaccessreviews",
    ),
    "system:basic-user": (
        "create : authorization.k8s.io : selfsubjectaccessreviews selfsubjectrulesreviews",
        "create : authentication.k8s.io : selfsubjectreviews",
    ),
    f"{CSR}:certificatesigningrequests:nodeclient": (
        "create : certificates.k8s.io : certificatesigningrequests/nodeclient",
    ),
    f"{CSR}:certificatesigningrequests:selfnodeclient": (
        "create : certificates.k8s.io : certificatesigningrequests/selfnodeclient",
    ),
    f"{CSR}:kube-apiserver-client-approver": (
        "approve : certificates.k8s.io : signers : kubernetes.io/kube-apiserver-client",
    ),
    f"{CSR}:kube-apiserver-client-kubelet-approver": (
        "approve : certificates.k8s.io : signers : kubernetes.io/kube-apiserver-client-kubelet",
    ),
    f"{CSR}:kubelet-serving-approver": ("approve : certificates.k8s.io : signers : kubernetes.io/kubelet-serving",),
    f"{CSR}:legacy-unknown-approver": ("approve : certificates.k8s.io : signers : kubernetes.io/legacy-unknown",),
    "system:discovery": (
        "get : URLS : /livez /readyz /healthz /version /version/ /openapi /openapi/* /api /api/* /apis /apis/*",
    ),
    "system:heapster": ("READ : CORE : events pods nodes namespaces", "READ : extensions : deployments"),
    "system:kube-aggregator": ("READ : CORE : services endpoints",),
    "system:kube-controller-manager": (
        EVENTS,
        "create : coordination.k8s.io : leases",
        "get update : coordination.k8s.io : leases : kube-controller-manager",
        "create : CORE : secrets serviceaccounts",
        "delete : CORE : secrets",
        "get : CORE : namespaces secrets serviceaccounts configmaps",
        "update : CORE : secrets serviceaccounts",
        "create : authentication.k8s.io : tokenreviews",
        "create : authorization.k8s.io : subjectaccessreviews",
        "list watch : * : *",
        "create : CORE : serviceaccounts/token",
    ),
    "system:kube-dns": ("list watch : CORE : endpoints services",),
    "system:kube-scheduler": (
        EVENTS,
        "create : coordination.k8s.io : leases",
        "get list update watch : coordination.k8s.io : leases : kube-scheduler",
        "READ : CORE : nodes",
        "get list watch delete : CORE : pods",
        "create : CORE : pods/binding bindings",
        "patch update : CORE : pods/status",
        "READ : CORE : services replicationcontrollers",
        "READ : apps extensions : replicasets",
        "READ : apps : statefulsets",
        "READ : policy : poddisruptionbudgets",
        "READ : CORE : persistentvolumeclaims persistentvolumes",
        "create : authentication.k8s.io : tokenreviews",
        "create : authorization.k8s.io : subjectaccessreviews",
        "READ : storage.k8s.io : csinodes",
        "READ : storage.k8s.io : volumeattachments",
        "READ : CORE : namespaces",
        "READ : storage.k8s.io : csidrivers",
        "READ : storage.k8s.io : csistoragecapacities",
        "READ : resource.k8s.io : deviceclasses",
        "EDIT : resource.k8s.io : resourceclaims",
        "EDIT : resource.k8s.io : resourceclaims/status",
        "EDIT : CORE : pods/finalizers",
        "READ : resource.k8s.io : resourceslices",
    ),
    "system:kubelet-api-admin": (
        "READ : CORE : nodes",
        "proxy : CORE : nodes",
        "* : CORE : nodes/proxy nodes/metrics nodes/stats nodes/log",
        "* : CORE : nodes/configz nodes/healthz nodes/pods",
    ),
    "system:monitoring": ("get : URLS : /metrics /metrics/slis /livez /readyz /healthz /livez/* /readyz/* /healthz/*",),
    "system:node": (
        "create : authentication.k8s.io : tokenreviews",
        "create : authorization.k8s.io : subjectaccessreviews localsubjectaccessreviews",
        "READ : CORE : services",
        "create get list watch : CORE : nodes",
        "update patch : CORE : nodes/status",
        "update patch : CORE : nodes",
        "create update patch : CORE : events",
        "READ : CORE : pods",
        "create delete : CORE : pods",
        "update patch : CORE : pods/status",
        "create : CORE : pods/eviction",
        "READ : CORE : secrets configmaps",
        "get : CORE : persistentvolumeclaims persistentvolumes",
        "get : CORE : endpoints",
        "create get list watch : certificates.k8s.io : certificatesigningrequests",
        "get create update patch delete : coordination.k8s.io : leases",
        "get : storage.k8s.io : volumeattachments",
        "create : CORE : serviceaccounts/token",
        "get update patch : CORE : persistentvolumeclaims/status",
        "READ : storage.k8s.io : csidrivers",
        "get create update patch delete : storage.k8s.io : csinodes",
        "READ : node.k8s.io : runtimeclasses",
        "get : resource.k8s.io : resourceclaims",
        "deletecollection : resource.k8s.io : resourceslices",
        "get : CORE : serviceaccounts",
    ),
    "system:node-bootstrapper": ("create get list watch : certificates.k8s.io : certificatesigningrequests",),
    "system:node-problem-detector": ("get : CORE : nodes", "patch : CORE : nodes/status", EVENTS),
    "system:node-proxier": (
        "list watch : CORE : services endpoints",
        "READ : CORE : nodes",
        EVENTS,
        "list watch : networking.k8s.io : servicecidrs",
        "list watch : discovery.k8s.io : endpointslices",
    ),
    "system:persistent-volume-provisioner": (
        "get list watch create delete : CORE : persistentvolumes",
        "get list watch update : CORE : persistentvolumeclaims",
        "READ : storage.k8s.io : storageclasses",
        "watch : CORE : events",
        EVENTS,
    ),
    "system:public-info-viewer": ("get : URLS : /livez /readyz /healthz /version /version/",),
    "system:service-account-issuer-discovery": (
        (
            "get : URLS : /.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks "
            "/openid/v1/jwks/"
        ),
    ),
    "system:volume-scheduler": (
        "EDIT : CORE : persistentvolumes",
        "READ : storage.k8s.io : storageclasses",
        "EDIT : CORE : persistentvolumeclaims",
    ),
}
"""Name → rules."""

AGGREGATED: Mapping[str, tuple[str, ...]] = {
    "view": ("system:aggregate-to-view",),
    "edit": ("system:aggregate-to-edit", "view"),
    "admin": ("edit", "system:aggregate-to-admin"),
}
"""Aggregated role → its parts, which have a label for it."""

CLUSTER_BINDINGS: Mapping[str, tuple[str, ...]] = {
    "cluster-admin": ("Group system:masters",),
    "system:basic-user": ("Group system:authenticated",),
    "system:discovery": ("Group system:authenticated",),
    "system:kube-controller-manager": ("User system:kube-controller-manager",),
    "system:kube-dns": ("ServiceAccount kube-system kube-dns",),
    "system:kube-scheduler": ("User system:kube-scheduler",),
    "system:monitoring": ("Group system:monitoring",),
    "system:node": (),
    "system:node-proxier": ("User system:kube-proxy",),
    "system:public-info-viewer": ("Group system:authenticated", "Group system:unauthenticated"),
    "system:service-account-issuer-discovery": ("Group system:serviceaccounts",),
    "system:volume-scheduler": ("User system:kube-scheduler",),
}
"""Cluster role → the subjects of the binding with its name."""

ROLES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("kube-public", "system:controller:bootstrap-signer"): (
        "READ : CORE : configmaps",
        "update : CORE : configmaps : cluster-info",
        EVENTS,
    ),
    ("kube-system", "extension-apiserver-authentication-reader"): (
        "READ : CORE : configmaps : extension-apiserver-authentication",
    ),
    ("kube-system", "system::leader-locking-kube-controller-manager"): (
        "watch : CORE : configmaps",
        "get update : CORE : configmaps : kube-controller-manager",
    ),
    ("kube-system", "system::leader-locking-kube-scheduler"): (
        "watch : CORE : configmaps",
        "get update : CORE : configmaps : kube-scheduler",
    ),
    ("kube-system", "system:controller:bootstrap-signer"): ("READ : CORE : secrets",),
    ("kube-system", "system:controller:cloud-provider"): ("create get list watch : CORE : configmaps",),
    ("kube-system", "system:controller:token-cleaner"): ("get list watch delete : CORE : secrets", EVENTS),
}
"""(namespace, name) → rules."""

BINDINGS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("kube-public", "system:controller:bootstrap-signer"): ("ServiceAccount kube-system bootstrap-signer",),
    ("kube-system", "system::leader-locking-kube-controller-manager"): (
        "User system:kube-controller-manager",
        "ServiceAccount kube-system kube-controller-manager",
    ),
    ("kube-system", "system::leader-locking-kube-scheduler"): (
        "User system:kube-scheduler",
        "ServiceAccount kube-system kube-scheduler",
    ),
    ("kube-system", "system:controller:bootstrap-signer"): ("ServiceAccount kube-system bootstrap-signer",),
    ("kube-system", "system:controller:cloud-provider"): ("ServiceAccount kube-system cloud-provider",),
    ("kube-system", "system:controller:token-cleaner"): ("ServiceAccount kube-system token-cleaner",),
    ("kube-system", "system::extension-apiserver-authentication-reader"): (
        "User system:kube-controller-manager",
        "User system:kube-scheduler",
    ),
}
"""(namespace, name) → the subjects of the binding, to the role of its name, with or without `system::`."""
