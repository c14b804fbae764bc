"""Custom objects and controllers: what owns and is owned goes as it should, and namespaces are emptied of them."""

import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

Kubectl = Any
Wait = Callable[[Callable[[], Any]], Any]
numbers = count(1)
HOLD = """--type=merge -p '{"metadata": {"finalizers": ["example.com/held"]}}'"""
LET_GO = """--type=merge -p '{"metadata": {"finalizers": null}}'"""


def definition(group: str, plural: str, scope: str) -> str:
    """Return a CustomResourceDefinition whose spec has no schema."""
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    spec = {
        "group": group,
        "scope": scope,
        "names": {"plural": plural, "kind": plural.capitalize()},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
    }
    kinds = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return json.dumps(kinds | {"metadata": {"name": f"{plural}.{group}"}, "spec": spec})


class CustomKinds:
    """A kubectl, and two kinds of a group of their own: places of the cluster, and things in namespaces."""

    def __init__(self, kubectl: Kubectl) -> None:
        self.kubectl = kubectl
        self.group = f"g{next(numbers)}.example.com"
        for plural, scope in (("places", "Cluster"), ("things", "Namespaced")):
            kubectl.output("create -f -", definition(self.group, plural, scope))
            kubectl.output(f"wait crd/{plural}.{self.group} --for=condition=Established --timeout=300s")

    def make(self, kind: str, name: str, *owners: Any, **more: Any) -> str:
        """Create an object with the given owners, each a (kind, name), and return its name for kubectl."""
        resource = f"{kind.lower()}.{self.group}" if kind in ("Things", "Places") else kind.lower()
        meta = {"name": name, "ownerReferences": [self._reference(*owner) for owner in owners]}
        version = f"{self.group}/v1" if "." in resource else "v1"
        self.kubectl.output("create -f -", json.dumps({"apiVersion": version, "kind": kind, "metadata": meta} | more))
        return f"{resource}/{name}"

    def _reference(self, kind: str, name: str) -> Any:
        resource = f"{kind.lower()}.{self.group}" if kind in ("Things", "Places") else kind.lower()
        uid = self.kubectl.output(f"get {resource} {name} -o jsonpath={{.metadata.uid}}")
        version = f"{self.group}/v1" if "." in resource else "v1"
        return {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "blockOwnerDeletion": True}

    def names(self, kind: str) -> list[str]:
        """Return the names of the objects of a kind in the namespace."""
        names = self.kubectl.output(f"get {kind} -o name --ignore-not-found").split()
        return [name.partition("/")[2] for name in names]

    def gone(self, *names: str) -> None:
        """Wait until all of them are gone."""
        for name in names:
            self.kubectl.output(f"wait {name} --for=delete --timeout=300s")

    def there(self, name: str) -> Any:
        """The object, which is there."""
        return json.loads(self.kubectl.output(f"get {name} -o json"))


@pytest.fixture
def things(kubectl: Kubectl) -> Any:
    things = CustomKinds(kubectl)
    yield things
    kubectl.output(f"delete crd places.{things.group} things.{things.group} --wait=false --ignore-not-found")


def test_what_a_custom_object_owns_goes_with_it(things: CustomKinds) -> None:
    owner = things.make("Things", "owner")
    built_in, custom = (
        things.make("ConfigMap", "a", ("Things", "owner")),
        things.make("Things", "b", ("Things", "owner")),
    )
    below = things.make("ConfigMap", "c", ("Things", "b"))
    free = things.make("ConfigMap", "free")
    things.kubectl.says(f"delete {owner}", '.*"owner" deleted.*')
    things.gone(built_in, custom, below)
    assert things.there(free)


def test_a_custom_object_goes_with_its_built_in_owner(things: CustomKinds) -> None:
    owner = things.make("ConfigMap", "owner")
    custom = things.make("Things", "a", ("ConfigMap", "owner"))
    things.kubectl.output(f"delete {owner}")
    things.gone(custom)


def test_an_owner_of_the_cluster_has_dependents_in_namespaces(things: CustomKinds) -> None:
    owner = things.make("Places", "owner")
    owned = [things.make(kind, "a", ("Places", "owner")) for kind in ("Things", "ConfigMap", "Places")]
    things.kubectl.output(f"delete {owner}")
    things.gone(*owned)


def test_one_of_two_owners_is_enough(things: CustomKinds, wait_for: Wait) -> None:
    first, second = things.make("Things", "first"), things.make("Places", "second")
    owned = things.make("Things", "a", ("Things", "first"), ("Places", "second"))
    things.kubectl.output(f"delete {first}")
    wait_for(lambda: len(things.there(owned)["metadata"]["ownerReferences"]) == 1)
    things.kubectl.output(f"delete {second}")
    things.gone(owned)


def test_in_the_foreground_dependents_go_first(things: CustomKinds, wait_for: Wait) -> None:
    owner = things.make("Places", "owner")
    owned = things.make("Things", "a", ("Places", "owner"))
    things.kubectl.output(f"patch {owned} {HOLD}")
    things.kubectl.output(f"delete {owner} --cascade=foreground --wait=false")
    wait_for(lambda: "deletionTimestamp" in things.there(owned)["metadata"])
    assert things.there(owner)["metadata"]["finalizers"] == ["foregroundDeletion"]
    things.kubectl.output(f"patch {owned} {LET_GO}")
    things.gone(owned, owner)


def test_orphans_stay(things: CustomKinds) -> None:
    owner = things.make("Things", "owner")
    owned = [things.make(kind, "a", ("Things", "owner")) for kind in ("Things", "ConfigMap")]
    things.kubectl.output(f"delete {owner} --cascade=orphan")
    things.gone(owner)
    assert all("ownerReferences" not in things.there(name)["metadata"] for name in owned)


def test_an_owner_that_is_not_there_takes_its_dependent_with_it(things: CustomKinds) -> None:
    things.make("Things", "owner")
    reference = things._reference("Things", "owner")
    things.kubectl.output(f"delete things.{things.group} owner")
    meta = {"name": "late", "ownerReferences": [reference]}
    body = {"apiVersion": f"{things.group}/v1", "kind": "Things", "metadata": meta}
    things.kubectl.output("create -f -", json.dumps(body))
    things.gone(f"things.{things.group}/late")


def test_the_end_of_a_kind_takes_what_its_objects_own(things: CustomKinds) -> None:
    things.make("Places", "owner")
    owned = [things.make(kind, "a", ("Places", "owner")) for kind in ("Things", "ConfigMap")]
    things.kubectl.output(f"delete crd places.{things.group}")
    things.gone(*owned)


def test_a_namespace_goes_with_its_custom_objects_and_tells_what_holds_it(things: CustomKinds, wait_for: Wait) -> None:
    name = f"{things.kubectl.namespace}-more"
    things.kubectl.output(f"create namespace {name}")
    for letter in "ab":
        body = {"apiVersion": f"{things.group}/v1", "kind": "Things", "metadata": {"name": letter}}
        things.kubectl.output(f"create -n {name} -f -", json.dumps(body))
    things.kubectl.output(f"patch things.{things.group} b -n {name} {HOLD}")
    things.kubectl.output(f"delete namespace {name} --wait=false")

    def conditions() -> dict[str, str]:
        conditions = (
            json.loads(things.kubectl.output(f"get namespace {name} -o json"))["status"].get("conditions") or ()
        )
        return {each["type"]: each["message"] for each in conditions if each["status"] == "True"}

    wait_for(lambda: "NamespaceFinalizersRemaining" in conditions())
    assert conditions()["NamespaceContentRemaining"] == (
        f"Some resources are remaining: things.{things.group} has 1 resource instances"
    )
    assert conditions()["NamespaceFinalizersRemaining"] == (
        "Some content in the namespace has finalizers remaining: example.com/held in 1 resource instances"
    )
    things.kubectl.output(f"patch things.{things.group} b -n {name} {LET_GO}")
    things.gone(f"namespace/{name}")


def test_a_kind_that_comes_and_goes_again_and_again_is_followed(things: CustomKinds) -> None:
    for number in range(3):
        owner = things.make("ConfigMap", f"owner{number}")
        owned = things.make("Things", f"a{number}", ("ConfigMap", f"owner{number}"))
        things.kubectl.output(f"delete {owner}")
        things.gone(owned)
        things.kubectl.output(f"delete crd things.{things.group}")
        things.kubectl.output("create -f -", definition(things.group, "things", "Namespaced"))
        things.kubectl.output(f"wait crd/things.{things.group} --for=condition=Established --timeout=300s")


def test_a_kind_whose_scope_changes_by_a_new_definition_is_followed(things: CustomKinds) -> None:
    things.kubectl.output(f"delete crd things.{things.group}")
    things.kubectl.output("create -f -", definition(things.group, "things", "Cluster"))
    things.kubectl.output(f"wait crd/things.{things.group} --for=condition=Established --timeout=300s")
    owner = things.make("Places", "owner")
    owned = things.make("Things", "a", ("Places", "owner"))
    things.kubectl.output(f"delete {owner}")
    things.gone(owned)
