from typing import Any

import pytest

BALANCED = {"loadBalancer": {"ingress": [{"ip": "192.0.2.20"}, {"hostname": "lb.example.com"}, {"ip": "192.0.2.1"}]}}


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({"type": "ClusterIP"}, {}, "<none>"),
        ({"type": "ClusterIP", "externalIPs": ["192.0.2.5", "192.0.2.4"]}, {}, "192.0.2.5,192.0.2.4"),
        ({"type": "NodePort"}, {}, "<none>"),
        ({"type": "NodePort", "externalIPs": ["192.0.2.5"]}, {}, "192.0.2.5"),
        ({"type": "LoadBalancer"}, {}, "<pending>"),
        ({"type": "LoadBalancer"}, BALANCED, "192.0.2.1,192.0.2.20,lb.example.com"),
        (
            {"type": "LoadBalancer", "externalIPs": ["192.0.2.0"]},
            BALANCED,
            "192.0.2.1,192.0.2.20,lb.example.com,192.0.2.0",
        ),
        ({"type": "LoadBalancer", "externalIPs": ["192.0.2.0"]}, {}, "192.0.2.0"),
        ({"type": "ExternalName", "externalName": "db.example.com"}, {}, "db.example.com"),
        ({}, {}, "<unknown>"),
    ],
)
def test_the_external_address_depends_on_the_type(printed: Any, spec: Any, status: Any, expected: str) -> None:
    assert printed("", "Service", {"spec": spec, "status": status})["External-IP"] == expected


def test_a_services_row(printed: Any) -> None:
    spec = {
        "type": "NodePort",
        "clusterIP": "10.0.0.1",
        "clusterIPs": ["10.0.0.1", "fd00::1"],
        "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
        "selector": {"b": "2", "a": "1"},
    }
    expected = ["x", "NodePort", "10.0.0.1", "<none>", "80:30080/TCP,53/UDP", "60m", "a=1,b=2"]
    assert list(printed("", "Service", {"spec": spec}).values()) == expected


def test_a_service_without_address_ports_and_selector(printed: Any) -> None:
    row = printed("", "Service", {"spec": {"type": "ExternalName", "externalName": "e"}})
    assert list(row.values()) == ["x", "ExternalName", "<none>", "e", "<none>", "60m", "<none>"]


def addresses(*ips: str) -> list[dict[str, str]]:
    return [{"ip": ip} for ip in ips]


@pytest.mark.parametrize(
    ("subsets", "expected"),
    [
        (None, "<none>"),
        ([], "<none>"),
        ([{"notReadyAddresses": addresses("10.0.0.1"), "ports": [{"port": 80}]}], ""),
        ([{"addresses": addresses("10.0.0.1", "10.0.0.2")}], "10.0.0.1,10.0.0.2"),
        ([{"addresses": addresses("10.0.0.1"), "ports": [{"port": 80}, {"port": 443}]}], "10.0.0.1:80,10.0.0.1:443"),
        ([{"addresses": addresses("fd00::1"), "ports": [{"port": 80}]}], "[fd00::1]:80"),
        (
            [
                {"addresses": addresses("10.0.0.1", "10.0.0.2"), "ports": [{"port": 80}, {"port": 443}]},
                {"addresses": addresses("10.0.0.3")},
            ],
            "10.0.0.1:80,10.0.0.2:80,10.0.0.1:443 + 2 more...",
        ),
    ],
)
def test_the_first_three_endpoints_are_shown(printed: Any, subsets: Any, expected: str) -> None:
    assert printed("", "Endpoints", {"subsets": subsets})["Endpoints"] == expected


@pytest.mark.parametrize(
    ("ports", "endpoints", "expected"),
    [
        (None, None, ("<unset>", "<unset>")),
        ([{"port": 80}, {"name": "web"}, {}], [{"addresses": ["10.0.0.1"]}], ("80,web,*", "10.0.0.1")),
        ([{"name": ""}], [], ("<unset>", "<unset>")),
        (
            [{"port": port} for port in range(1, 6)],
            [{"addresses": ["a", "b"]}, {"addresses": ["c", "d"]}],
            ("1,2,3 + 2 more...", "a,b,c + 1 more..."),
        ),
    ],
)
def test_an_endpoint_slices_ports_and_endpoints(printed: Any, ports: Any, endpoints: Any, expected: Any) -> None:
    body = {"addressType": "IPv4", "ports": ports, "endpoints": endpoints}
    assert list(printed("discovery.k8s.io", "EndpointSlice", body).values()) == ["x", "IPv4", *expected, "60m"]


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ([], "*"),
        ([None], "*"),
        (["a"], "a"),
        (["a", None, "b", "c"], "a,b,c"),
        (["a", "b", "c"], "a,b,c"),
        (["a", "b", "c", "d", "e"], "a,b,c + 2 more..."),
        (["a", "b", None, "c", None], "a,b,c + 2 more..."),
    ],
)
def test_the_first_three_hosts_are_shown(printed: Any, hosts: list[str | None], expected: str) -> None:
    rules = [{"host": host} if host else {} for host in hosts]
    assert printed("networking.k8s.io", "Ingress", {"spec": {"rules": rules}})["Hosts"] == expected


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("Ingress", {}, ["x", "<none>", "*", "", "80", "60m"]),
        (
            "Ingress",
            {"spec": {"ingressClassName": "c", "tls": [{}]}, "status": BALANCED},
            ["x", "c", "*", "192.0.2.1,192.0.2.20,lb.example.com", "80, 443", "60m"],
        ),
        ("IngressClass", {"spec": {"controller": "example.com/c"}}, ["x", "example.com/c", "<none>", "60m"]),
        (
            "IngressClass",
            {"spec": {"parameters": {"apiGroup": "k.example.com", "kind": "Params", "name": "p"}}},
            ["x", "", "Params.k.example.com/p", "60m"],
        ),
        (
            "IngressClass",
            {"spec": {"parameters": {"kind": "ConfigMap", "name": "p"}}},
            ["x", "", "ConfigMap/p", "60m"],
        ),
        ("NetworkPolicy", {"spec": {"podSelector": {}}}, ["x", "<none>", "60m"]),
        ("NetworkPolicy", {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}, ["x", "a=b", "60m"]),
        ("ServiceCIDR", {"spec": {"cidrs": ["10.96.0.0/12", "fd00::/108"]}}, ["x", "10.96.0.0/12,fd00::/108", "60m"]),
        (
            "IPAddress",
            {"spec": {"parentRef": {"resource": "services", "namespace": "n", "name": "s"}}},
            ["x", "services/n/s"],
        ),
        (
            "IPAddress",
            {"spec": {"parentRef": {"group": "Example.com", "resource": "pools", "name": "s"}}},
            ["x", "pools.example.com/s"],
        ),
        ("IPAddress", {}, ["x", "<none>"]),
    ],
)
def test_a_row_of_networking(printed: Any, kind: str, body: Any, expected: list[Any]) -> None:
    assert list(printed("networking.k8s.io", kind, body).values()) == expected
