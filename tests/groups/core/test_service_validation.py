"""Validation of Services, Endpoints and EndpointSlices, and of changes to them."""

from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.registry.validation import VALIDATORS

SERVICE = VALIDATORS["", "Service"]
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', "
    "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
RANGE = "must be between 1 and 65535, inclusive"


def service(*ports: dict[str, Any], **spec: Any) -> dict[str, Any]:
    filled = [{"protocol": "TCP", "targetPort": p.get("port", 0), **p} for p in ports or ({"port": 80},)]
    default = {
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
        "clusterIP": "10.0.0.1",
        "clusterIPs": ["10.0.0.1"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": filled,
    }
    given = {key: value for key, value in (default | spec).items() if value is not None}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": given}


HEADLESS = {"clusterIP": "None", "clusterIPs": ["None"]}
EXTERNAL = {"type": "ExternalName", "externalName": "example.com"} | dict.fromkeys(
    ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy", "ports")
)
BALANCER = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": True, "externalTrafficPolicy": "Cluster"}


def messages(errors: Any) -> list[str]:
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    "obj",
    [
        service(),
        service(**HEADLESS, ports=None),
        service(**EXTERNAL),
        service({"port": 80, "nodePort": 30080}, type="NodePort", externalTrafficPolicy="Local"),
        service(**BALANCER | {"externalTrafficPolicy": "Local", "healthCheckNodePort": 31000}),
        service({"name": "a", "port": 53}, {"name": "b", "port": 53, "protocol": "UDP"}),
        service(sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 86400}}),
        service(externalIPs=["192.0.2.7"], externalTrafficPolicy="Cluster"),
        service(clusterIPs=["10.0.0.1", "fd00::1"], ipFamilies=["IPv4", "IPv6"], ipFamilyPolicy="PreferDualStack"),
    ],
)
def test_a_good_service_has_no_errors(obj: dict[str, Any]) -> None:
    assert messages(SERVICE.create(obj)) == []


@pytest.mark.parametrize(
    ("obj", "errors"),
    [
        (service(ports=[]), ["spec.ports: Required value"]),
        (
            service({"port": 65536}),
            [
                f"spec.ports[0].port: Invalid value: 65536: {RANGE}",
                f"spec.ports[0].targetPort: Invalid value: 65536: {RANGE}",
            ],
        ),
        (
            service({"port": 80, "targetPort": "Not_A_Port_Name"}),
            [
                (
                    'spec.ports[0].targetPort: Invalid value: "Not_A_Port_Name": '
                    "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
                )
            ],
        ),
        (
            service({"port": 80}, {"port": 81}),
            ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
        ),
        (
            service({"name": "a", "port": 80}, {"name": "a", "port": 81}),
            ['spec.ports[1].name: Duplicate value: "a"'],
        ),
        (service({"name": "Web", "port": 80}), [f'spec.ports[0].name: Invalid value: "Web": {LABEL}']),
        (
            service({"port": 80, "protocol": "HTTP"}),
            ['spec.ports[0].protocol: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"'],
        ),
        (
            service(type="Balanced", internalTrafficPolicy=None),
            [
                (
                    'spec.type: Unsupported value: "Balanced": supported values: '
                    '"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'
                )
            ],
        ),
        (
            service(sessionAffinity="Cookie"),
            ['spec.sessionAffinity: Unsupported value: "Cookie": supported values: "ClientIP", "None"'],
        ),
        (service(**EXTERNAL | {"externalName": ""}), ["spec.externalName: Required value"]),
        (
            service(**EXTERNAL | {"clusterIPs": ["10.0.0.1"]}),
            ["spec.clusterIPs: Forbidden: may not be set for ExternalName services"],
        ),
        (
            service({"port": 80, "nodePort": 30999}),
            ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        ),
        (
            service({"name": "a", "port": 80}, {"name": "b", "port": 80}),
            [
                (
                    'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,'
                    '"TargetPort":0,"NodePort":0}'
                )
            ],
        ),
        (
            service(**HEADLESS, type="NodePort", externalTrafficPolicy="Cluster"),
            ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
        ),
        (
            service(clusterIP="here", clusterIPs=["here"]),
            [
                (
                    'spec.clusterIPs[0]: Invalid value: "here": must be a valid IP address, '
                    "(e.g. 10.9.8.7 or 2001:db8::ffff)"
                )
            ],
        ),
        (
            service(ipFamilies=["IPv6"]),
            ['spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`'],
        ),
        (
            service(sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 90000}}),
            [
                (
                    "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 90000: "
                    "must be greater than 0 and less than 86400"
                )
            ],
        ),
        (
            service(**BALANCER, loadBalancerSourceRanges=["10.0.0.0"]),
            [
                (
                    'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.0": must be a valid CIDR value, '
                    "(e.g. 10.9.8.0/24 or 2001:db8::/64)"
                )
            ],
        ),
        (
            service(externalIPs=["127.0.0.1"], externalTrafficPolicy="Cluster"),
            [
                (
                    'spec.externalIPs[0]: Invalid value: "127.0.0.1": '
                    "may not be in the loopback range (127.0.0.0/8, ::1/128)"
                )
            ],
        ),
        (
            service(externalTrafficPolicy="Local"),
            ['spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services'],
        ),
        (
            service(loadBalancerClass="x"),
            ["spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"],
        ),
        (
            service(trafficDistribution="Far"),
            [
                (
                    'spec.trafficDistribution: Unsupported value: "Far": '
                    'supported values: "PreferClose", "PreferSameNode", "PreferSameZone"'
                )
            ],
        ),
    ],
)
def test_a_bad_service_is_told_in_upstreams_words(obj: dict[str, Any], errors: list[str]) -> None:
    assert messages(SERVICE.create(obj)) == errors


@pytest.mark.parametrize(
    ("new", "old", "errors"),
    [
        (service(), service(), []),
        (service(**EXTERNAL), service(), []),
        (
            service(clusterIP="10.0.0.2", clusterIPs=["10.0.0.2"]),
            service(),
            ['spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set'],
        ),
        (
            service(**HEADLESS),
            service(),
            ['spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set'],
        ),
        (
            service(clusterIP=None, clusterIPs=None),
            service(),
            ["spec.clusterIPs[0]: Invalid value: null: primary clusterIP can not be unset"],
        ),
        (
            service(**BALANCER, loadBalancerClass="a.b/c"),
            service(**BALANCER),
            ['spec.loadBalancerClass: Invalid value: "a.b/c": may not change once set'],
        ),
    ],
)
def test_addresses_and_classes_stay_once_set(new: dict[str, Any], old: dict[str, Any], errors: list[str]) -> None:
    assert messages(SERVICE.update(new, old)) == errors


def test_only_load_balancers_have_ingress_points() -> None:
    status = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    assert messages(SERVICE.status_update(service(**BALANCER) | {"status": status}, service())) == []
    assert messages(SERVICE.status_update(service() | {"status": status}, service())) == [
        'status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is "LoadBalancer"'
    ]


@pytest.mark.parametrize(
    ("subset", "errors"),
    [
        ({"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80, "protocol": "TCP"}]}, []),
        ({"ports": []}, ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"]),
        (
            {"addresses": [{"ip": "169.254.1.1"}]},
            [
                (
                    'subsets[0].addresses[0].ip: Invalid value: "169.254.1.1": '
                    "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
                )
            ],
        ),
        (
            {"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 1, "protocol": "TCP"}, {"port": 0, "name": "b"}]},
            [
                "subsets[0].ports[0].name: Required value",
                f"subsets[0].ports[1].port: Invalid value: 0: {RANGE}",
                "subsets[0].ports[1].protocol: Required value",
            ],
        ),
    ],
)
def test_endpoints_have_addresses_that_others_can_reach(subset: dict[str, Any], errors: list[str]) -> None:
    obj = {"metadata": {"name": "e"}, "subsets": [subset]}
    assert messages(VALIDATORS["", "Endpoints"].create(obj)) == errors


@pytest.mark.parametrize(
    ("obj", "errors"),
    [
        ({"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": []}, []),
        ({"endpoints": []}, ["addressType: Required value"]),
        (
            {"addressType": "IPv6", "endpoints": [{"addresses": ["10.0.0.1"]}]},
            ['endpoints[0].addresses[0]: Invalid value: "10.0.0.1": must be a valid IPv6 address'],
        ),
        (
            {"addressType": "FQDN", "endpoints": [{"addresses": ["host"]}, {}]},
            [
                (
                    'endpoints[0].addresses[0]: Invalid value: "host": '
                    "should be a domain with at least two segments separated by dots"
                ),
                "endpoints[1].addresses: Required value: must contain at least 1 address",
            ],
        ),
        (
            {"addressType": "IPv4", "ports": [{"protocol": "TCP"}, {"protocol": "TCP", "port": 1}]},
            ['ports[1].name: Duplicate value: ""'],
        ),
    ],
)
def test_endpoint_slices_hold_one_type_of_address(obj: dict[str, Any], errors: list[str]) -> None:
    assert messages(VALIDATORS["discovery.k8s.io", "EndpointSlice"].create({"metadata": {"name": "e"}} | obj)) == errors


def test_the_address_type_of_an_endpoint_slice_stays() -> None:
    new: Obj = {"metadata": {}, "addressType": "IPv6"}
    old: Obj = {"metadata": {}, "addressType": "IPv4"}
    assert messages(VALIDATORS["discovery.k8s.io", "EndpointSlice"].update(new, old)) == [
        'addressType: Invalid value: "IPv6": field is immutable'
    ]
