"""Services, their endpoints and slices, as kubectl shows them on a whole cluster."""

import json
from collections.abc import Callable
from typing import Any

import pytest

Kubectl = Any
Write = Callable[..., str]

OF_WEB = "-l kubernetes.io/service-name=web"
ADDRESSES = "{.subsets[*].addresses[*].ip}"
IN_SLICE = "{.endpoints[*].addresses[0]}"
TIMEOUT = "--timeout=300s"


def awaited(kubectl: Kubectl, what: str, path: str, right: Callable[[list[str]], bool]) -> list[str]:
    """Return the values of a JSONPath of objects, as soon as they are right."""
    watch = kubectl.start(f"""get {what} --watch --request-timeout=30s -o 'jsonpath={path}{{"\\n"}}'""")
    try:
        for line in watch.stdout:
            words: list[str] = line.split()
            if right(words):
                return words
    finally:
        watch.terminate()
        watch.communicate()
    raise AssertionError(f"{what} was never right")


def awaited_slices(kubectl: Kubectl, number: int) -> list[dict[str, Any]]:
    """All slices of the Service, as soon as there are so many endpoints in them."""
    sizes: dict[str, int] = {}
    path = "{.metadata.name} {.endpoints[*].addresses[0]}"

    def right(addresses: list[str]) -> bool:
        sizes[addresses[0]] = len(addresses) - 1
        return sum(sizes.values()) == number

    awaited(kubectl, f"endpointslices {OF_WEB}", path, right)
    slices: list[dict[str, Any]] = json.loads(kubectl.output(f"get endpointslices {OF_WEB} -o json"))["items"]
    return slices


@pytest.fixture
def web(kubectl: Kubectl, deployment: Write) -> Kubectl:
    """Three pods behind a Service."""
    kubectl.output("apply -f -", deployment(replicas=3))
    kubectl.output("rollout status deployment/web")
    kubectl.output("expose deployment web --port=80 --target-port=8080")
    return kubectl


def test_pods_behind_a_service_are_in_its_endpoints_and_slices(web: Kubectl) -> None:
    pods = sorted(web.output("get pods -o 'jsonpath={.items[*].status.podIP}'").split())
    assert len(pods) == 3
    assert sorted(awaited(web, "endpoints", ADDRESSES, lambda addresses: len(addresses) == 3)) == pods
    assert sorted(awaited(web, f"endpointslices {OF_WEB}", IN_SLICE, lambda addresses: len(addresses) == 3)) == pods
    web.says("get endpoints web --no-headers", r"web +(\S+:8080,?){3} .*")
    web.says(f"get endpointslices {OF_WEB} --no-headers", r"web-\S+ +IPv4 +8080 +\S+,\S+,\S+ .*")


def test_many_pods_need_more_slices_and_the_first_one_stays(web: Kubectl) -> None:
    awaited(web, f"endpointslices {OF_WEB}", IN_SLICE, lambda addresses: len(addresses) == 3)
    [name] = web.output(f"get endpointslices {OF_WEB} -o name").split()
    web.output("scale deployment web --replicas=150")
    web.output("rollout status deployment/web --timeout=300s")
    pods = sorted(web.output("get pods -o 'jsonpath={.items[*].status.podIP}'").split())
    assert sorted(awaited(web, "endpoints web", ADDRESSES, lambda addresses: len(addresses) == 150)) == pods
    slices = {each["metadata"]["name"]: each["endpoints"] for each in awaited_slices(web, 150)}
    assert name.partition("/")[2] in slices
    assert all(len(endpoints) <= 100 for endpoints in slices.values())
    assert sorted(e["addresses"][0] for endpoints in slices.values() for e in endpoints) == pods
    web.output("scale deployment web --replicas=0")
    awaited(web, "endpoints web", ADDRESSES, lambda addresses: not addresses)


def test_a_service_takes_what_tells_of_it_with_it(web: Kubectl) -> None:
    awaited(web, "endpoints web", ADDRESSES, lambda addresses: len(addresses) == 3)
    awaited(web, f"endpointslices {OF_WEB}", IN_SLICE, lambda addresses: len(addresses) == 3)
    [name] = web.output(f"get endpointslices {OF_WEB} -o name").split()
    web.output("delete service web")
    web.output(f"wait {name} endpoints/web --for=delete {TIMEOUT}")


def test_a_service_without_pods_has_an_empty_slice(kubectl: Kubectl) -> None:
    kubectl.output("create service clusterip web --tcp=80:8080")
    awaited(kubectl, f"endpointslices {OF_WEB}", "{.addressType}", lambda addresses: addresses == ["IPv4"])
    kubectl.says(f"get endpointslices {OF_WEB} --no-headers", r"web-\S+ +IPv4 +<unset> +<unset> .*")


def test_endpoints_that_somebody_wrote_are_mirrored(kubectl: Kubectl) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    written = {"addresses": [{"ip": "198.51.100.7"}], "ports": [{"port": 80}]}
    endpoints = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "web"}, "subsets": [written]}
    kubectl.output("apply -f -", json.dumps({"apiVersion": "v1", "kind": "List", "items": [service, endpoints]}))
    awaited(kubectl, f"endpointslices {OF_WEB}", IN_SLICE, lambda addresses: addresses == ["198.51.100.7"])
    kubectl.output("delete endpoints web")
    kubectl.output(f"wait endpointslice {OF_WEB} --for=delete {TIMEOUT}")
