"""The strategy of Services: the allocated values that an update keeps, and those that go with the type."""

import copy

import pytest

from apiserver.api.meta import Obj
from apiserver.registry.strategy import STRATEGIES

SERVICE = STRATEGIES["", "Service"]
ADDRESS = {"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}
NODE_PORT = {"externalTrafficPolicy": "Cluster", **ADDRESS, "type": "NodePort"}
BALANCER = {
    **NODE_PORT,
    "type": "LoadBalancer",
    "allocateLoadBalancerNodePorts": True,
    "externalTrafficPolicy": "Local",
    "healthCheckNodePort": 30001,
    "loadBalancerClass": "x/y",
}


def updated(spec: Obj, old: Obj, status: Obj | None = None) -> Obj:
    new: Obj = {"metadata": {}, "spec": copy.deepcopy(spec), "status": {"loadBalancer": {"ingress": [{"ip": "new"}]}}}
    before: Obj = {"metadata": {}, "spec": copy.deepcopy(old), "status": status or {"loadBalancer": {}}}
    unspoilt = copy.deepcopy(before)
    SERVICE.prepare_update(new, before)
    assert before == unspoilt
    return new


@pytest.mark.parametrize(
    ("spec", "old", "expected"),
    [
        ({"type": "ClusterIP"}, ADDRESS, ADDRESS),
        (
            {**ADDRESS, "clusterIP": "10.0.0.2"},
            ADDRESS,
            {**ADDRESS, "clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"]},
        ),
        ({**ADDRESS, "type": "ExternalName"}, ADDRESS, {"type": "ExternalName"}),
        ({"type": "ExternalName", "clusterIPs": ["10.0.0.1"]}, ADDRESS, {"type": "ExternalName"}),
        (
            {**ADDRESS, "type": "ExternalName", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "PreferDualStack"},
            {**ADDRESS, "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"},
            {"type": "ExternalName", "ipFamilyPolicy": "PreferDualStack"},
        ),
        ({**NODE_PORT, "type": "ClusterIP"}, NODE_PORT, ADDRESS),
        (
            {**NODE_PORT, "type": "ClusterIP", "externalIPs": ["192.0.2.1"]},
            NODE_PORT,
            {**NODE_PORT, "type": "ClusterIP", "externalIPs": ["192.0.2.1"]},
        ),
        ({**BALANCER, "type": "ClusterIP"}, BALANCER, ADDRESS),
        (
            {**BALANCER, "type": "ClusterIP", "loadBalancerClass": "z"},
            BALANCER,
            {**ADDRESS, "loadBalancerClass": "z"},
        ),
        (
            {**BALANCER, "externalTrafficPolicy": "Cluster"},
            BALANCER,
            {k: v for k, v in BALANCER.items() if k != "healthCheckNodePort"} | {"externalTrafficPolicy": "Cluster"},
        ),
        ({k: v for k, v in BALANCER.items() if k != "healthCheckNodePort"}, BALANCER, BALANCER),
    ],
)
def test_the_fields_of_a_type_stay_and_go_with_it(spec: Obj, old: Obj, expected: Obj):
    assert updated(spec, old)["spec"] == expected


@pytest.mark.parametrize(
    ("kind", "ports", "old", "expected"),
    [
        ("NodePort", [{"port": 80}], [{"port": 80, "nodePort": 30001}], [{"port": 80, "nodePort": 30001}]),
        (
            "NodePort",
            [{"name": "a"}, {"name": "b", "nodePort": 30001}],
            [{"name": "a", "nodePort": 30001}, {"name": "b", "nodePort": 30002}],
            [{"name": "a"}, {"name": "b", "nodePort": 30001}],
        ),
        ("ClusterIP", [{"nodePort": 30001}], [{"nodePort": 30001}], [{}]),
        ("ClusterIP", [{"nodePort": 30002}], [{"nodePort": 30001}], [{"nodePort": 30002}]),
    ],
)
def test_node_ports_stay_by_name_and_go_with_the_type(kind: str, ports: list[Obj], old: list[Obj], expected: list[Obj]):
    obj = updated({"type": kind, "ports": ports}, {"type": "NodePort", "ports": old})
    assert obj["spec"]["ports"] == expected


@pytest.mark.parametrize(
    ("kind", "expected"), [("LoadBalancer", {"ingress": [{"ip": "old"}]}), ("NodePort", {}), ("ClusterIP", {})]
)
def test_only_a_balancer_has_a_balancers_status(kind: str, expected: Obj):
    obj = updated({"type": kind}, {"type": "LoadBalancer"}, {"loadBalancer": {"ingress": [{"ip": "old"}]}})
    assert obj["status"]["loadBalancer"] == expected


def test_one_address_is_the_list_of_addresses():
    service: Obj = {"metadata": {}, "spec": {"clusterIP": "None"}}
    SERVICE.prepare_create(service)
    assert service["spec"] == {"clusterIP": "None", "clusterIPs": ["None"]}
