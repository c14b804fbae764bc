"""Validation of Ingresses, IngressClasses, NetworkPolicies, IPAddresses and ServiceCIDRs."""

from typing import Any

import pytest

from apiserver.registry.validation import VALIDATORS, validate_create
from apiserver.release import load_release

GROUP = "networking.k8s.io"
BACKEND = {"service": {"name": "s", "port": {"number": 80}}}


def messages(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def created(kind: str, **parts: Any) -> list[str]:
    return messages(VALIDATORS[GROUP, kind].create({"metadata": {"name": "a"}} | parts))


def path(text: str, kind: str | None = "Prefix", **backend: Any) -> dict[str, Any]:
    return {"rules": [{"http": {"paths": [{"path": text, "pathType": kind, "backend": backend or BACKEND}]}}]}


PATH = "spec.rules[0].http.paths[0]"


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        (path("/"), []),
        (path("", "ImplementationSpecific"), []),
        ({"defaultBackend": BACKEND}, []),
        ({}, ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]),
        (path("/", None), [f"{PATH}.pathType: Required value: pathType must be specified"]),
        (
            path("/", "Regex"),
            [
                (
                    f'{PATH}.pathType: Unsupported value: "Regex": '
                    'supported values: "Exact", "ImplementationSpecific", "Prefix"'
                )
            ],
        ),
        (path("a/b"), [f'{PATH}.path: Invalid value: "a/b": must be an absolute path']),
        (path("/a/../b", "Exact"), [f"{PATH}.path: Invalid value: \"/a/../b\": must not contain '/../'"]),
        (path("/a/.."), [f"{PATH}.path: Invalid value: \"/a/..\": cannot end with '/..'"]),
        (
            path("/", resource=None, service=None),
            [f'{PATH}.backend: Invalid value: "": resource or service backend is required'],
        ),
        (
            {"defaultBackend": {"service": {"name": "s"}}},
            ["spec.defaultBackend: Required value: port name or number is required"],
        ),
        (
            {"defaultBackend": {"service": {"name": "s", "port": {"name": "web", "number": 80}}}},
            ['spec.defaultBackend: Invalid value: "": cannot set both port name & port number'],
        ),
        (
            {"defaultBackend": {"resource": {"kind": "", "name": "a/b"}}},
            [
                "spec.defaultBackend.resource.kind: Required value",
                "spec.defaultBackend.resource.name: Invalid value: \"a/b\": may not contain '/'",
            ],
        ),
        (
            {"rules": [{"host": "10.1.2.3"}]},
            ['spec.rules[0].host: Invalid value: "10.1.2.3": must be a DNS name, not an IP address'],
        ),
        ({"rules": [{"host": "a.b", "http": {"paths": []}}]}, ["spec.rules[0].http.paths: Required value"]),
    ],
)
def test_an_ingress_leads_somewhere(spec: dict[str, Any], errors: list[str]) -> None:
    assert created("Ingress", spec=spec) == errors


def test_an_ingress_names_one_class() -> None:
    metadata = {"name": "i", "annotations": {"kubernetes.io/ingress.class": "a"}}
    spec = {"defaultBackend": BACKEND, "ingressClassName": "b"}
    assert created("Ingress", metadata=metadata, spec=spec) == [
        (
            'annotations.kubernetes.io/ingress.class: Invalid value: "a": '
            "must match `ingressClassName` when both are specified"
        )
    ]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"controller": "example.com/c"}, []),
        ({}, ["spec.controller: Required value"]),
        (
            {"controller": "nodomain"},
            ['spec.controller: Invalid value: "nodomain": must be a domain-prefixed path (such as "acme.io/foo")'],
        ),
        (
            {"controller": "a/b", "parameters": {"kind": "K", "name": "n", "scope": "Namespace"}},
            ["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
        ),
    ],
)
def test_an_ingress_class_names_its_controller(spec: dict[str, Any], errors: list[str]) -> None:
    assert created("IngressClass", spec=spec) == errors


def test_the_controller_of_an_ingress_class_stays() -> None:
    new, old = ({"metadata": {}, "spec": {"controller": f"example.com/{name}"}} for name in "dc")
    assert messages(VALIDATORS[GROUP, "IngressClass"].update(new, old)) == [
        'spec.controller: Invalid value: "example.com/d": field is immutable'
    ]


@pytest.mark.parametrize(
    ("rule", "errors"),
    [
        ({"from": [{"podSelector": {}}], "ports": [{"protocol": "TCP", "port": "web"}]}, []),
        ({"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]}, []),
        ({"from": [{}]}, ["spec.ingress[0].from[0]: Required value: must specify a peer"]),
        (
            {"from": [{"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}]},
            ["spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer"],
        ),
        (
            {"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]}}]},
            [
                (
                    'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": '
                    "must be a strict subset of `cidr`"
                )
            ],
        ),
        (
            {"ports": [{"protocol": "ICMP", "port": 80, "endPort": 79}]},
            [
                (
                    'spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": '
                    'supported values: "TCP", "UDP", "SCTP"'
                ),
                "spec.ingress[0].ports[0].endPort: Invalid value: 79: must be greater than or equal to `port`",
            ],
        ),
        (
            {"ports": [{"endPort": 79}]},
            [
                (
                    "spec.ingress[0].ports[0].endPort: Invalid value: 79: "
                    "may not be specified when `port` is not specified"
                )
            ],
        ),
    ],
)
def test_a_network_policy_names_peers_and_ports(rule: dict[str, Any], errors: list[str]) -> None:
    assert created("NetworkPolicy", spec={"podSelector": {}, "ingress": [rule]}) == errors


def test_an_old_range_of_a_network_policy_may_stay() -> None:
    policy = {"metadata": {}, "spec": {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.1/8"}}]}]}}
    assert len(messages(VALIDATORS[GROUP, "NetworkPolicy"].create(policy))) == 1
    assert messages(VALIDATORS[GROUP, "NetworkPolicy"].update(policy, policy)) == []


def test_an_address_has_a_parent() -> None:
    assert created("IPAddress", spec={}) == ["spec.parentRef: Required value"]
    assert created("IPAddress", spec={"parentRef": {"resource": "services", "name": "s", "namespace": "n"}}) == []


@pytest.mark.parametrize(
    ("cidrs", "errors"),
    [
        (["10.0.0.0/16", "fd00::/112"], []),
        ([], ["spec.cidrs: Required value: at least one CIDR required"]),
        (["fd00:0::/112"], ['spec.cidrs[0]: Invalid value: "fd00:0::/112": must be in canonical form ("fd00::/112")']),
        (
            ["10.0.0.0/16", "10.1.0.0/16"],
            [
                (
                    'spec.cidrs: Invalid value: ["10.0.0.0/16","10.1.0.0/16"]: may specify no more than one IP '
                    "for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
                )
            ],
        ),
    ],
)
def test_a_service_cidr_has_a_range_for_each_family(cidrs: list[str], errors: list[str]) -> None:
    assert created("ServiceCIDR", spec={"cidrs": cidrs}) == errors


def test_ranges_of_a_service_cidr_stay_but_a_second_may_come() -> None:
    one, two, other = (
        {"metadata": {}, "spec": {"cidrs": cidrs}}
        for cidrs in (["10.0.0.0/16"], ["10.0.0.0/16", "fd00::/112"], ["10.1.0.0/16"])
    )
    update = VALIDATORS[GROUP, "ServiceCIDR"].update
    assert messages(update(two, one)) == []
    assert messages(update(other, one)) == ['spec.cidrs[0]: Invalid value: "10.1.0.0/16": field is immutable']


def test_the_name_of_a_cluster_cidr_is_a_label() -> None:
    (row,) = (row for row in load_release("1.28").rows if row.kind == "ClusterCIDR")
    obj = {"metadata": {"name": "a.b"}, "spec": {"perNodeHostBits": 8, "ipv4": "10.0.0.0/16"}}
    (error,) = validate_create(row, obj)
    assert str(error) == 'metadata.name: Invalid value: "a.b": must not contain dots'
