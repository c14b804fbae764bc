"""EndpointSlices: their endpoints by the pods, how they are filled, and when they are left alone."""

import copy

import pytest

from apiserver.api.errors import forbidden, not_found, unavailable
from controller_manager.controllers.endpoints.selected_pods import pod_changed
from controller_manager.controllers.endpointslice.controller import SLICES_BY_SERVICE, SPEC
from controller_manager.controllers.endpointslice.writes import slice_changed
from controller_manager.reconcile.contract import Batch, Change, Create, DelayedKey, Delete, Update
from controller_manager.reconcile.kinds import ENDPOINT_SLICE, NODE, POD, SERVICE

SERVICE_NAME, MANAGED_BY = "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"
CONTROLLER = "endpointslice-controller.k8s.io"
CHANGED_AT = "endpoints.kubernetes.io/last-change-trigger-time"
PORT = {"name": "http", "port": 8080, "protocol": "TCP"}
OWNER = {
    "apiVersion": "v1",
    "kind": "Service",
    "name": "web",
    "uid": "uid-web",
    "controller": True,
    "blockOwnerDeletion": True,
}


def an_endpoint(number, **more):
    return {
        "addresses": [f"10.1.{number // 200}.{number % 200}"],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "targetRef": {"kind": "Pod", "namespace": "shop", "name": f"web-{number}", "uid": f"uid-{number}"},
        "nodeName": "n1",
        "zone": "east",
    } | more


def a_slice(name, numbers=(), *, ports=(PORT,), labels=None, family="IPv4", owners=(OWNER,), **meta):
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "resourceVersion": "7"}
    metadata |= {"labels": {SERVICE_NAME: "web", MANAGED_BY: CONTROLLER} | (labels or {})}
    metadata |= {"ownerReferences": list(owners)} | meta
    endpoints = [an_endpoint(number) for number in numbers]
    return {"metadata": metadata, "addressType": family, "ports": list(ports), "endpoints": endpoints}


@pytest.fixture
def do(reconcile, make):
    """do(pods, slices, service): the outcome of a reconcile of the slices."""

    def run(pods, slices=(), service=None, *, answers=lambda _: None, nodes=None):
        objects = {SERVICE: [service or make.service()], POD: pods, ENDPOINT_SLICE: slices}
        return reconcile(SPEC, "shop/web", objects | {NODE: nodes or [make.node()]}, answers)

    return run


def sizes(requests):
    return sorted(len(request.obj["endpoints"]) for request in requests)


def numbers_in(each):
    return [endpoint["targetRef"]["name"].removeprefix("web-") for endpoint in each["endpoints"]]


def test_a_slice_tells_of_the_pods_behind_a_service(do, make):
    pods = [make.pod(1), make.pod(2, labels={"app": "db"}), make.pod(3, ips=[]), make.pod(4, phase="Failed")]
    (made,) = do(pods, service=make.service(labels={"team": "a", SERVICE_NAME: "other"})).of(Create)
    assert made.obj == {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": "web-",
            "namespace": "shop",
            "labels": {"team": "a", SERVICE_NAME: "web", MANAGED_BY: CONTROLLER},
            "annotations": {CHANGED_AT: make.time},
            "ownerReferences": [OWNER],
        },
        "addressType": "IPv4",
        "ports": [PORT],
        "endpoints": [an_endpoint(1)],
    }


@pytest.mark.parametrize(
    ("given", "publishes", "expected"),
    [
        ({}, False, (True, True, False)),
        ({"ready": False}, False, (False, False, False)),
        ({"deleting": True}, False, (False, True, True)),
        ({"deleting": True, "ready": False}, False, (False, False, True)),
        ({"ready": False}, True, (True, False, False)),
        ({"deleting": True, "ready": False}, True, (True, False, True)),
    ],
)
def test_conditions_of_an_endpoint(do, make, given, publishes, expected):
    done = do([make.pod(1, **given)], service=make.service(publishNotReadyAddresses=publishes))
    (endpoint,) = done.of(Create)[0].obj["endpoints"]
    assert endpoint["conditions"] == dict(zip(("ready", "serving", "terminating"), expected, strict=True))


def test_a_headless_service_names_its_pods_and_needs_no_ports(do, make):
    service = make.service(clusterIP="None", ports=None)
    (made,) = do([make.pod(1, hostname="one", subdomain="web")], service=service).of(Create)
    assert made.obj["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
    assert made.obj["ports"] == []
    assert made.obj["endpoints"] == [an_endpoint(1, hostname="one")]


def test_zones_are_those_of_nodes_and_may_be_missing(do, make):
    (made,) = do([make.pod(1)], nodes=[make.node(zone="")]).of(Create)
    assert "zone" not in made.obj["endpoints"][0]


@pytest.mark.parametrize(
    ("spec", "annotations", "expected"),
    [
        ({}, {}, None),
        ({"trafficDistribution": "PreferClose"}, {}, {"forZones": [{"name": "east"}]}),
        ({"trafficDistribution": "PreferSameZone"}, {}, {"forZones": [{"name": "east"}]}),
        (
            {"trafficDistribution": "PreferSameNode"},
            {},
            {"forZones": [{"name": "east"}], "forNodes": [{"name": "n1"}]},
        ),
        ({"trafficDistribution": "PreferClose"}, {"service.kubernetes.io/topology-mode": "Auto"}, None),
    ],
)
def test_hints_of_ready_endpoints_follow_the_traffic_distribution(do, make, spec, annotations, expected):
    service = make.service(annotations=annotations, **spec)
    (made,) = do([make.pod(1), make.pod(2, ready=False)], service=service).of(Create)
    assert [endpoint.get("hints") for endpoint in made.obj["endpoints"]] == [expected, None]


def test_each_family_has_slices_of_its_own(do, make):
    done = do([make.pod(1, ips=["10.1.0.1", "fd00::1"])], service=make.service(ipFamilies=["IPv4", "IPv6"]))
    assert {c.obj["addressType"]: c.obj["endpoints"][0]["addresses"] for c in done.of(Create)} == {
        "IPv4": ["10.1.0.1"],
        "IPv6": ["fd00::1"],
    }


def test_slices_of_a_family_that_the_service_has_no_more_go(do, make):
    done = do([make.pod(1)], [a_slice("a", [1]), a_slice("b", family="IPv6", ports=())])
    assert [request.key for request in done.requests()] == ["shop/b"]
    assert done.of(Delete)[0].uid == "uid-b"


def test_pods_whose_ports_differ_are_in_different_slices(do, make):
    ports = [{"name": "http", "port": 80, "targetPort": "web", "protocol": "TCP"}]
    pods = [
        make.pod(number, containers=[{"name": "c", "ports": [{"name": "web", "containerPort": port}]}])
        for number, port in ((1, 8080), (2, 9090), (3, 8080))
    ]
    done = do(pods, service=make.service(ports=ports))
    assert {c.obj["ports"][0]["port"]: numbers_in(c.obj) for c in done.of(Create)} == {8080: ["1", "3"], 9090: ["2"]}


# -- filling -----------------------------------------------------------------------------------------------------------


def test_no_slice_has_more_than_a_hundred_endpoints(do, make):
    assert sizes(do([make.pod(number) for number in range(250)]).of(Create)) == [50, 100, 100]


def test_nothing_is_written_where_all_is_told(do, make):
    assert do([make.pod(1), make.pod(2)], [a_slice("a", [2]), a_slice("b", [1])]).actions == []


def test_an_endpoint_changes_where_it_is(do, make):
    done = do([make.pod(1, ready=False), make.pod(2)], [a_slice("a", [1]), a_slice("b", [2])])
    (update,) = done.requests()
    assert isinstance(update, Update)
    assert update.obj["metadata"]["name"] == "a"
    assert update.obj["metadata"]["resourceVersion"] == "7"
    assert update.obj["endpoints"][0]["conditions"]["ready"] is False


def test_new_endpoints_go_where_something_changes_anyhow_fullest_first(do, make):
    slices = [a_slice("a", range(10)), a_slice("b", range(10, 108)), a_slice("c", range(110, 190))]
    pods = [make.pod(number) for number in (*range(1, 107), *range(110, 190), 300, 301, 302)]
    done = do(pods, slices)
    ports = {update.obj["metadata"]["name"]: numbers_in(update.obj) for update in done.of(Update)}
    assert ports["b"][-3:] == ["300", "301", "302"]
    assert len(ports["b"]) == 100
    assert ports["a"] == [str(number) for number in range(1, 10)]
    assert done.of(Create) == done.of(Delete) == []
    assert "c" not in ports


def test_new_endpoints_fill_the_slice_that_they_fill_best(do, make):
    slices = [a_slice("a", range(40)), a_slice("b", range(100, 190)), a_slice("c", range(200, 299))]
    numbers = [*range(40), *range(100, 190), *range(200, 299), *range(400, 410)]
    done = do([make.pod(number) for number in numbers], slices)
    (update,) = done.requests()
    assert update.obj["metadata"]["name"] == "b"
    assert len(update.obj["endpoints"]) == 100


def test_where_they_fit_into_none_they_get_new_slices(do, make):
    numbers = [*range(60), *range(200, 260)]
    done = do([make.pod(number) for number in numbers], [a_slice("a", range(60))])
    assert sizes(done.of(Create)) == [60]
    assert done.of(Update) == []


def test_a_slice_without_endpoints_goes(do, make):
    done = do([make.pod(1)], [a_slice("a", [1]), a_slice("b", [2])])
    assert [(type(request), request.key) for request in done.requests()] == [(Delete, "shop/b")]


def test_a_slice_that_would_go_becomes_the_one_that_is_needed(do, make):
    old = a_slice("a", [1], ports=[PORT | {"port": 1}], annotations={"mine": "yes", CHANGED_AT: "2020-01-01T00:00:00Z"})
    (update,) = do([make.pod(1)], [old]).requests()
    meta = update.obj["metadata"]
    assert (meta["name"], meta["resourceVersion"]) == ("a", "7")
    assert meta["annotations"] == {"mine": "yes", CHANGED_AT: make.time}
    assert update.obj["ports"] == [PORT]


def test_where_nothing_matches_an_empty_slice_holds_the_place(do):
    (made,) = do([]).of(Create)
    assert made.obj["endpoints"] == made.obj["ports"] == []
    assert do([], [a_slice("a", ports=())]).actions == []
    (update,) = do([], [a_slice("a", [1, 2])]).requests()
    assert (update.obj["metadata"]["name"], update.obj["endpoints"], update.obj["ports"]) == ("a", [], [])


def test_the_placeholder_becomes_the_first_slice(do, make):
    (update,) = do([make.pod(1)], [a_slice("a", ports=())]).requests()
    assert isinstance(update, Update)
    assert numbers_in(update.obj) == ["1"]


def test_labels_follow_the_service(do, make):
    slices = [a_slice("a", [1], labels={"old": "x", "service.kubernetes.io/headless": ""})]
    (update,) = do([make.pod(1)], slices, make.service(labels={"new": "y"})).requests()
    assert update.obj["metadata"]["labels"] == {"new": "y", SERVICE_NAME: "web", MANAGED_BY: CONTROLLER}


def test_slices_of_a_former_service_of_the_name_go_and_are_not_used_again(do, make):
    former = a_slice("old", [1], owners=[OWNER | {"uid": "uid-former"}])
    done = do([make.pod(1)], [former])
    assert [type(request) for request in done.requests()] == [Create, Delete]
    assert done.of(Delete)[0].key == "shop/old"


def test_slices_of_others_and_those_that_are_being_deleted_count_for_nothing(do, make):
    theirs = a_slice("theirs", [1], labels={MANAGED_BY: "somebody"})
    going = a_slice("going", [1], deletionTimestamp=make.time)
    assert [type(request) for request in do([make.pod(1)], [theirs, going]).requests()] == [Create]


# -- when --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [{"selector": None}, {"type": "ExternalName", "externalName": "example.com"}])
def test_services_whose_endpoints_others_tell_are_left_alone(do, make, spec):
    assert do([make.pod(1)], [a_slice("a", [5])], make.service(**spec)).actions == []


def test_a_service_that_is_gone_takes_its_slices_with_it_by_itself(make_world):
    assert SPEC.observe(make_world(SPEC, {ENDPOINT_SLICE: [a_slice("a", [1])]}), "shop/web") is None


def test_a_service_that_is_being_deleted_gets_no_new_slices(do, make):
    service = make.service()
    service["metadata"]["deletionTimestamp"] = make.time
    assert do([make.pod(1)], service=service).actions == []


def test_pods_on_nodes_that_are_not_there_are_left_out_and_looked_for_again(do, make):
    done = do([make.pod(1), make.pod(2, node="gone")])
    assert numbers_in(done.of(Create)[0].obj) == ["1"]
    assert done.error.message == "skipping Pod web-2 for Service shop/web: Node gone Not Found"
    assert done.events == [
        f"FailedToUpdateEndpointSlices: Error updating Endpoint Slices for Service shop/web: {done.error}"
    ]
    done = do([make.pod(2, node="gone")], service=make.service(publishNotReadyAddresses=True))
    assert numbers_in(done.of(Create)[0].obj) == ["2"]
    assert done.error is None


@pytest.mark.parametrize(
    ("kind", "slices", "word"),
    [
        (Create, [], "create"),
        (Update, [a_slice("a", [1])], "update"),
        (Delete, [a_slice("a", [2]), a_slice("b", [1])], "delete"),
    ],
)
def test_a_refusal_is_told_and_tried_again(do, make, kind, slices, word):
    pods = [make.pod(2, ready=kind is not Update)] if kind is not Update else [make.pod(1, ready=False)]
    done = do(pods, slices, answers=lambda request: unavailable("busy") if isinstance(request, kind) else None)
    assert (done.error.code, done.error.message) == (503, f"failed to {word} EndpointSlice for Service shop/web: busy")
    assert done.events == [
        f"FailedToUpdateEndpointSlices: Error updating Endpoint Slices for Service shop/web: {done.error}"
    ]


def test_what_is_gone_is_as_good_as_deleted(do, make):
    gone = not_found("discovery.k8s.io", "endpointslices", "b")
    done = do([make.pod(1)], [a_slice("a", [1]), a_slice("b", [2])], answers=lambda _: gone)
    assert done.error is None


def test_in_a_namespace_that_goes_nothing_is_said(do, make):
    cause = {"reason": "NamespaceTerminating", "message": "", "field": "metadata.namespace"}
    refusal = forbidden("discovery.k8s.io", "endpointslices", name="", why="terminating", causes=[cause])
    done = do([make.pod(1)], answers=lambda _: refusal)
    assert [type(action) for action in done.actions] == [Batch]
    assert done.error is None


def test_a_second_look_without_a_change_writes_nothing(make_world, rehearse, make):
    world = make_world(SPEC, {SERVICE: [make.service()], POD: [make.pod(n) for n in range(130)], NODE: [make.node()]})
    done = rehearse(SPEC.reconcile(SPEC.observe(world, "shop/web"), 0.0))
    for number, request in enumerate(done.of(Create)):
        meta = request.obj["metadata"] | {"name": f"web-{number}", "uid": f"s{number}", "resourceVersion": "9"}
        world[ENDPOINT_SLICE].put(copy.deepcopy(request.obj) | {"metadata": meta})
    assert len(world[ENDPOINT_SLICE]) == 2
    assert rehearse(SPEC.reconcile(SPEC.observe(world, "shop/web"), 0.0)).actions == []


def test_pods_and_slices_wake_their_service(make_world, make):
    world = make_world(SPEC, {SERVICE: [make.service()]})
    assert list(pod_changed(world, Change(None, make.pod(1)))) == ["shop/web"]
    changed = slice_changed(SLICES_BY_SERVICE)
    own, theirs = a_slice("a"), a_slice("a", labels={MANAGED_BY: "somebody"})
    assert list(changed(world, Change(own, None))) == [DelayedKey("shop/web", 1.0)]
    assert list(changed(world, Change(own, theirs))) == [DelayedKey("shop/web", 1.0)]
    assert list(changed(world, Change(theirs, theirs))) == []
    assert list(changed(world, Change(None, theirs))) == []
    moved = a_slice("a", labels={SERVICE_NAME: "db"})
    assert set(changed(world, Change(own, moved))) == {DelayedKey("shop/web", 1.0), DelayedKey("shop/db", 1.0)}
