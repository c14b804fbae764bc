"""Subsets come, go and get other kinds of workload; changes to workloads by hand are corrected."""

import json
from collections.abc import Callable
from typing import Any

import pytest

Kind = Any
Kubectl = Any
Web = Any
Write = Callable[..., str]

SUBSET = "apps.kruise.io/subset-name"
ONE = pytest.mark.parametrize("kind", ["CloneSet"], indirect=True)
"""Where the kind does not matter: CloneSets, whose controller is no part of Kubernetes."""
DELETED = 'uniteddeployment.apps.kruise.io "web" deleted.*'


@pytest.fixture
def six(web: Web, kind: Kind, united: Write) -> Web:
    """Six pods over three zones."""
    web.apply(united(kind))
    web.done(6)
    return web


def uids(workloads: dict[str, Any]) -> dict[str, str]:
    return {name: each["metadata"]["uid"] for name, each in workloads.items()}


# -- subsets


def test_a_subset_that_is_dropped_goes_with_its_pods_and_one_that_comes_gets_its_share(
    six: Web, kind: Kind, united: Write
) -> None:
    """Rows U13 and U14."""
    dropped = six.workloads(kind)["zone-c"]["metadata"]["name"]
    six.apply(united(kind, zones="ab"))
    six.done(6)
    six.gone(f"{kind.resource}/{dropped}")
    six.gone(f"pods -l {SUBSET}=zone-c")
    assert six.spread == {"zone-a": ["node-1"] * 3, "zone-b": ["node-2"] * 3}
    assert [entry["name"] for entry in six.status["subsetStatuses"]] == ["zone-a", "zone-b"]
    six.settles(lambda: f"SuccessfulUpdateSubset: Delete 1 Subset ({kind.name})" in six.events)
    six.apply(united(kind, "nginx:2"))
    six.done(6)
    assert six.images == {name: ["nginx:2"] * 2 for name in ("zone-a", "zone-b", "zone-c")}


@ONE
def test_a_subset_of_another_name_is_another(six: Web, kind: Kind, united: Write) -> None:
    before = uids(six.workloads(kind))
    six.apply(united(kind, subsets={"a": {"name": "first"}}))
    six.done(6)
    six.settles(lambda: "zone-a" not in six.workloads(kind))
    after = uids(six.workloads(kind))
    assert sorted(after) == ["first", "zone-b", "zone-c"]
    assert {name: after[name] for name in ("zone-b", "zone-c")} == {name: before[name] for name in ("zone-b", "zone-c")}
    six.settles(lambda: six.spread == {"first": ["node-1"] * 2, "zone-b": ["node-2"] * 2, "zone-c": ["node-3"] * 2})


@ONE
def test_where_a_subset_is_stays(six: Web, kind: Kind, united: Write) -> None:
    there = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["local-c"]}
    six.kubectl.refuses(
        "apply -f -",
        r'The UnitedDeployment "web" is invalid: spec\.topology\.subsets\[0\]\.nodeSelectorTerm: Forbidden: '
        r"may not be changed in an update",
        united(kind, subsets={"a": {"nodeSelectorTerm": {"matchExpressions": [there]}}}),
    )


# -- another kind


def test_another_kind_of_template_takes_over(six: Web, kind: Kind, kinds: dict[str, Kind], united: Write) -> None:
    """Row U16."""
    names = list(kinds)
    other = kinds[names[(names.index(kind.name) + 1) % len(names)]]
    six.apply(united(other))
    six.done(6)
    six.gone(f"{kind.resource} --all")
    assert six.sizes(other) == {"zone-a": 2, "zone-b": 2, "zone-c": 2}
    six.settles(lambda: six.spread == {"zone-a": ["node-1"] * 2, "zone-b": ["node-2"] * 2, "zone-c": ["node-3"] * 2})
    assert sorted(six.revisions.values()) == [1, 2]


# -- by hand


@ONE
def test_sizes_that_somebody_changes_are_put_back(six: Web, kind: Kind) -> None:
    """Row U24."""
    six.kubectl.output(f"scale {kind.resource} -l {SUBSET}=zone-a --replicas=5")
    six.settles(lambda: six.sizes(kind) == {"zone-a": 2, "zone-b": 2, "zone-c": 2})
    six.done(6)


@ONE
def test_a_workload_that_somebody_deletes_is_made_again(six: Web, kind: Kind) -> None:
    """Row U25."""
    before = uids(six.workloads(kind))
    six.kubectl.output(f"delete {kind.resource} -l {SUBSET}=zone-b")
    six.settles(lambda: "zone-b" in six.workloads(kind))
    six.done(6)
    after = uids(six.workloads(kind))
    assert {name for name in before if before[name] != after[name]} == {"zone-b"}


@ONE
def test_a_workload_that_does_not_tell_its_subset_stops_everything(six: Web, kind: Kind) -> None:
    """Row U21."""
    name = six.workloads(kind)["zone-c"]["metadata"]["name"]
    six.kubectl.output(f"label {kind.resource}/{name} {SUBSET}-")
    why = f"fail to get subSet name from label of subset {six.kubectl.namespace}/{name}: no label {SUBSET} found"
    six.settles(lambda: f"FailedFindSubsets: {why}" in six.events)
    six.kubectl.output("scale ud web --replicas=9")
    six.kubectl.output(f"label {kind.resource}/{name} {SUBSET}=zone-c")
    six.done(9)
    assert six.sizes(kind) == {"zone-a": 3, "zone-b": 3, "zone-c": 3}


@ONE
def test_a_workload_of_another_label_is_let_go_and_replaced(six: Web, kind: Kind) -> None:
    name = six.workloads(kind)["zone-a"]["metadata"]["name"]
    six.kubectl.output(f"label {kind.resource}/{name} app=other --overwrite")
    six.kubectl.output(f"wait {kind.resource}/{name} --for=jsonpath={{.metadata.labels.app}}=other")
    owners = f"get {kind.resource}/{name} -o jsonpath={{.metadata.ownerReferences}}"
    six.settles(lambda: not six.kubectl.output(owners))
    six.settles(lambda: len(six.kubectl.output(f"get {kind.resource} -l app=web,{SUBSET}=zone-a -o name").split()) == 1)
    six.kubectl.output(f"delete {kind.resource}/{name}")
    six.done(6)


# -- its end


@ONE
def test_in_the_background_its_workloads_go_after_it(six: Web, kind: Kind) -> None:
    six.kubectl.says("delete ud web", DELETED)
    six.gone(f"{kind.resource},pods,controllerrevisions -l app=web")


def test_workloads_that_are_orphaned_are_taken_up_again_and_go_at_last(six: Web, kind: Kind, united: Write) -> None:
    """Row U26."""
    before, pods = uids(six.workloads(kind)), {pod["metadata"]["uid"] for pod in six.pods}
    six.kubectl.says("delete ud web --cascade=orphan", DELETED)
    owners = f"get {kind.resource} -o jsonpath={{.items[*].metadata.ownerReferences}}"
    six.settles(lambda: not six.kubectl.output(owners))
    six.apply(united(kind))
    six.done(6)
    assert uids(six.workloads(kind)) == before
    assert {pod["metadata"]["uid"] for pod in six.pods} == pods
    assert list(six.revisions.values()) == [1]
    six.kubectl.says("delete ud web --cascade=foreground", DELETED)
    for what in (f"{kind.resource},pods", "controllerrevisions"):
        six.kubectl.says(f"get {what} -l app=web", r"No resources found in test-\d+ namespace\.")


# -- two for one


@ONE
def test_of_two_workloads_of_one_subset_the_younger_goes(six: Web, kind: Kind) -> None:
    """Row U15."""
    before = uids(six.workloads(kind))
    double = six.workloads(kind)["zone-a"]
    labels, spec = double["metadata"]["labels"], double["spec"] | {"replicas": 0}
    meta = {"name": "zz-double", "labels": labels}
    six.kubectl.output("create -f -", json.dumps(double | {"metadata": meta, "spec": spec}))
    six.kubectl.output("scale ud web --replicas=7")
    six.done(7)
    six.gone(f"{kind.resource}/zz-double")
    assert uids(six.workloads(kind)) == before
