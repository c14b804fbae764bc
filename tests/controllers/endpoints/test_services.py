"""Services and the pods behind them: the keys a change enqueues, which addresses and ports count, and since when."""

import copy

import pytest

from controller_manager.controllers.endpoints.services import (
    Port,
    ServiceSelectors,
    TriggerTimes,
    addresses_of,
    families_of,
    has_address,
    hostname_of,
    is_headless,
    ports_of,
    selector_of,
)

SERVICE = "Service"


@pytest.fixture
def selectors():
    return ServiceSelectors()


def changed(pod, **changes):
    """The pod with other labels, addresses, readiness, deletion or annotations."""
    new = copy.deepcopy(pod)
    meta, status = new["metadata"], new["status"]
    meta |= {name: changes[name] for name in ("labels", "annotations", "deletionTimestamp") if name in changes}
    status |= {name: changes[name] for name in ("podIPs", "phase") if name in changes}
    if "ready" in changes:
        status["conditions"][0]["status"] = changes["ready"]
    return new


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"annotations": {"a": "b"}}, []),
        ({"ready": "False"}, ["shop/web"]),
        ({"deletionTimestamp": "2027-01-15T08:00:00Z"}, ["shop/web"]),
        ({"podIPs": [{"ip": "10.9.9.9"}]}, ["shop/web"]),
        ({"phase": "Failed"}, ["shop/web"]),
        ({"labels": {"app": "web", "more": "x"}}, []),
        ({"labels": {"app": "db"}}, ["shop/db", "shop/web"]),
        ({"labels": {}}, ["shop/web"]),
        ({"labels": {"app": "web", "tier": "a"}}, ["shop/tier"]),
        ({"labels": {"app": "web", "tier": "a"}, "ready": "False"}, ["shop/tier", "shop/web"]),
    ],
)
def test_a_change_of_a_pod_concerns_the_services_that_tell_of_it(selectors, make, changes, expected):
    for name, selector in {"web": {"app": "web"}, "db": {"app": "db"}, "tier": {"app": "web", "tier": "a"}}.items():
        selectors.apply_change(SERVICE, None, make.service(name, selector=selector))
    pod = make.pod(1)
    assert sorted(selectors.affected_services(pod, changed(pod, **changes))) == expected


def test_pods_that_come_and_go_concern_services_only_if_they_have_an_address(selectors, make):
    selectors.apply_change(SERVICE, None, make.service())
    pod, young = make.pod(1), make.pod(2, ips=[])
    assert list(selectors.affected_services(None, pod)) == list(selectors.affected_services(pod, None)) == ["shop/web"]
    assert list(selectors.affected_services(None, young)) == list(selectors.affected_services(young, None)) == []
    assert list(selectors.affected_services(pod, pod)) == []


def test_services_change_their_selectors_and_go(selectors, make):
    service, pod = make.service(), make.pod(1)
    other = make.service(selector={"app": "db"})
    outside = make.service(selector={"app": "web"}, type="ExternalName")
    selectors.apply_change(SERVICE, None, service)
    selectors.apply_change(SERVICE, service, other)
    assert list(selectors.affected_services(None, pod)) == []
    selectors.apply_change(SERVICE, other, service)
    assert list(selectors.affected_services(None, pod)) == ["shop/web"]
    selectors.apply_change(SERVICE, service, outside)
    assert list(selectors.affected_services(None, pod)) == []
    selectors.apply_change(SERVICE, outside, service)
    selectors.apply_change(SERVICE, service, None)
    assert list(selectors.affected_services(None, pod)) == []
    assert selectors.affected_services(None, pod) == ()  # the namespace is as if there had never been any


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {"app": "web"}),
        ({"selector": None}, {}),
        ({"selector": {}}, {}),
        ({"type": "ExternalName"}, {}),
    ],
)
def test_only_services_with_a_selector_have_pods(make, spec, expected):
    assert selector_of(make.service(**spec)) == expected


@pytest.mark.parametrize(("address", "expected"), [("10.0.0.1", False), ("None", True), ("", True), (None, True)])
def test_a_service_without_an_address_is_headless(make, address, expected):
    assert is_headless(make.service(clusterIP=address)) is expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"ipFamilies": ["IPv6", "IPv4"]}, ["IPv6", "IPv4"]),
        ({"ipFamilies": None}, ["IPv4"]),
        ({"ipFamilies": None, "clusterIP": "fd00::1"}, ["IPv6"]),
        ({"ipFamilies": None, "clusterIP": "None"}, ["IPv4", "IPv6"]),
    ],
)
def test_the_families_of_a_service(make, spec, expected):
    assert list(families_of(make.service(**spec))) == expected


def test_addresses_are_those_of_a_family(make):
    pod = make.pod(1, ips=["10.1.0.1", "fd00::1", "10.1.0.2"])
    assert addresses_of(pod, "IPv4") == ["10.1.0.1", "10.1.0.2"]
    assert addresses_of(pod, "IPv6") == ["fd00::1"]
    del pod["status"]["podIPs"]
    assert addresses_of(pod, "IPv4") == ["10.1.0.1"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, True),
        ({"ready": False}, True),
        ({"ips": []}, False),
        ({"phase": "Succeeded"}, False),
        ({"deleting": True}, True),
    ],
)
def test_pods_that_have_ended_or_have_no_address_are_behind_nothing(make, given, expected):
    assert has_address(make.pod(1, **given)) is expected


def test_ports_are_found_by_number_and_by_the_names_that_containers_and_sidecars_give(make):
    named = {"name": "web", "containerPort": 8080}
    pod = make.pod(
        1,
        containers=[
            {"name": "a"},
            {"name": "b", "ports": [named, {"name": "dns", "containerPort": 53, "protocol": "UDP"}]},
        ],
        initContainers=[
            {"name": "once", "ports": [{"name": "early", "containerPort": 1}]},
            {"name": "side", "restartPolicy": "Always", "ports": [{"name": "proxy", "containerPort": 15001}]},
        ],
    )
    expected = [
        {"name": "a", "port": 80, "targetPort": "web"},
        {"name": "b", "port": 53, "targetPort": "dns", "protocol": "UDP"},
        {"name": "c", "port": 53, "targetPort": "dns", "protocol": "TCP"},
        {"name": "d", "port": 1, "targetPort": "early"},
        {"name": "e", "port": 2, "targetPort": "proxy", "appProtocol": "http"},
        {"name": "f", "port": 3, "targetPort": 33},
        {"port": 4},
    ]
    assert ports_of(pod, make.service(ports=expected)) == (
        Port("a", 8080, "TCP", ""),
        Port("b", 53, "UDP", ""),
        Port("e", 15001, "TCP", "http"),
        Port("f", 33, "TCP", ""),
        Port("", 4, "TCP", ""),
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"hostname": "a", "subdomain": "web"}, "a"),
        ({"hostname": "a", "subdomain": "db"}, ""),
        ({"hostname": "a"}, ""),
        ({"subdomain": "web"}, ""),
    ],
)
def test_a_pod_has_a_name_of_its_own_in_the_domain_that_it_names(make, spec, expected):
    assert hostname_of(make.pod(1, **spec), make.service()) == expected


def test_the_time_of_a_change_is_the_earliest_that_is_new(make):
    times, service = TriggerTimes(), make.service()
    first = [make.pod(1, at="2027-01-15T07:00:05Z"), make.pod(2, at="2027-01-15T07:00:09Z")]
    assert times.record(service, first) == make.time  # the Service itself is new
    assert times.record(service, first) == ""
    later = [first[0], make.pod(2, at="2027-01-15T07:00:20Z"), make.pod(3, at="2027-01-15T07:00:12Z")]
    assert times.record(service, later) == "2027-01-15T07:00:12Z"
    assert times.record(service, [first[0]]) == ""
    times.apply_change(SERVICE, service, None)
    assert times.record(service, first) == make.time
