"""The rows by which the kind of a definition is served."""

import copy
from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.api.resources import Subresource
from apiserver.apiextensions.crds.resources import (
    VERBS,
    WHILE_TERMINATING,
    discovery_verbs,
    is_served,
    served_resources,
)

NAMES = {
    "plural": "widgets",
    "singular": "widget",
    "shortNames": ["wd"],
    "kind": "Widget",
    "listKind": "Widgets",
    "categories": ["all"],
}
SPEC = {
    "group": "stable.example.com",
    "scope": "Namespaced",
    "names": NAMES | {"shortNames": ["wd", "refused"]},
    "versions": [
        {"name": "v1beta1", "served": True, "storage": False, "deprecated": True},
        {
            "name": "v1",
            "served": True,
            "storage": True,
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas"}},
            "selectableFields": [{"jsonPath": ".spec.colour"}],
        },
        {"name": "v2", "served": False, "storage": False},
    ],
}


def definition(**spec: Any) -> Obj:
    return {"metadata": {}, "spec": copy.deepcopy(SPEC) | spec, "status": {"acceptedNames": NAMES}}


def test_each_version_that_is_served_has_a_row():
    beta, stable = served_resources(definition())
    assert (beta.api_version, stable.api_version) == ("stable.example.com/v1beta1", "stable.example.com/v1")
    assert stable.definition == "com.example.stable.v1.Widget"
    assert stable.storage_prefix == beta.storage_prefix == "stable.example.com/widgets"
    assert (beta.storage_group, beta.storage_version) == ("stable.example.com", "v1")
    assert (stable.plural, stable.singular, stable.kind, stable.list_kind) == ("widgets", "widget", "Widget", "Widgets")
    assert stable.short_names == ("wd",)  # as accepted, whatever is asked for by now
    assert stable.categories == ("all",)
    assert stable.fields == ("spec.colour",)
    assert stable.namespaced
    assert stable.verbs == ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


def test_subresources_are_those_of_the_version():
    beta, stable = served_resources(definition())
    verbs = ("get", "patch", "update")
    assert beta.subresources == {}
    assert stable.subresources == {
        "status": Subresource("status", verbs, "Widget", "stable.example.com", "v1"),
        "scale": Subresource("scale", verbs, "Scale", "autoscaling", "v1"),
    }


def test_a_kind_of_the_cluster_is_in_no_namespace():
    assert not served_resources(definition(scope="Cluster"))[0].namespaced


def test_nothing_is_served_before_names_are_accepted():
    fresh = definition() | {"status": {"acceptedNames": {"kind": "", "plural": ""}, "conditions": None}}
    assert served_resources(fresh) == []
    assert not is_served(fresh)


@pytest.mark.parametrize(("kind", "served"), [("NamesAccepted", True), ("Established", True), ("Terminating", False)])
def test_a_kind_is_served_once_its_names_are_accepted(kind, served):
    given = definition() | {"status": {"conditions": [{"type": kind, "status": "True"}]}}
    assert is_served(given) == served


def version(name: str, *, served: bool = True, **more: Any) -> Obj:
    return {"name": name, "served": served, "storage": False} | more


@pytest.mark.parametrize(
    ("versions", "warning"),
    [
        ([version("v1")], ""),
        ([version("v1", deprecated=True)], "stable.example.com/v1 Widget is deprecated"),
        ([version("v1", deprecated=True, deprecationWarning="leave")], "leave"),
        (
            [version("v1beta1", deprecated=True), version("v1beta2"), version("v2"), version("v1")],
            "stable.example.com/v1beta1 Widget is deprecated; use stable.example.com/v2 Widget",
        ),
        (
            [version("v1", deprecated=True), version("v1beta1"), version("v2", served=False), version("foo")],
            "stable.example.com/v1 Widget is deprecated",
        ),
        (
            [version("foob", deprecated=True), version("foo"), version("fooc")],
            "stable.example.com/foob Widget is deprecated; use stable.example.com/foo Widget",
        ),
    ],
)
def test_clients_of_a_deprecated_version_are_told_where_to_go(versions, warning):
    assert served_resources(definition(versions=versions))[0].deprecation == warning


@pytest.mark.parametrize(
    ("conditions", "verbs"),
    [
        ({}, ()),
        ({"NamesAccepted": "True", "Established": "False"}, ()),
        ({"Established": "True"}, VERBS),
        ({"Established": "True", "Terminating": "True"}, WHILE_TERMINATING),
        ({"Established": "True", "Terminating": "False"}, VERBS),
    ],
)
def test_discovery_goes_by_what_conditions_say(conditions, verbs):
    given = definition()
    given["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    given["status"]["conditions"] = [{"type": kind, "status": status} for kind, status in conditions.items()]
    assert discovery_verbs(given) == verbs
