"""Endpoints: subsets by ports, what is cut off, labels and annotations, and Endpoints of Services that are gone."""

import pytest
from triggers import NO_LISTERS

from apiserver.api.errors import forbidden, not_found, unavailable
from controller_manager.controllers.endpoints.controller import SPEC, endpoints_changed
from controller_manager.controllers.endpoints.subsets import truncate
from controller_manager.reconcile.contract import Change, Create, Delete, Enqueue, RecordEvent, Update
from controller_manager.reconcile.kinds import ENDPOINTS, POD, SERVICE

MANAGED = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
HEADLESS = {"service.kubernetes.io/headless": ""}
CHANGED_AT, OVER = "endpoints.kubernetes.io/last-change-trigger-time", "endpoints.kubernetes.io/over-capacity"


def an_address(number, **more):
    return {
        "ip": f"10.1.{number // 200}.{number % 200}",
        "nodeName": "n1",
        "targetRef": {"kind": "Pod", "namespace": "shop", "name": f"web-{number}", "uid": f"uid-{number}"},
    } | more


def endpoints(subsets=None, *, labels=None, annotations=None, name="web"):
    meta = {"name": name, "namespace": "shop", "uid": f"uid-ep-{name}", "resourceVersion": "7"}
    meta |= {"labels": MANAGED if labels is None else labels} | ({"annotations": annotations} if annotations else {})
    return {"metadata": meta} | ({"subsets": subsets} if subsets else {})


@pytest.fixture
def do(reconcile, make):
    """do(pods, old, service): the outcome of a reconcile of the Endpoints."""

    def run(pods, old=None, service=None, *, answers=lambda _: None):
        objects = {SERVICE: [service or make.service()], POD: pods, ENDPOINTS: [old] if old else []}
        return reconcile(SPEC, "shop/web", objects, answers)

    return run


@pytest.fixture
def subsets(do):
    """subsets(pods, service): those of new Endpoints."""
    return lambda pods, service=None: do(pods, None, service).of(Create)[0].obj["subsets"]


def test_endpoints_tell_of_the_pods_behind_a_service(do, make):
    pods = [make.pod(2), make.pod(1), make.pod(3, ready=False), make.pod(4, deleting=True), make.pod(5, labels={})]
    (made,) = do(pods, service=make.service(labels={"team": "a"})).of(Create)
    assert made.obj == {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "labels": {"team": "a"} | MANAGED,
            "annotations": {CHANGED_AT: make.time},
        },
        "subsets": [
            {
                "addresses": [an_address(1), an_address(2)],
                "notReadyAddresses": [an_address(3)],
                "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
            }
        ],
    }


def test_ports_with_the_same_pods_share_a_subset(subsets, make):
    ports = [
        {"name": "http", "port": 80, "targetPort": "web"},
        {"name": "admin", "port": 81, "targetPort": 9000, "appProtocol": "h2c"},
        {"port": 82, "targetPort": 9001},
    ]
    has_web = [{"name": "c", "ports": [{"name": "web", "containerPort": 8080}]}]
    made = subsets([make.pod(1, containers=has_web), make.pod(2)], make.service(ports=ports))
    assert made == [
        {
            "addresses": [an_address(1), an_address(2)],
            "ports": [
                {"port": 9001, "protocol": "TCP"},
                {"name": "admin", "port": 9000, "protocol": "TCP", "appProtocol": "h2c"},
            ],
        },
        {"addresses": [an_address(1)], "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}]},
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"ready": False}, {"addresses"}),
        ({"deleting": True}, {"addresses"}),
        ({"phase": "Failed"}, set()),
    ],
)
def test_all_addresses_may_be_published(subsets, make, given, expected):
    made = subsets([make.pod(1, **given)], make.service(publishNotReadyAddresses=True))
    assert {name for subset in made for name in subset} - {"ports"} == expected


def test_a_headless_service_names_its_pods_and_needs_no_ports(do, make):
    service = make.service(clusterIP="None", ports=None)
    (made,) = do([make.pod(1, hostname="one", subdomain="web")], service=service).of(Create)
    assert made.obj["subsets"] == [{"addresses": [an_address(1, hostname="one")]}]
    assert made.obj["metadata"]["labels"] == HEADLESS | MANAGED


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"ipFamilies": ["IPv6", "IPv4"]}, ["fd00::1"]),
        ({"ipFamilies": ["IPv4", "IPv6"]}, ["10.1.0.1"]),
        ({"ipFamilies": None, "clusterIP": "fd00::9"}, ["fd00::1"]),
        ({"ipFamilies": None, "clusterIP": "None"}, ["10.1.0.1"]),
    ],
)
def test_addresses_are_of_the_first_family(subsets, make, spec, expected):
    (entry,) = subsets([make.pod(1, ips=["10.1.0.1", "fd00::1"])], make.service(**spec))
    assert [address["ip"] for address in entry["addresses"]] == expected


def test_nothing_is_written_where_all_is_told(do, make):
    stored = [{"addresses": [an_address(1)], "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}]}]
    assert do([make.pod(1)], endpoints(stored)).actions == []
    assert do([make.pod(1)], endpoints(stored, labels=MANAGED | HEADLESS)).actions == []
    assert do([], endpoints()).actions == []


@pytest.mark.parametrize(
    ("labels", "of_service"), [({}, {}), (MANAGED | {"old": "x"}, {}), (MANAGED, {"new": "y"})], ids=str
)
def test_labels_follow_the_service(do, make, labels, of_service):
    (update,) = do([], endpoints(labels=labels), make.service(labels=of_service)).requests()
    assert isinstance(update, Update)
    assert update.obj["metadata"]["labels"] == MANAGED | of_service
    assert update.obj["metadata"]["resourceVersion"] == "7"


def test_an_update_keeps_annotations_and_tells_when_the_change_happened(make_world, rehearse, make):
    world = make_world(SPEC, {SERVICE: [make.service()], POD: [make.pod(1)]})
    rehearse(SPEC.reconcile(SPEC.observe(world, "shop/web"), 0.0))
    world[ENDPOINTS].put(endpoints(annotations={"mine": "yes", CHANGED_AT: make.time, OVER: "truncated"}))
    world[POD].put(make.pod(2, at="2027-01-15T07:30:00Z") | {"apiVersion": "v1", "kind": "Pod"})
    (update,) = rehearse(SPEC.reconcile(SPEC.observe(world, "shop/web"), 0.0)).requests()
    assert update.obj["metadata"]["annotations"] == {"mine": "yes", CHANGED_AT: "2027-01-15T07:30:00Z"}
    world[POD].remove(make.pod(1))
    (update,) = rehearse(SPEC.reconcile(SPEC.observe(world, "shop/web"), 0.0)).requests()
    assert update.obj["metadata"]["annotations"] == {"mine": "yes"}


def test_more_than_a_thousand_addresses_are_cut_and_marked(do, make):
    pods = [make.pod(number) for number in range(1100)]
    (made,) = do(pods).of(Create)
    (subset,) = made.obj["subsets"]
    assert len(subset["addresses"]) == 1000
    assert made.obj["metadata"]["annotations"][OVER] == "truncated"
    cut = endpoints([subset], annotations={OVER: "truncated"})
    assert do(pods, cut).actions == []
    (update,) = do(pods[:900], cut).requests()
    assert OVER not in update.obj["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([(1100, 50)], [(1000, 0)]),
        ([(900, 200)], [(900, 100)]),
        ([(600, 0), (600, 10)], [(500, 0), (500, 0)]),
        ([(401, 0), (400, 0), (400, 0)], [(334, 0), (334, 0), (332, 0)]),
        ([(500, 300), (400, 100)], [(500, 75), (400, 25)]),
    ],
)
def test_each_subset_keeps_its_share_and_ready_ones_come_first(given, expected):
    subsets = [
        {
            "addresses": [{"ip": str(number)} for number in range(ready)],
            "notReadyAddresses": [{"ip": str(number)} for number in range(unready)],
            "ports": [{"port": 1}],
        }
        for ready, unready in given
    ]
    cut = truncate(subsets)
    assert [(len(s.get("addresses", ())), len(s.get("notReadyAddresses", ()))) for s in cut] == expected
    assert all(subset["ports"] == [{"port": 1}] for subset in cut)


@pytest.mark.parametrize("spec", [{"selector": None}, {"type": "ExternalName", "externalName": "example.com"}])
def test_services_whose_endpoints_others_tell_are_left_alone(do, make, spec):
    assert do([make.pod(1)], None, make.service(**spec)).actions == []
    assert do([make.pod(1)], endpoints(), make.service(**spec)).actions == []


# -- Services that are gone --------------------------------------------------------------------------------------------


def test_endpoints_go_with_their_service(reconcile):
    (delete,) = reconcile(SPEC, "shop/web", {ENDPOINTS: [endpoints()]}).requests()
    assert (delete.key, delete.uid) == ("shop/web", "uid-ep-web")
    gone = not_found("", "endpoints", "web")
    assert reconcile(SPEC, "shop/web", {ENDPOINTS: [endpoints()]}, lambda _: gone).error is None
    busy = unavailable("busy")
    assert reconcile(SPEC, "shop/web", {ENDPOINTS: [endpoints()]}, lambda _: busy).error is busy
    assert reconcile(SPEC, "shop/web", {}).actions == []


def test_a_manager_that_starts_looks_for_what_was_left(reconcile, make):
    leads = endpoints(name="leads", annotations={"control-plane.alpha.kubernetes.io/leader": "{}"})
    objects = {SERVICE: [make.service()], ENDPOINTS: [endpoints(), endpoints(name="old"), leads]}
    assert reconcile(SPEC, "", objects).actions == [Enqueue(["shop/old"])]
    assert SPEC.periodic_keys == ("",)


def test_only_endpoints_that_go_wake_their_service():
    old = endpoints()
    assert list(endpoints_changed(NO_LISTERS, Change(old, None))) == ["shop/web"]
    assert list(endpoints_changed(NO_LISTERS, Change(None, old))) == []
    assert list(endpoints_changed(NO_LISTERS, Change(old, endpoints()))) == []


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "event"),
    [
        (None, "FailedToCreateEndpoint: Failed to create endpoint for service shop/web: busy"),
        (endpoints(), "FailedToUpdateEndpoint: Failed to update endpoint shop/web: busy"),
    ],
    ids=["create", "update"],
)
def test_a_refusal_is_told_and_tried_again(do, make, old, event):
    busy = unavailable("busy")
    done = do([make.pod(1)], old, answers=lambda _: busy)
    assert done.events == [event]
    assert done.of(RecordEvent)[0].regarding["kind"] == "Endpoints"
    assert done.error is busy


def test_in_a_namespace_that_goes_nothing_is_said(do, make):
    cause = {"reason": "NamespaceTerminating", "message": "", "field": "metadata.namespace"}
    refusal = forbidden("", "endpoints", name="web", why="terminating", causes=[cause])
    done = do([make.pod(1)], answers=lambda _: refusal)
    assert [type(action) for action in done.actions] == [Create]
    assert done.error is None


def test_deletes_are_no_business_of_a_service_that_is_there(do, make):
    assert do([make.pod(1)], endpoints()).of(Delete) == []
