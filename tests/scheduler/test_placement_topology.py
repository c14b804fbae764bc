"""Topology spread, pod affinity and anti-affinity: the nodes that are refused, and those that are preferred."""

import pytest

from apiserver.api.selectors import label_selector_of
from controller_manager.scheduler.topology import default_selector

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
WEB = {"app": "web"}
ZONES = {"a": {"zone": "1"}, "b": {"zone": "1"}, "c": {"zone": "2"}}

SPREAD = "node(s) didn't match pod topology spread constraints"
NO_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"
NEAR = "node(s) didn't match pod affinity rules"
FAR = "node(s) didn't match pod anti-affinity rules"
UNWANTED = "node(s) didn't satisfy existing pods anti-affinity rules"


def selecting(labels):
    return {"labelSelector": {"matchLabels": labels}}


def spread(key=ZONE, skew=1, *, hard=True, labels=WEB, **more):
    action = "DoNotSchedule" if hard else "ScheduleAnyway"
    return {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": action, **selecting(labels), **more}


def term(key=ZONE, labels=WEB, **more):
    return {"topologyKey": key, **selecting(labels), **more}


def near(*terms):
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def far(*terms):
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def liked(weight, one, *, verb="podAffinity"):
    return {verb: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "podAffinityTerm": one}]}}


@pytest.fixture
def reasons(make_cluster, board_of, make_pod):
    """reasons(nodes, {"a": 2, …}, pod): why each node is refused, where so many web pods are on nodes."""

    def find(nodes, there, pod, others=()):
        pods = [make_pod(f"{n}-{i}", node=n, labels=WEB) for n, count in there.items() for i in range(count)]
        cluster = make_cluster(nodes, [*pods, *others])
        feasible_nodes = board_of(cluster, pod)
        statuses = {name: feasible_nodes.status(node) for name, node in cluster.nodes.items()}
        assert (feasible_nodes.best_node() is None) == all(statuses.values())
        return {name: status.reasons[0] for name, status in statuses.items() if status is not None}

    return find


# -- spreading ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "constraints", "refused"),
    [
        ({}, [spread()], {}),
        ({"a": 1}, [spread()], {"a": SPREAD, "b": SPREAD}),
        ({"a": 1}, [spread(skew=2)], {}),
        ({"a": 1, "c": 1}, [spread()], {}),
        ({"a": 1}, [spread(HOST)], {"a": SPREAD}),
        ({"a": 1, "c": 1}, [spread(), spread(HOST)], {"a": SPREAD, "c": SPREAD}),
        ({"a": 1}, [spread(hard=False)], {}),
        ({"a": 1}, [spread(labels={"app": "other"})], {}),
        ({"a": 2, "c": 1}, [spread(labels={})], {"a": SPREAD, "b": SPREAD}),
        ({}, [spread(minDomains=3)], {}),
        ({"a": 1, "c": 1}, [spread(minDomains=3)], {"a": SPREAD, "b": SPREAD, "c": SPREAD}),
        ({}, [spread("rack")], {"a": NO_LABEL, "b": NO_LABEL, "c": NO_LABEL}),
        ({"a": 1}, [spread(matchLabelKeys=["version"])], {"a": SPREAD, "b": SPREAD}),
        ({"a": 1}, [spread(labels=WEB, matchLabelKeys=["app"])], {"a": SPREAD, "b": SPREAD}),
    ],
)
def test_hard_constraints_refuse_nodes_whose_domain_has_too_many(reasons, make_pod, there, constraints, refused):
    assert reasons(ZONES, there, make_pod(labels=WEB, topologySpreadConstraints=constraints)) == refused


def test_a_pod_that_its_own_selector_does_not_mean_adds_nothing(reasons, make_pod):
    pod = make_pod(labels={"app": "other"}, topologySpreadConstraints=[spread()])
    assert reasons(ZONES, {"a": 1}, pod) == {}
    assert reasons(ZONES, {"a": 2}, pod) == {"a": SPREAD, "b": SPREAD}


def test_only_pods_of_the_namespace_count_and_those_that_are_not_being_deleted(
    reasons, make_pod, make_cluster, board_of
):
    leaving = make_pod("leaving", node="a", labels=WEB)
    leaving["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    elsewhere = make_pod("elsewhere", node="a", labels=WEB, namespace="other")
    pod = make_pod(labels=WEB, topologySpreadConstraints=[spread()])
    assert reasons(ZONES, {}, pod, [leaving, elsewhere]) == {}


def test_a_pod_that_begins_to_be_deleted_counts_no_more(make_cluster, board_of, make_pod):
    there = make_pod("there", node="a", labels=WEB)
    cluster = make_cluster(ZONES, [there])
    pod = make_pod(labels=WEB, topologySpreadConstraints=[spread(HOST)])
    assert board_of(cluster, pod).status(cluster.nodes["a"]) is not None
    leaving = there | {"metadata": there["metadata"] | {"deletionTimestamp": "2027-01-15T08:00:00Z"}}
    cluster.pod_changed(there, leaving)
    assert board_of(cluster, pod).status(cluster.nodes["a"]) is None
    cluster.pod_changed(leaving, None)
    assert board_of(cluster, pod).status(cluster.nodes["a"]) is None
    assert not cluster.nodes["a"].terminating


@pytest.mark.parametrize(
    ("policy", "refused"),
    [({}, {"a": SPREAD, "b": SPREAD}), ({"nodeTaintsPolicy": "Honor"}, {})],
)
def test_whether_tainted_nodes_make_domains_is_the_constraints_choice(reasons, make_pod, policy, refused):
    nodes = ZONES | {"c": {"zone": "2", "taints": [{"key": "k", "effect": "NoSchedule"}]}}
    pod = make_pod(labels=WEB, topologySpreadConstraints=[spread(**policy)])
    by_node = reasons(nodes, {"a": 1}, pod)
    assert by_node.pop("c") == "node(s) had untolerated taint(s)"
    assert by_node == refused


@pytest.mark.parametrize(
    ("policy", "refused"),
    [({}, {}), ({"nodeAffinityPolicy": "Ignore"}, {"a": SPREAD, "b": SPREAD})],
)
def test_whether_nodes_that_the_pod_does_not_want_make_domains_too(reasons, make_pod, policy, refused):
    pod = make_pod(labels=WEB, nodeSelector={ZONE: "1"}, topologySpreadConstraints=[spread(**policy)])
    by_node = reasons(ZONES, {"a": 1}, pod)
    assert by_node.pop("c") == "node(s) didn't match Pod's node affinity/selector"
    assert by_node == refused


def test_nodes_without_one_of_the_labels_count_for_none_of_the_constraints(reasons, make_pod):
    nodes = ZONES | {"d": {}}
    pod = make_pod(labels=WEB, topologySpreadConstraints=[spread(HOST), spread()])
    assert reasons(nodes, {"a": 1, "b": 1, "c": 1}, pod) == {"d": NO_LABEL, "a": SPREAD, "b": SPREAD} | {
        "a": SPREAD,
        "b": SPREAD,
    }


# -- affinity ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "affinity", "refused"),
    [
        ({"a": 1}, near(term()), {"c": NEAR}),
        ({"a": 1}, near(term(HOST)), {"b": NEAR, "c": NEAR}),
        ({"a": 1, "c": 1}, near(term(), term(HOST)), {"b": NEAR}),
        ({}, near(term()), {}),
        ({}, near(term(labels={"app": "db"})), {"a": NEAR, "b": NEAR, "c": NEAR}),
        ({}, near(term("rack")), {"a": NEAR, "b": NEAR, "c": NEAR}),
        ({"a": 1}, near(term(namespaces=["other"])), {"a": NEAR, "b": NEAR, "c": NEAR}),
        ({"a": 1}, near(term(namespaceSelector={})), {"c": NEAR}),
        ({"a": 1}, far(term()), {"a": FAR, "b": FAR}),
        ({"a": 1}, far(term(HOST)), {"a": FAR}),
        ({"a": 1}, far(term("rack")), {}),
        ({"a": 1}, far(term(labels={"app": "db"})), {}),
        ({"a": 1}, near(term()) | far(term(HOST)), {"a": FAR, "c": NEAR}),
        ({"a": 1}, far(term(matchLabelKeys=["app"], labels={})), {"a": FAR, "b": FAR}),
        ({"a": 1}, far(term(mismatchLabelKeys=["app"], labels={})), {}),
    ],
)
def test_required_company_refuses_nodes(reasons, make_pod, there, affinity, refused):
    assert reasons(ZONES, there, make_pod(labels=WEB, affinity=affinity)) == refused


def test_pods_that_are_there_may_not_want_the_new_one_near(reasons, make_pod):
    hermit = make_pod("hermit", node="a", labels={"app": "db"}, affinity=far(term()))
    assert reasons(ZONES, {}, make_pod(labels=WEB), [hermit]) == {"a": UNWANTED, "b": UNWANTED}
    assert reasons(ZONES, {}, make_pod(labels={"app": "x"}), [hermit]) == {}


def test_the_last_pod_that_wants_nobody_near_frees_the_nodes_when_it_goes(make_cluster, board_of, make_pod):
    hermit = make_pod("hermit", node="a", affinity=far(term()))
    cluster = make_cluster({"a": {"zone": "1"}}, [hermit])
    pod = make_pod(labels=WEB)
    assert board_of(cluster, pod).best_node() is None
    cluster.pod_changed(hermit, None)
    assert board_of(cluster, pod).best_node() is not None
    cluster.pod_changed(None, hermit)
    assert board_of(cluster, pod).best_node() is None


def test_namespaces_are_chosen_by_their_labels_which_may_change(make_cluster, board_of, make_pod):
    chosen = far(term(namespaceSelector={"matchLabels": {"team": "a"}}))
    cluster = make_cluster(ZONES, [make_pod("there", node="a", labels=WEB, namespace="other")])
    cluster.namespace_changed("other", {"team": "a"})
    pod = make_pod(affinity=chosen)
    assert board_of(cluster, pod).status(cluster.nodes["a"]) is not None
    cluster.namespace_changed("other", {"team": "b"})
    assert board_of(cluster, pod).status(cluster.nodes["a"]) is None


# -- liking ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def chosen(make_cluster, board_of, make_pod):
    """chosen(nodes, {"a": 2, …}, pod): the node that is liked best, where so many web pods are on nodes."""

    def find(nodes, there, pod, *, selector=None, others=()):
        pods = [make_pod(f"{n}-{i}", node=n, labels=WEB) for n, count in there.items() for i in range(count)]
        node = board_of(make_cluster(nodes, [*pods, *others]), pod, selector).best_node()
        return None if node is None else node.name

    return find


BY_APP = label_selector_of({"matchLabels": WEB})


@pytest.mark.parametrize(
    ("nodes", "there", "pod", "best"),
    [
        (ZONES, {"a": 1}, {"affinity": liked(100, term())}, "b"),
        (ZONES, {"a": 3}, {"affinity": liked(100, term(HOST))}, "a"),
        (ZONES, {"a": 1, "c": 1}, {"affinity": liked(1, term(), verb="podAntiAffinity")}, "b"),
        (ZONES, {"a": 2, "b": 2}, {"topologySpreadConstraints": [spread(hard=False)]}, "c"),
        (ZONES, {"b": 1, "c": 2}, {"topologySpreadConstraints": [spread(HOST, hard=False)]}, "a"),
        ({"a": {}, "b": {"taints": [{"key": "k", "effect": "PreferNoSchedule"}]}}, {"a": 3}, {}, "a"),
        ({"a": {}, "b": {"labels": {"disk": "ssd"}}}, {"b": 3}, {"disk": "ssd"}, "b"),
        ({"a": {"cpu": "2"}, "b": {"cpu": "8"}}, {}, {"cpu": "1"}, "b"),
    ],
)
def test_the_best_node_is_the_one_that_is_liked_most(chosen, make_pod, nodes, there, pod, best):
    if disk := (pod := dict(pod)).pop("disk", ""):
        preference = {"matchExpressions": [{"key": "disk", "operator": "In", "values": [disk]}]}
        preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 50, "preference": preference}]}
        pod |= {"affinity": {"nodeAffinity": preferred}}
    assert chosen(nodes, there, make_pod(labels=WEB, **pod)) == best


@pytest.mark.parametrize(
    ("node", "there", "pod", "score"),
    [
        ({"cpu": "4", "memory": "8Gi"}, {}, {"cpu": "2", "memory": "4Gi"}, 50 + 100),
        ({"cpu": "4", "memory": "8Gi"}, {"cpu": "1", "memory": "2Gi"}, {"cpu": "1", "memory": "2Gi"}, 50 + 100),
        ({"cpu": "4", "memory": "8Gi"}, {}, {"cpu": "2", "memory": "2Gi"}, (50 + 75) // 2 + 87),
        ({"cpu": "4", "memory": "8Gi"}, {"cpu": "4"}, {"cpu": "1", "memory": "4Gi"}, (0 + 47) // 2 + 75),
        ({"cpu": "1", "memory": "1000Mi"}, {}, {}, (90 + 80) // 2),
        ({"cpu": "1", "memory": "0"}, {}, {"cpu": "500m"}, 50 + 100),
        ({"cpu": "0", "memory": "0"}, {}, {}, 0),
    ],
)
def test_what_is_left_and_how_evenly_makes_the_score(make_cluster, make_pod, node, there, pod, score):
    cluster = make_cluster({"a": node}, [make_pod("there", node="a", **there)] if there else ())
    assert cluster.nodes["a"].score(cluster.info_of(make_pod(**pod)).requirements) == score


def test_of_equal_nodes_the_one_with_fewer_pods_is_chosen_then_the_first(chosen, make_pod):
    nodes = {"a": {"cpu": "1000"}, "b": {"cpu": "1000"}, "c": {"cpu": "1000"}}
    assert chosen(nodes, {}, make_pod()) == "a"
    assert chosen(nodes, {"a": 1}, make_pod()) == "b"


def test_pods_of_one_owner_are_spread_over_nodes_and_zones_though_they_do_not_say_so(chosen, make_pod):
    assert chosen(ZONES, {"a": 1, "b": 1}, make_pod(labels=WEB), selector=BY_APP) == "c"
    assert chosen(ZONES, {"a": 1, "c": 1}, make_pod(labels=WEB), selector=BY_APP) == "b"
    assert chosen(ZONES, {"a": 1}, make_pod(labels=WEB), selector=BY_APP) == "c"  # b is as empty, in a fuller zone


def test_default_spreading_takes_nodes_that_have_no_zone(chosen, make_pod):
    assert chosen({"a": {}, "b": {}}, {"a": 1}, make_pod(labels=WEB), selector=BY_APP) == "b"


def test_nodes_that_miss_a_label_of_a_soft_constraint_come_last(chosen, make_pod):
    nodes = {"a": {"cpu": "64"}, "b": {"zone": "1"}}
    pod = make_pod(labels=WEB, topologySpreadConstraints=[spread(hard=False)])
    assert chosen(nodes, {"b": 3}, pod) == "b"


def test_pods_that_are_there_may_like_the_new_one_near_or_far(chosen, make_pod):
    fan = make_pod("fan", node="c", affinity=liked(100, term()))
    assert chosen(ZONES, {}, make_pod(labels=WEB), others=[fan]) == "c"
    foe = make_pod("foe", node="a", affinity=liked(100, term(), verb="podAntiAffinity"))
    assert chosen({"a": {"zone": "1"}, "c": {"zone": "2", "cpu": "3"}}, {}, make_pod(labels=WEB), others=[foe]) == "c"
    friend = make_pod("friend", node="c", labels=WEB, affinity=near(term()))
    assert chosen(ZONES, {}, make_pod(labels=WEB), others=[friend]) == "c"


def test_preferences_count_among_the_nodes_that_suit_alone(chosen, make_pod):
    """b is liked twice as much as c; but a, liked most, is full: then b counts in full."""
    weights = [("1", 100), ("2", 10), ("3", 5)]
    preferred = [
        {"weight": weight, "preference": {"matchExpressions": [{"key": "rank", "operator": "In", "values": [rank]}]}}
        for rank, weight in weights
    ]
    pod = make_pod(
        labels=WEB,
        cpu="1",
        affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
    )
    nodes = {
        "a": {"labels": {"rank": "1"}, "cpu": "500m"},
        "b": {"labels": {"rank": "2"}, "cpu": "4"},
        "c": {"labels": {"rank": "3"}, "cpu": "16"},
    }
    assert chosen(nodes, {}, pod) == "b"


@pytest.mark.parametrize(
    ("services", "owner", "selector"),
    [
        ([], None, ""),
        ([{"app": "web"}], None, "app=web"),
        ([{"app": "db"}], None, ""),
        ([{}], None, ""),
        ([{"app": "web"}, {"tier": "front"}], None, "app=web,tier=front"),
        ([{"app": "web"}], {"kind": "ReplicaSet", "spec": {"selector": {"matchLabels": {"app": "web"}}}}, "app=web"),
        (
            [],
            {"kind": "StatefulSet", "spec": {"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}},
            "app",
        ),
        ([], {"kind": "ReplicationController", "spec": {"selector": {"app": "web"}}}, "app=web"),
    ],
)
def test_the_default_selector_is_made_of_services_and_the_owner(make_pod, services, owner, selector):
    pod = make_pod(labels={"app": "web", "tier": "front"})
    made = default_selector(pod, services=[{"spec": {"selector": s}} for s in services], owner=owner)
    assert str(made) == selector
