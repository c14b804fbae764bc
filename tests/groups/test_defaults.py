"""Defaults of the other kinds: for each, an object as a client sends it and what is added."""

import pytest

from apiserver.api.meta import Obj

SERVICE = {"sessionAffinity": "None", "type": "ClusterIP", "internalTrafficPolicy": "Cluster"}
CSI_DRIVER = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "requiresRepublish": False,
    "seLinuxMount": False,
    "volumeLifecycleModes": ["Persistent"],
}
WEBHOOK = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "timeoutSeconds": 10,
    "namespaceSelector": {},
    "objectSelector": {},
}
MATCH = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}


@pytest.mark.parametrize(
    ("given", "spec"),
    [
        ({}, SERVICE),
        ({"clusterIP": "None"}, {**SERVICE, "clusterIP": "None"}),
        ({"type": "NodePort"}, {**SERVICE, "type": "NodePort", "externalTrafficPolicy": "Cluster"}),
        (
            {"type": "LoadBalancer", "externalTrafficPolicy": "Local"},
            {
                **SERVICE,
                "type": "LoadBalancer",
                "externalTrafficPolicy": "Local",
                "allocateLoadBalancerNodePorts": True,
            },
        ),
        ({"type": "ExternalName"}, {"sessionAffinity": "None", "type": "ExternalName"}),
        (
            {"externalIPs": ["192.0.2.1"]},
            {**SERVICE, "externalIPs": ["192.0.2.1"], "externalTrafficPolicy": "Cluster"},
        ),
        (
            {"sessionAffinity": "ClientIP"},
            {
                **SERVICE,
                "sessionAffinity": "ClientIP",
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
            },
        ),
        (
            {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}},
            {**SERVICE, "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}},
        ),
        ({"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}}, SERVICE),
        (
            {"ports": [{"port": 80, "targetPort": 0}, {"port": 53, "protocol": "UDP", "targetPort": "dns"}]},
            {
                **SERVICE,
                "ports": [
                    {"port": 80, "protocol": "TCP", "targetPort": 80},
                    {"port": 53, "protocol": "UDP", "targetPort": "dns"},
                ],
            },
        ),
    ],
)
def test_services(defaulted, given: Obj, spec: Obj):
    assert defaulted("Service", {"spec": given})["spec"] == spec


def test_a_balancers_address_is_virtual(defaulted):
    status = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "x"}]}}
    obj = defaulted("Service", {"spec": {"type": "LoadBalancer"}, "status": status})
    assert obj["status"]["loadBalancer"]["ingress"] == [{"ip": "192.0.2.1", "ipMode": "VIP"}, {"hostname": "x"}]


@pytest.mark.parametrize(
    ("group", "kind", "given", "expected"),
    [
        (
            "",
            "Endpoints",
            {"subsets": [{"ports": [{"port": 1}]}]},
            {"subsets": [{"ports": [{"port": 1, "protocol": "TCP"}]}]},
        ),
        ("", "Secret", {}, {"type": "Opaque"}),
        ("", "Secret", {"type": "x"}, {"type": "x"}),
        (
            "",
            "Secret",
            {"data": {"a": "eA==", "b": "eA=="}, "stringData": {"b": "y", "c": "ü"}},
            {"data": {"a": "eA==", "b": "eQ==", "c": "w7w="}, "type": "Opaque"},
        ),
        ("", "ConfigMap", {}, {}),
        (
            "",
            "Namespace",
            {"metadata": {"name": "n", "labels": {"a": "b"}}},
            {
                "metadata": {"name": "n", "labels": {"a": "b", "kubernetes.io/metadata.name": "n"}},
                "status": {"phase": "Active"},
            },
        ),
        (
            "",
            "Namespace",
            {"metadata": {"generateName": "n"}},
            {"metadata": {"generateName": "n"}, "status": {"phase": "Active"}},
        ),
        (
            "",
            "Node",
            {"spec": {"podCIDR": "10.0.0.0/24"}, "status": {"capacity": {"cpu": "1"}}},
            {
                "spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]},
                "status": {"capacity": {"cpu": "1"}, "allocatable": {"cpu": "1"}},
            },
        ),
        (
            "",
            "Node",
            {"spec": {"podCIDRs": ["a", "b"]}, "status": {"capacity": {"cpu": "2"}, "allocatable": {"cpu": "1"}}},
            {
                "spec": {"podCIDR": "a", "podCIDRs": ["a", "b"]},
                "status": {"capacity": {"cpu": "2"}, "allocatable": {"cpu": "1"}},
            },
        ),
        (
            "",
            "PersistentVolume",
            {"spec": {"hostPath": {"path": "/x"}}},
            {
                "spec": {
                    "hostPath": {"path": "/x", "type": ""},
                    "persistentVolumeReclaimPolicy": "Retain",
                    "volumeMode": "Filesystem",
                },
                "status": {"phase": "Pending"},
            },
        ),
        (
            "",
            "PersistentVolumeClaim",
            {"spec": {"resources": {"requests": {"storage": "1u"}}}},
            {
                "spec": {"resources": {"requests": {"storage": "1m"}}, "volumeMode": "Filesystem"},
                "status": {"phase": "Pending"},
            },
        ),
        (
            "",
            "LimitRange",
            {
                "spec": {
                    "limits": [
                        {
                            "type": "Container",
                            "min": {"cpu": "100m", "x": "1"},
                            "max": {"cpu": "1", "memory": "1Gi"},
                            "defaultRequest": {"cpu": "200m"},
                        },
                        {"type": "Pod", "max": {"cpu": "1"}},
                        {"type": "Container"},
                    ]
                }
            },
            {
                "spec": {
                    "limits": [
                        {
                            "type": "Container",
                            "min": {"cpu": "100m", "x": "1"},
                            "max": {"cpu": "1", "memory": "1Gi"},
                            "default": {"cpu": "1", "memory": "1Gi"},
                            "defaultRequest": {"cpu": "200m", "memory": "1Gi", "x": "1"},
                        },
                        {"type": "Pod", "max": {"cpu": "1"}},
                        {"type": "Container"},
                    ]
                }
            },
        ),
        ("", "ResourceQuota", {"spec": {"hard": {"cpu": "1n"}}}, {"spec": {"hard": {"cpu": "1m"}}}),
        (
            "discovery.k8s.io",
            "EndpointSlice",
            {"ports": [{"port": 1}, {"name": "x", "protocol": "UDP"}]},
            {"ports": [{"port": 1, "name": "", "protocol": "TCP"}, {"name": "x", "protocol": "UDP"}]},
        ),
        ("networking.k8s.io", "NetworkPolicy", {"spec": {}}, {"spec": {"policyTypes": ["Ingress"]}}),
        (
            "networking.k8s.io",
            "NetworkPolicy",
            {"spec": {"egress": [{"ports": [{"port": 53}]}]}},
            {"spec": {"egress": [{"ports": [{"port": 53, "protocol": "TCP"}]}], "policyTypes": ["Ingress", "Egress"]}},
        ),
        (
            "networking.k8s.io",
            "NetworkPolicy",
            {"spec": {"ingress": [{"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53}]}, {}]}},
            {
                "spec": {
                    "ingress": [{"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}, {}],
                    "policyTypes": ["Ingress"],
                }
            },
        ),
        (
            "",
            "LimitRange",
            {"spec": {"limits": [{"type": "Pod", "min": {"cpu": "1u"}, "max": {"cpu": "1500u", "memory": "1"}}]}},
            {"spec": {"limits": [{"type": "Pod", "min": {"cpu": "1m"}, "max": {"cpu": "2m", "memory": "1"}}]}},
        ),
        (
            "networking.k8s.io",
            "IngressClass",
            {"spec": {"parameters": {"scope": None}}},
            {"spec": {"parameters": {"scope": "Cluster"}}},
        ),
        (
            "node.k8s.io",
            "RuntimeClass",
            {"overhead": {"podFixed": {"cpu": "1u"}}},
            {"overhead": {"podFixed": {"cpu": "1m"}}},
        ),
        (
            "rbac.authorization.k8s.io",
            "RoleBinding",
            {
                "roleRef": {"kind": "Role", "apiGroup": ""},
                "subjects": [{"kind": "Group"}, {"kind": "User"}, {"kind": "ServiceAccount"}],
            },
            {
                "roleRef": {"kind": "Role", "apiGroup": "rbac.authorization.k8s.io"},
                "subjects": [
                    {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io"},
                    {"kind": "User", "apiGroup": "rbac.authorization.k8s.io"},
                    {"kind": "ServiceAccount"},
                ],
            },
        ),
        ("scheduling.k8s.io", "PriorityClass", {}, {"preemptionPolicy": "PreemptLowerPriority"}),
        ("storage.k8s.io", "StorageClass", {}, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}),
        ("storage.k8s.io", "CSIDriver", {"spec": {}}, {"spec": CSI_DRIVER}),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration",
            {"webhooks": [{"clientConfig": {"service": {"name": "s"}}, "rules": [{}]}, {"clientConfig": {"url": "x"}}]},
            {
                "webhooks": [
                    {**WEBHOOK, "clientConfig": {"service": {"name": "s", "port": 443}}, "rules": [{"scope": "*"}]},
                    {**WEBHOOK, "clientConfig": {"url": "x"}},
                ]
            },
        ),
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration",
            {"webhooks": [{}]},
            {"webhooks": [{**WEBHOOK, "reinvocationPolicy": "Never"}]},
        ),
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicy",
            {"spec": {"matchConstraints": {"resourceRules": [{}]}}},
            {"spec": {"failurePolicy": "Fail", "matchConstraints": {**MATCH, "resourceRules": [{"scope": "*"}]}}},
        ),
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding",
            {"spec": {"matchResources": {}}},
            {"spec": {"matchResources": MATCH}},
        ),
        (
            "apiregistration.k8s.io",
            "APIService",
            {"spec": {"service": {"name": "s"}}},
            {"spec": {"service": {"name": "s", "port": 443}}},
        ),
        ("apiregistration.k8s.io", "APIService", {"spec": {}}, {"spec": {}}),
        (
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            {"spec": {"names": {"kind": "Thing"}, "versions": [{"name": "v1"}, {"name": "v2", "storage": True}]}},
            {
                "spec": {
                    "names": {"kind": "Thing", "singular": "thing", "listKind": "ThingList"},
                    "versions": [{"name": "v1"}, {"name": "v2", "storage": True}],
                    "conversion": {"strategy": "None"},
                },
                "status": {"storedVersions": ["v2"]},
            },
        ),
        (
            "flowcontrol.apiserver.k8s.io",
            "FlowSchema",
            {"spec": {"matchingPrecedence": 0}},
            {"spec": {"matchingPrecedence": 1000}},
        ),
        (
            "flowcontrol.apiserver.k8s.io",
            "PriorityLevelConfiguration",
            {"spec": {"limited": {"limitResponse": {"queuing": {"queues": 1, "handSize": 0}}}}},
            {
                "spec": {
                    "limited": {
                        "limitResponse": {"queuing": {"queues": 1, "handSize": 8, "queueLengthLimit": 50}},
                        "nominalConcurrencyShares": 30,
                        "lendablePercent": 0,
                    }
                }
            },
        ),
        (
            "flowcontrol.apiserver.k8s.io",
            "PriorityLevelConfiguration",
            {"spec": {"exempt": {}}},
            {"spec": {"exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}}},
        ),
        (
            "resource.k8s.io",
            "ResourceClaim",
            {"spec": {"devices": {"requests": [{"exactly": {}}, {"firstAvailable": [{"allocationMode": "All"}]}]}}},
            {
                "spec": {
                    "devices": {
                        "requests": [
                            {"exactly": {"allocationMode": "ExactCount", "count": 1}},
                            {"firstAvailable": [{"allocationMode": "All"}]},
                        ]
                    }
                }
            },
        ),
    ],
)
def test_every_other_kind(defaulted, group: str, kind: str, given: Obj, expected: Obj):
    assert defaulted(kind, given, group=group) == expected
