"""Which addresses and ports Services get, keep and give back."""

from typing import Any

import pytest
from patience import some_work

from apiserver.api.errors import ApiError
from apiserver.registry.serviceip.allocator import ServiceAllocator

Obj = dict[str, Any]


def service(name: str = "s", *, namespace: str = "n", ports: list[Obj] | None = None, **spec: Any) -> Obj:
    given = {"type": "ClusterIP", "ports": [{"port": 80}] if ports is None else ports} | spec
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {k: v for k, v in given.items() if v is not None},
    }


@pytest.fixture
def addresses() -> ServiceAllocator:
    return ServiceAllocator(("10.0.0.0/24",), choose=lambda _among: 0)


@pytest.fixture
def both() -> ServiceAllocator:
    return ServiceAllocator(("10.0.0.0/24", "fd00::/112"), choose=lambda _among: 0)


def spec_of(addresses: ServiceAllocator, new: Obj, old: Obj | None = None) -> Obj:
    """The spec after an allocation that is committed."""
    allocation = addresses.allocate(new, old)
    addresses.commit(allocation)
    spec: Obj = allocation.service["spec"]
    return spec


def problem(addresses: ServiceAllocator, new: Obj, old: Obj | None = None) -> str:
    with pytest.raises(ApiError) as caught:
        addresses.allocate(new, old)
    return caught.value.message


def test_a_service_gets_an_address_of_the_upper_part_and_its_family(addresses: ServiceAllocator) -> None:
    spec = spec_of(addresses, service())
    assert spec["clusterIP"] == "10.0.0.17"
    assert spec["clusterIPs"] == ["10.0.0.17"]
    assert spec["ipFamilies"] == ["IPv4"]
    assert spec["ipFamilyPolicy"] == "SingleStack"
    assert spec_of(addresses, service("t"))["clusterIP"] == "10.0.0.18"


def test_the_given_service_is_not_changed(addresses: ServiceAllocator) -> None:
    given = service(type="NodePort")
    addresses.allocate(given)
    assert given == service(type="NodePort")


def test_an_asked_for_address_is_given_once(addresses: ServiceAllocator) -> None:
    asked = service(clusterIP="10.0.0.9", clusterIPs=["10.0.0.9"])
    assert spec_of(addresses, asked)["clusterIPs"] == ["10.0.0.9"]
    assert problem(addresses, asked) == (
        'Service "s" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.9"]: '
        "failed to allocate IP 10.0.0.9: provided IP is already allocated"
    )


@pytest.mark.parametrize("address", ["203.0.113.9", "10.0.0.0", "10.0.0.255"])
def test_an_address_outside_of_the_range_is_refused(addresses: ServiceAllocator, address: str) -> None:
    assert problem(addresses, service(clusterIP=address, clusterIPs=[address])) == (
        f'Service "s" is invalid: spec.clusterIPs: Invalid value: ["{address}"]: failed to allocate IP {address}: '
        f"the provided IP ({address}) is not in the valid range. The range of valid IPs is 10.0.0.0/24"
    )


def test_a_malformed_address_is_refused_before_anything_is_taken(addresses: ServiceAllocator) -> None:
    assert problem(addresses, service(clusterIP="here", clusterIPs=["here"])) == (
        'Service "s" is invalid: spec.clusterIPs[0]: Invalid value: "here": '
        "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    )


def test_the_first_address_is_for_the_server_itself(addresses: ServiceAllocator) -> None:
    asked: dict[str, Any] = {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}
    assert "already allocated" in problem(addresses, service(**asked))
    own = service("kubernetes", namespace="default", **asked)
    assert spec_of(addresses, own)["clusterIP"] == "10.0.0.1"
    addresses.release(own)
    assert "already allocated" in problem(addresses, service(**asked))


def test_addresses_run_out_from_the_top_down() -> None:
    small = ServiceAllocator(("10.0.0.0/27",), choose=lambda among: among - 1)
    given = [spec_of(small, service(str(i)))["clusterIP"] for i in range(29)]
    assert given[0] == "10.0.0.30"
    assert len(set(given)) == 29
    assert given[14] == "10.0.0.16"  # the lower part begins where the upper ends
    assert problem(small, service()) == ("Internal error occurred: failed to allocate a serviceIP: range is full")


@pytest.mark.parametrize(
    "new",
    [
        service(type="ExternalName", externalName="example.com", ports=[]),
        service(clusterIP="None", clusterIPs=["None"], selector={"a": "b"}),
    ],
)
def test_services_without_an_address_take_none(addresses: ServiceAllocator, new: Obj) -> None:
    allocation = addresses.allocate(new)
    assert allocation.allocated == []
    assert allocation.service["spec"].get("clusterIPs") == new["spec"].get("clusterIPs")


def test_a_headless_service_without_a_selector_is_of_both_families(addresses: ServiceAllocator) -> None:
    spec = spec_of(addresses, service(clusterIP="None", clusterIPs=["None"]))
    assert spec["ipFamilies"] == ["IPv4", "IPv6"]
    assert spec["ipFamilyPolicy"] == "RequireDualStack"


def test_a_released_address_is_given_again(addresses: ServiceAllocator) -> None:
    first = addresses.allocate(service())
    addresses.release(first.service)
    assert spec_of(addresses, service())["clusterIP"] == first.service["spec"]["clusterIP"]


def test_a_failed_write_takes_nothing(addresses: ServiceAllocator) -> None:
    attempt = addresses.allocate(service(type="NodePort"))
    addresses.revert(attempt)
    assert spec_of(addresses, service(type="NodePort")) == attempt.service["spec"]


def test_what_stored_services_have_is_taken_after_a_start(addresses: ServiceAllocator) -> None:
    stored = addresses.allocate(service(type="NodePort")).service
    fresh = ServiceAllocator(("10.0.0.0/24",), choose=lambda _among: 0)
    fresh.load([stored])
    spec = spec_of(fresh, service("t", type="NodePort"))
    assert spec["clusterIP"] == "10.0.0.18"
    assert spec["ports"] == [{"port": 80, "nodePort": 30087}]


def test_a_node_port_comes_from_the_upper_part(addresses: ServiceAllocator) -> None:
    spec = spec_of(addresses, service(type="NodePort", ports=[{"port": 80}, {"port": 81}]))
    assert [port["nodePort"] for port in spec["ports"]] == [30086, 30087]


def test_ports_of_one_number_share_a_node_port(addresses: ServiceAllocator) -> None:
    ports = [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP", "nodePort": 30053}]
    spec = spec_of(addresses, service(type="NodePort", ports=ports))
    assert [port["nodePort"] for port in spec["ports"]] == [30053, 30053]


@pytest.mark.parametrize(
    ("port", "words"),
    [
        (80, "provided port is not in the valid range. The range of valid ports is 30000-32767"),
        (30100, "provided port is already allocated"),
    ],
)
def test_a_node_port_that_cannot_be_is_refused(addresses: ServiceAllocator, port: int, words: str) -> None:
    spec_of(addresses, service(type="NodePort", ports=[{"port": 1, "nodePort": 30100}]))
    asked = service("t", type="NodePort", ports=[{"port": 1, "nodePort": port}])
    assert problem(addresses, asked) == (
        f'Service "t" is invalid: spec.ports[0].nodePort: Invalid value: {port}: {words}'
    )
    assert spec_of(addresses, service("u"))["clusterIP"] == "10.0.0.18"  # the refused one's address is free again


def test_a_balancer_may_do_without_node_ports(addresses: ServiceAllocator) -> None:
    new = service(
        type="LoadBalancer", allocateLoadBalancerNodePorts=False, ports=[{"port": 1}, {"port": 2, "nodePort": 30002}]
    )
    assert spec_of(addresses, new)["ports"] == [{"port": 1}, {"port": 2, "nodePort": 30002}]


def test_a_balancer_that_stays_on_the_node_has_a_port_for_health_checks(addresses: ServiceAllocator) -> None:
    new = service(type="LoadBalancer", externalTrafficPolicy="Local", allocateLoadBalancerNodePorts=True)
    old = addresses.allocate(new).service
    assert old["spec"]["healthCheckNodePort"] == 30087
    spec_of(addresses, service(type="LoadBalancer", externalTrafficPolicy="Cluster") | {}, old)
    asked = service("t", type="NodePort", ports=[{"port": 1, "nodePort": 30087}])
    assert spec_of(addresses, asked)["ports"][0]["nodePort"] == 30087


def test_a_service_that_becomes_plain_gives_its_node_ports_back(addresses: ServiceAllocator) -> None:
    old = addresses.allocate(service(type="NodePort")).service
    kept = {name: old["spec"][name] for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")}
    allocation = addresses.allocate(service(**kept), old)
    taken = service("t", type="NodePort", ports=[{"port": 1, "nodePort": 30086}])
    assert "already allocated" in problem(addresses, taken)
    addresses.commit(allocation)
    assert spec_of(addresses, taken)["ports"][0]["nodePort"] == 30086


def test_a_service_that_becomes_a_name_gives_its_address_back(addresses: ServiceAllocator) -> None:
    old = addresses.allocate(service()).service
    name = service(type="ExternalName", externalName="example.com")
    assert "clusterIP" not in spec_of(addresses, name, old)
    assert spec_of(addresses, service("t"))["clusterIP"] == old["spec"]["clusterIP"]
    assert spec_of(addresses, service(), name)["clusterIP"] == "10.0.0.18"


def test_an_update_keeps_what_is_there_and_gives_what_is_new(addresses: ServiceAllocator) -> None:
    old = addresses.allocate(service(type="NodePort")).service
    ports = [*old["spec"]["ports"], {"port": 81}]
    new = {"metadata": old["metadata"], "spec": old["spec"] | {"ports": ports}}
    spec = spec_of(addresses, new, old)
    assert spec["clusterIPs"] == old["spec"]["clusterIPs"]
    assert [port["nodePort"] for port in spec["ports"]] == [30086, 30087]


def test_a_dry_run_shows_some_address_and_port_and_takes_none(addresses: ServiceAllocator) -> None:
    allocation = addresses.allocate(service(type="NodePort", ports=[{"port": 1}, {"port": 2}]), dry_run=True)
    spec = allocation.service["spec"]
    assert spec["clusterIP"] == "10.0.0.0"
    assert [port["nodePort"] for port in spec["ports"]] == [32769, 32770]
    assert allocation.allocated == []


def test_a_service_of_both_families_has_two_addresses(both: ServiceAllocator) -> None:
    spec = spec_of(both, service(ipFamilyPolicy="PreferDualStack"))
    assert spec["ipFamilies"] == ["IPv4", "IPv6"]
    assert spec["clusterIPs"] == ["10.0.0.17", "fd00::101"]
    assert spec["clusterIP"] == "10.0.0.17"


def test_a_second_family_comes_and_goes_with_the_policy(both: ServiceAllocator) -> None:
    one = both.allocate(service()).service
    two = spec_of(both, {"metadata": {}, "spec": one["spec"] | {"ipFamilyPolicy": "RequireDualStack"}}, one)
    assert two["clusterIPs"] == ["10.0.0.17", "fd00::101"]
    again = spec_of(both, {"metadata": {}, "spec": two | {"ipFamilyPolicy": "SingleStack"}}, {"spec": two})
    assert again["clusterIPs"] == ["10.0.0.17"]
    assert again["ipFamilies"] == ["IPv4"]
    assert spec_of(both, service("t", ipFamilies=["IPv6"]))["clusterIPs"] == ["fd00::101"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {"ipFamilyPolicy": "RequireDualStack"},
            (
                'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": '
                "this cluster is not configured for dual-stack services"
            ),
        ),
        ({"ipFamilies": ["IPv6"]}, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'),
        (
            {"clusterIP": "fd00::9", "clusterIPs": ["fd00::9"]},
            'spec.clusterIPs[0]: Invalid value: ["fd00::9"]: IPv6 is not configured on this cluster',
        ),
        (
            {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4", "IPv6"]},
            (
                'spec.ipFamilyPolicy: Invalid value: "SingleStack": '
                "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified"
            ),
        ),
    ],
)
def test_families_that_the_cluster_lacks_are_refused(addresses: ServiceAllocator, spec: Obj, words: str) -> None:
    assert problem(addresses, service(**spec)) == f'Service "s" is invalid: {words}'


def test_thousands_of_ports_are_given_in_linear_time(addresses: ServiceAllocator) -> None:
    ports = [{"port": number} for number in range(1, 60_001)]
    with some_work():  # each port that looks at all others is a minute's
        allocation = addresses.allocate(service(type="NodePort", ports=ports), dry_run=True)
    assert len({port["nodePort"] for port in allocation.service["spec"]["ports"]}) == 60_000
