"""Endpoints that users wrote, mirrored in slices: the slices' contents, and when they are deleted."""

import pytest
from triggers import NO_LISTERS

from apiserver.api.errors import forbidden, unavailable
from controller_manager.controllers.endpointslicemirroring.controller import SPEC, service_changed
from controller_manager.reconcile.contract import Batch, Change, Create, Delete, Update
from controller_manager.reconcile.kinds import ENDPOINT_SLICE, ENDPOINTS, SERVICE

SERVICE_NAME, MANAGED_BY = "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"
CONTROLLER = "endpointslicemirroring-controller.k8s.io"
LABELS = {SERVICE_NAME: "web", MANAGED_BY: CONTROLLER}
PORT = {"name": "http", "port": 80, "protocol": "TCP"}
OWNER = {
    "apiVersion": "v1",
    "kind": "Endpoints",
    "name": "web",
    "uid": "uid-ep",
    "controller": True,
    "blockOwnerDeletion": True,
}


def endpoints(*subsets, labels=None, annotations=None, **more):
    meta = {"name": "web", "namespace": "shop", "uid": "uid-ep"} | more
    given = {"labels": labels, "annotations": annotations}
    return {"metadata": meta | {name: value for name, value in given.items() if value}, "subsets": list(subsets)}


def subset(*ready, unready=(), ports=(PORT,)):
    def addresses_json(ips):
        return [{"ip": ip} for ip in ips]

    return {"addresses": addresses_json(ready), "notReadyAddresses": addresses_json(unready), "ports": list(ports)}


def endpoint(ip, *, ready=True):
    return {"addresses": [ip], "conditions": {"ready": ready}}


def a_slice(name, *ips, ports=(PORT,), labels=None, annotations=None, owner=OWNER, **meta):
    metadata = {
        "name": name,
        "namespace": "shop",
        "uid": f"uid-{name}",
        "resourceVersion": "7",
        "ownerReferences": [owner],
    }
    metadata |= {"labels": LABELS | (labels or {})} | ({"annotations": annotations} if annotations else {}) | meta
    endpoints = [endpoint(ip) for ip in ips]
    return {"metadata": metadata, "addressType": "IPv4", "ports": list(ports), "endpoints": endpoints}


@pytest.fixture
def do(reconcile, make):
    """do(endpoints, slices, service): the outcome of a reconcile of the slices."""

    def run(given, slices=(), service=None, answers=lambda _: None):
        service = service or make.service(selector=None)
        objects = {SERVICE: [service], ENDPOINTS: [given] if given else [], ENDPOINT_SLICE: slices}
        return reconcile(SPEC, "shop/web", objects, answers)

    return run


def mirrored(done):
    """Return the address family, the ports and the addresses with their readiness of each new slice."""
    return [
        (
            request.obj["addressType"],
            [port["port"] for port in request.obj["ports"]],
            {e["addresses"][0]: e["conditions"]["ready"] for e in request.obj["endpoints"]},
        )
        for request in done.of(Create)
    ]


def test_a_slice_tells_what_somebody_wrote(do):
    annotations = {"mine": "yes", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    annotations["endpoints.kubernetes.io/last-change-trigger-time"] = "x"
    address = {"ip": "10.0.0.1", "hostname": "one", "nodeName": "n1", "targetRef": {"kind": "Pod", "name": "p"}}
    given = {"addresses": [address], "ports": [{"port": 80, "appProtocol": "http"}]}
    (made,) = do(endpoints(given, labels={"team": "a"}, annotations=annotations)).of(Create)
    assert made.obj == {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": "web-",
            "namespace": "shop",
            "labels": {"team": "a"} | LABELS,
            "annotations": {"mine": "yes"},
            "ownerReferences": [OWNER],
        },
        "addressType": "IPv4",
        "ports": [{"name": "", "port": 80, "protocol": "TCP", "appProtocol": "http"}],
        "endpoints": [
            endpoint("10.0.0.1") | {"hostname": "one", "nodeName": "n1", "targetRef": {"kind": "Pod", "name": "p"}}
        ],
    }


@pytest.mark.parametrize(
    ("subsets", "expected"),
    [
        ([subset("10.0.0.1", unready=["10.0.0.2"])], [("IPv4", [80], {"10.0.0.1": True, "10.0.0.2": False})]),
        ([subset("10.0.0.1", "fd00::1")], [("IPv4", [80], {"10.0.0.1": True}), ("IPv6", [80], {"fd00::1": True})]),
        ([subset("10.0.0.1", ports=())], [("IPv4", [], {"10.0.0.1": True})]),
        (
            [subset("10.0.0.1"), subset("10.0.0.1", ports=[{"name": "b", "port": 81}])],
            [("IPv4", [81, 80], {"10.0.0.1": True})],
        ),
        ([subset("10.0.0.1"), subset(unready=["10.0.0.1"])], [("IPv4", [80], {"10.0.0.1": False})]),
        (
            [subset("10.0.0.1"), subset(unready=["10.0.0.1"], ports=[{"name": "b", "port": 81}])],
            [("IPv4", [81], {"10.0.0.1": False}), ("IPv4", [80], {"10.0.0.1": True})],
        ),
        ([], []),
    ],
)
def test_subsets_become_slices_by_family_and_ports(do, subsets, expected):
    assert mirrored(do(endpoints(*subsets))) == expected


def test_of_a_subset_a_thousand_addresses_are_mirrored(do):
    done = do(endpoints(subset(*(f"10.0.{i // 200}.{i % 200}" for i in range(1003)))))
    assert len(done.of(Create)[0].obj["endpoints"]) == 1000
    why = "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 3 addresses were skipped"
    assert done.events == [f"TooManyAddressesToMirror: {why}"]


def test_nothing_is_written_where_all_is_told(do):
    given = endpoints(subset("10.0.0.1", "10.0.0.2"), labels={"a": "b"}, annotations={"c": "d"})
    assert do(given, [a_slice("s", "10.0.0.2", "10.0.0.1", labels={"a": "b"}, annotations={"c": "d"})]).actions == []


@pytest.mark.parametrize(
    "old",
    [
        a_slice("s", "10.0.0.9"),
        a_slice("s", "10.0.0.1", labels={"old": "x"}),
        a_slice("s", "10.0.0.1", annotations={"old": "x"}),
        a_slice("s", "10.0.0.1", ports=[PORT | {"port": 1}]),
    ],
    ids=["address", "label", "annotation", "port"],
)
def test_what_differs_is_updated_in_place(do, old):
    (update,) = do(endpoints(subset("10.0.0.1")), [old]).requests()
    assert isinstance(update, Update)
    assert (update.obj["metadata"]["name"], update.obj["metadata"]["resourceVersion"]) == ("s", "7")
    assert update.obj["metadata"]["labels"] == LABELS
    assert not (update.obj["metadata"].get("annotations") or {}).get("old")
    assert update.obj["endpoints"] == [endpoint("10.0.0.1")]
    assert update.obj["ports"] == [PORT]


def test_one_slice_is_enough_and_those_of_former_endpoints_go(do):
    former = a_slice("former", "10.0.0.1", ports=[PORT | {"port": 1}], owner=OWNER | {"uid": "former"})
    slices = [a_slice("a", "10.0.0.1"), a_slice("b", "10.0.0.1"), former]
    assert [(type(r), r.key) for r in do(endpoints(subset("10.0.0.1")), slices).requests()] == [
        (Delete, "shop/b"),
        (Delete, "shop/former"),
    ]


# -- when --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "service"),
    [
        (None, {"selector": None}),
        (endpoints(subset("10.0.0.1")), {"selector": {"a": "b"}}),
        (endpoints(subset("10.0.0.1"), labels={"endpointslice.kubernetes.io/skip-mirror": "true"}), {"selector": None}),
        (
            endpoints(subset("10.0.0.1"), annotations={"control-plane.alpha.kubernetes.io/leader": "{}"}),
            {"selector": None},
        ),
    ],
    ids=["gone", "selector", "skipped", "leader"],
)
def test_what_is_not_to_be_mirrored_leaves_no_slices(do, make, given, service):
    done = do(given, [a_slice("s", "10.0.0.1")], make.service(**service))
    assert [(type(request), request.key) for request in done.requests()] == [(Delete, "shop/s")]
    assert do(given, [], make.service(**service)).actions == []


def test_endpoints_without_a_service_are_not_mirrored(reconcile):
    assert reconcile(SPEC, "shop/web", {ENDPOINTS: [endpoints(subset("10.0.0.1"))]}).actions == []


def test_endpoints_that_go_get_no_new_slices(do):
    assert do(endpoints(subset("10.0.0.1"), deletionTimestamp="x")).actions == []


def test_a_refusal_is_tried_again_unless_the_namespace_goes(do):
    given = endpoints(subset("10.0.0.1"))
    done = do(given, answers=lambda _: unavailable("busy"))
    assert done.error.message == "failed to create EndpointSlice for Endpoints shop/web: busy"
    cause = {"reason": "NamespaceTerminating", "message": "", "field": "metadata.namespace"}
    refusal = forbidden("discovery.k8s.io", "endpointslices", name="", why="terminating", causes=[cause])
    done = do(given, answers=lambda _: refusal)
    assert [type(action) for action in done.actions] == [Batch]
    assert done.error is None


def test_services_without_a_selector_wake_their_endpoints(make):
    bare, selecting = make.service(selector=None), make.service()
    changes = [Change(None, bare), Change(bare, None), Change(bare, selecting), Change(selecting, bare)]
    assert [list(service_changed(NO_LISTERS, change)) for change in changes] == [["shop/web"]] * 4
    for change in (Change(None, selecting), Change(selecting, selecting), Change(bare, make.service(selector=None))):
        assert list(service_changed(NO_LISTERS, change)) == []
