"""Discovery documents, computed from a table of three rows and from a release's."""

import json
from typing import Any

import pytest

from apiserver.api.resources import Resource, ResourceTable, Subresource
from apiserver.endpoints.discovery import Discovery, version_info

STATUS = ("get", "patch", "update")


def row(group: str, version: str, kind: str, **facts) -> Resource:
    plural = kind.lower() + "s"
    usual: dict[str, Any] = {
        "group": group,
        "version": version,
        "kind": kind,
        "plural": plural,
        "singular": kind.lower(),
        "namespaced": True,
        "definition": "",
        "storage_group": group,
        "storage_version": version,
        "storage_prefix": plural,
    }
    return Resource(**usual | facts)


def part(name: str, kind: str, group: str, version: str) -> Subresource:
    return Subresource(name=name, verbs=STATUS, kind=kind, group=group, version=version)


POD = row("", "v1", "Pod", short_names=("po",), categories=("all",))
BINDING = row("", "v1", "Binding", verbs=("create",))
DEPLOYMENT = row(
    "apps",
    "v1",
    "Deployment",
    short_names=("deploy",),
    subresources={
        "scale": part("scale", "Scale", "autoscaling", "v1"),
        "status": part("status", "Deployment", "apps", "v1"),
    },
)
WIDGET = row("a.example.com", "v1", "Widget", namespaced=False)
OLD_WIDGET = row("a.example.com", "v1beta1", "Widget", namespaced=False, storage_version="v1")


@pytest.fixture
def table():
    return ResourceTable([WIDGET, OLD_WIDGET, POD, BINDING, DEPLOYMENT])


@pytest.fixture
def discovery(table):
    return Discovery(table, minor=34, address="127.0.0.1:6443", other_paths=("/healthz", "/version"))


def read(document):
    return json.loads(document.body)


def test_the_core_group_tells_its_versions_and_where_it_is(discovery):
    assert read(discovery.core()) == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}],
    }


def test_built_in_groups_come_before_custom_ones_and_without_the_core_group(discovery):
    assert [group["name"] for group in read(discovery.groups())["groups"]] == ["apps", "a.example.com"]


def test_a_group_prefers_its_most_stable_version(discovery):
    versions = [{"groupVersion": f"a.example.com/{version}", "version": version} for version in ("v1", "v1beta1")]
    assert read(discovery.group("a.example.com")) == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "a.example.com",
        "versions": versions,
        "preferredVersion": versions[0],
    }


def test_what_is_not_served_has_no_document(discovery):
    assert discovery.group("nope.example.com") is None
    assert discovery.group("") is None
    assert discovery.resources("apps", "v9") is None
    assert discovery.resources("nope.example.com", "v1") is None


def test_core_resources_are_sorted_and_carry_no_api_version(discovery):
    document = read(discovery.resources("", "v1"))
    assert list(document) == ["kind", "groupVersion", "resources"]
    assert [resource["name"] for resource in document["resources"]] == ["bindings", "pods"]


def test_only_stored_kinds_have_a_storage_version_hash(discovery):
    bindings, pods = read(discovery.resources("", "v1"))["resources"]
    assert "storageVersionHash" not in bindings
    assert pods["storageVersionHash"] == "xPOwRZ+Yhw8="  # as every real cluster has it


def test_a_subresource_of_another_group_says_so(discovery):
    _, scale, status = read(discovery.resources("apps", "v1"))["resources"]
    assert scale == {
        "name": "deployments/scale",
        "singularName": "",
        "namespaced": True,
        "group": "autoscaling",
        "version": "v1",
        "kind": "Scale",
        "verbs": list(STATUS),
    }
    assert "group" not in status


def test_aggregated_discovery_holds_the_core_group_under_api_and_the_rest_under_apis(discovery):
    core, others = (read(discovery.aggregated(root, "v2")) for root in ("api", "apis"))
    assert [item["metadata"] for item in core["items"]] == [{}]
    assert [item["metadata"] for item in others["items"]] == [{"name": "apps"}, {"name": "a.example.com"}]
    assert others["apiVersion"] == "apidiscovery.k8s.io/v2"
    (deployments,) = others["items"][0]["versions"][0]["resources"]
    assert deployments["responseKind"] == {"group": "", "version": "", "kind": "Deployment"}
    assert deployments["subresources"][0]["responseKind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert others["items"][1]["versions"][0]["resources"][0]["responseKind"] == {
        "group": "a.example.com",
        "version": "v1",
        "kind": "Widget",
    }


def test_both_versions_of_aggregated_discovery_have_one_etag(discovery):
    new, old = discovery.aggregated("apis", "v2"), discovery.aggregated("apis", "v2beta1")
    assert new.etag == old.etag
    assert new.etag != discovery.aggregated("api", "v2").etag
    assert read(old)["apiVersion"] == "apidiscovery.k8s.io/v2beta1"
    assert len(new.etag) == 130
    assert new.etag == new.etag.upper()


def test_a_row_added_shows_after_the_documents_are_invalidated(discovery, table):
    before = discovery.aggregated("apis", "v2")
    table.add(row("b.example.com", "v1", "Gadget"))
    assert discovery.aggregated("apis", "v2") is before
    discovery.invalidate()
    assert discovery.aggregated("apis", "v2").etag != before.etag
    assert discovery.group("b.example.com") is not None


def test_the_verbs_that_are_told_may_be_less_than_those_of_the_row(table):
    verbs = {"Widget": ("get", "list"), "Pod": ()}
    served = Discovery(table, minor=34, address="x", verbs=lambda row: verbs.get(row.kind, row.verbs))
    (widgets,) = read(served.resources("a.example.com", "v1"))["resources"]
    assert widgets["verbs"] == ["get", "list"]
    groups = read(served.aggregated("apis", "v2"))["items"]
    assert groups[1]["versions"][0]["resources"][0]["verbs"] == ["get", "list"]
    assert [each["name"] for each in read(served.resources("", "v1"))["resources"]] == ["bindings"]
    verbs |= {"Widget": (), "Pod": ("get",)}
    served.invalidate()
    assert [each["name"] for each in read(served.resources("", "v1"))["resources"]] == ["bindings", "pods"]
    assert served.group("a.example.com") is served.resources("a.example.com", "v1") is None
    assert "/apis/a.example.com" not in read(served.paths())["paths"]


def test_a_custom_kind_has_a_hash_only_where_its_stored_version_is_served():
    old = row("a.example.com", "v1beta1", "Widget", storage_version="v1", custom=True)
    table = ResourceTable([old])
    served = Discovery(table, minor=34, address="x")
    assert "storageVersionHash" not in read(served.resources("a.example.com", "v1beta1"))["resources"][0]
    table.add(row("a.example.com", "v1", "Widget", custom=True))
    served.invalidate()
    hashes = [
        read(served.resources("a.example.com", v))["resources"][0]["storageVersionHash"] for v in ("v1", "v1beta1")
    ]
    assert hashes[0] == hashes[1]


def test_the_root_lists_all_paths_sorted(discovery):
    assert read(discovery.paths())["paths"] == [
        "/api",
        "/api/v1",
        "/apis",
        "/apis/",
        "/apis/a.example.com",
        "/apis/a.example.com/v1",
        "/apis/a.example.com/v1beta1",
        "/apis/apps",
        "/apis/apps/v1",
        "/healthz",
        "/version",
    ]


@pytest.mark.parametrize(("minor", "emulated"), [(30, False), (32, False), (33, True), (37, True)])
def test_a_version_tells_its_emulation_since_1_33(minor, emulated):
    info = version_info(minor)
    assert info["gitVersion"] == f"v1.{minor}.0"
    assert ("emulationMinor" in info) is emulated
