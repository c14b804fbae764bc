"""The rows of built-in resources against the definitions of every release that is carried."""

import functools
import importlib.util
import json
from pathlib import Path

import pytest

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource, ResourceTable, version_rank
from apiserver.groups.kinds import ALL_KINDS, KINDS
from apiserver.groups.rows import builtin_rows, plural_of

RELEASES = range(25, 38)


@functools.cache
def definitions_of(minor: int) -> dict[str, Obj]:
    package = importlib.util.find_spec("kubernetes_validate")
    assert package is not None
    assert package.origin is not None
    folder = Path(package.origin).parent / "kubernetes-json-schema" / f"v1.{minor}.0-local"
    definitions: dict[str, Obj] = json.loads((folder / "_definitions.json").read_bytes())["$defs"]
    return definitions


@functools.cache
def rows_of(minor: int) -> dict[tuple[str, str, str], Resource]:
    return {(row.group, row.version, row.plural): row for row in builtin_rows(definitions_of(minor))}


BODIES = {("authentication.k8s.io", "TokenRequest"), ("autoscaling", "Scale"), ("policy", "Eviction")}
"""Kinds that have no collection: they are bodies of subresources."""


@pytest.mark.parametrize("minor", RELEASES)
def test_every_kind_of_a_release_is_served_in_all_its_versions(minor):
    defined = {
        (gvk["group"], gvk["version"], gvk["kind"])
        for schema in definitions_of(minor).values()
        for gvk in schema.get("x-kubernetes-group-version-kind", ())
        if schema.get("properties", {}).get("metadata", {}).get("$ref", "").endswith(".ObjectMeta")
    }
    served = {(row.group, row.version, row.kind) for row in rows_of(minor).values()}
    assert len(defined) > 60
    assert sorted(gvk for gvk in defined - served if gvk[::2] not in BODIES) == []


@pytest.mark.parametrize("minor", RELEASES)
def test_every_release_serves_the_kinds_that_people_use(minor):
    served = rows_of(minor)
    for path in (
        ("", "v1", "pods"),
        ("apps", "v1", "deployments"),
        ("batch", "v1", "cronjobs"),
        ("autoscaling", "v2", "horizontalpodautoscalers"),
        ("networking.k8s.io", "v1", "ingresses"),
        ("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    ):
        assert path in served


@pytest.mark.parametrize("minor", RELEASES)
def test_all_versions_of_a_kind_share_one_place_and_one_stored_version(minor):
    places: dict[tuple[str, str], set[tuple[str, str, str]]] = {}
    for row in rows_of(minor).values():
        stored = (row.storage_prefix, row.storage_group, row.storage_version)
        places.setdefault((row.group, row.plural), set()).add(stored)
    assert all(len(stored) == 1 for stored in places.values())


@pytest.mark.parametrize("minor", RELEASES)
def test_no_two_kinds_share_a_place_but_the_two_events(minor):
    owners: dict[str, set[tuple[str, str]]] = {}
    for row in rows_of(minor).values():
        owners.setdefault(row.storage_prefix, set()).add((row.group, row.kind))
    shared = {prefix: kinds for prefix, kinds in owners.items() if len(kinds) > 1}
    assert shared == {"events": {("", "Event"), ("events.k8s.io", "Event")}}


@pytest.mark.parametrize(
    ("group", "kind", "plural"),
    [
        ("", "Pod", "pods"),
        ("", "Endpoints", "endpoints"),
        ("networking.k8s.io", "Ingress", "ingresses"),
        ("networking.k8s.io", "NetworkPolicy", "networkpolicies"),
        ("storage.k8s.io", "CSIStorageCapacity", "csistoragecapacities"),
        ("networking.k8s.io", "IPAddress", "ipaddresses"),
        ("", "ComponentStatus", "componentstatuses"),
        ("resource.k8s.io", "ResourceClaimParameters", "resourceclaimparameters"),
        ("resource.k8s.io", "ResourceClassParameters", "resourceclassparameters"),
    ],
)
def test_a_plural_follows_from_its_kind_or_is_named_there(group, kind, plural):
    assert plural_of(ALL_KINDS[group, kind]) == plural


@pytest.mark.parametrize(
    ("path", "subresources"),
    [
        (("", "v1", "configmaps"), []),
        (("", "v1", "namespaces"), ["finalize", "status"]),
        (("", "v1", "services"), ["proxy", "status"]),
        (("", "v1", "serviceaccounts"), ["token"]),
        (("", "v1", "podtemplates"), []),
        (("apps", "v1", "deployments"), ["scale", "status"]),
        (("apps", "v1", "daemonsets"), ["status"]),
        (("certificates.k8s.io", "v1", "certificatesigningrequests"), ["approval", "status"]),
        (("authorization.k8s.io", "v1", "subjectaccessreviews"), []),
    ],
)
def test_a_resource_has_its_subresources_and_status_where_the_schema_has_one(path, subresources):
    assert list(rows_of(34)[path].subresources) == subresources


@pytest.mark.parametrize(
    ("minor", "cluster_wide"), [(26, ["resourceclasses"]), (30, ["resourceclasses", "resourceslices"])]
)
def test_classes_of_devices_are_cluster_wide_and_all_else_about_devices_is_not(minor, cluster_wide):
    rows = [row for row in rows_of(minor).values() if row.group == "resource.k8s.io"]
    assert sorted(row.plural for row in rows if not row.namespaced) == cluster_wide


def test_cluster_cidrs_are_cluster_wide_and_have_a_short_name():
    row = rows_of(28)["networking.k8s.io", "v1alpha1", "clustercidrs"]
    assert (row.namespaced, row.short_names) == (False, ("cc",))


def test_a_subresource_names_the_body_it_speaks():
    scale = rows_of(34)["apps", "v1", "deployments"].subresources["scale"]
    status = rows_of(34)["apps", "v1", "deployments"].subresources["status"]
    proxy = rows_of(34)["", "v1", "nodes"].subresources["proxy"]
    assert (scale.group, scale.version, scale.kind) == ("autoscaling", "v1", "Scale")
    assert (status.group, status.version, status.kind) == ("apps", "v1", "Deployment")
    assert (proxy.group, proxy.version, proxy.kind) == ("", "v1", "NodeProxyOptions")


def test_new_events_are_stored_as_core_events():
    row = rows_of(34)["events.k8s.io", "v1", "events"]
    assert (row.storage_group, row.storage_version, row.storage_prefix) == ("", "v1", "events")


def test_groups_stand_in_the_order_of_discovery():
    assert list(ResourceTable(rows_of(37).values()).groups()) == list(KINDS)


def test_the_newest_stable_version_is_preferred_and_stored():
    table = ResourceTable(rows_of(34).values())
    assert table.groups()["autoscaling"] == ["v2", "v1"]
    assert table.groups()["resource.k8s.io"] == ["v1", "v1beta2", "v1beta1", "v1alpha3"]
    assert rows_of(34)["autoscaling", "v1", "horizontalpodautoscalers"].storage_version == "v2"


def test_versions_rank_as_in_upstream():
    ranked = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    assert sorted(sorted(ranked), key=version_rank, reverse=True) == ranked


@pytest.mark.parametrize("version", ["v", "vbeta", "v1beta", "beta1", "x1beta1", "v1gamma1", "1", ""])
def test_a_version_of_another_form_ranks_below_all(version):
    assert version_rank(version) < version_rank("v0alpha0")


def test_rows_may_come_and_go_while_the_table_is_read():
    first, *others = rows_of(37).values()
    table = ResourceTable([first, others[0]])
    for row in table:
        table.remove(row)
        table.add(others[1])
    assert [*table] == [others[1]]
