"""The verbs over all rows: what discovery names can be made, read in every form, watched, changed and deleted."""

from collections.abc import Callable
from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.registry.subresources import VIRTUAL
from apiserver.release import load_release

RELEASES = ("1.37", "1.30", "1.25")
TABLE, PARTIAL = (f"application/json;as={kind};g=meta.k8s.io;v=v1" for kind in ("Table", "PartialObjectMetadataList"))
MERGE = "application/merge-patch+json"
SEEN_TO = {"customresourcedefinitions"}
"""Kinds whose objects the server itself writes as soon as they are made (tests/wire/definitions)."""


def base(row: Resource) -> str:
    return f"/apis/{row.group}/{row.version}" if row.group else f"/api/{row.version}"


def collection(row: Resource) -> str:
    return f"{base(row)}/namespaces/default/{row.plural}" if row.namespaced else f"{base(row)}/{row.plural}"


def named(release: str, row: Resource) -> Any:
    return pytest.param(release, row, id=f"{release}-{row.plural}.{row.version}.{row.group}")


SERVED = [(release, row) for release in RELEASES for row in load_release(release).rows]
ROWS = [named(release, row) for release, row in SERVED]
STORED = [
    named(release, row)
    for release, row in SERVED
    if (row.group, row.plural) not in VIRTUAL and row.plural not in SEEN_TO
]


@pytest.mark.parametrize(("release", "row"), STORED)
def test_a_kind_is_made_read_watched_changed_and_deleted(
    wires: Callable[[str], Any], minimal: Callable[[Resource], Obj], release: str, row: Resource
) -> None:
    wire, path, body = wires(release), collection(row), minimal(row)
    name = body["metadata"]["name"]
    before = wire.get(path)["metadata"]["resourceVersion"]

    made = wire.expect(201, "POST", f"{path}?fieldValidation=Strict", body)
    assert (made["kind"], made["apiVersion"]) == (row.kind, row.api_version)
    assert {"uid", "creationTimestamp", "resourceVersion"} <= made["metadata"].keys()
    assert wire.get(f"{path}/{name}") == made

    assert made["metadata"] in [each["metadata"] for each in wire.get(path)["items"]]
    table = wire.get(path, Accept=TABLE)
    assert name in [line["object"]["metadata"]["name"] for line in table["rows"]]
    assert {len(line["cells"]) for line in table["rows"]} == {
        len(table["columnDefinitions"]) + (row.plural == "ipaddresses")
    }
    assert made["metadata"] in [each["metadata"] for each in wire.get(path, Accept=PARTIAL)["items"]]

    labelled = wire.patch(f"{path}/{name}", {"metadata": {"labels": {"one": "1"}}})
    assert without_metadata(labelled) == without_metadata(made)
    replaced = wire.expect(200, "PUT", f"{path}/{name}", with_label(labelled, "two", "2"))
    assert {"one": "1", "two": "2"}.items() <= replaced["metadata"]["labels"].items()
    stale = wire.expect(409, "PUT", f"{path}/{name}", made)
    assert stale["reason"] == "Conflict"
    assert [each["metadata"]["name"] for each in wire.get(f"{path}?labelSelector=one=1,two")["items"]] == [name]

    wire.expect(200, "DELETE", f"{path}/{name}?gracePeriodSeconds=0&propagationPolicy=Background")
    watch = f"watch=1&resourceVersion={before}&fieldSelector=metadata.name={name}"
    seen = wire.events_until_deleted(f"{path}?{watch}")
    assert [event["type"] for event in seen[:3]] == ["ADDED", "MODIFIED", "MODIFIED"]
    assert [event["object"] for event in seen[:3]] == [made, labelled, replaced]
    assert seen[-1]["object"]["metadata"]["uid"] == made["metadata"]["uid"]
    assert wire.expect(404, "GET", f"{path}/{name}")["details"]["name"] == name


NAMED_BY_RULE = {"apiservices", "customresourcedefinitions", "ipaddresses"}
"""Kinds whose names follow from what they hold, so that a server cannot make them up."""


@pytest.mark.parametrize(("release", "row"), [each for each in STORED if each.values[0] == RELEASES[0]])
def test_a_kind_is_made_under_a_name_that_the_server_makes_up(
    wires: Callable[[str], Any], minimal: Callable[[Resource], Obj], release: str, row: Resource
) -> None:
    wire, body = wires(release), minimal(row)
    refused = row.plural in NAMED_BY_RULE
    unnamed = body | {"metadata": {"generateName": "generated-"}}
    answer = wire.expect(422 if refused else 201, "POST", f"{collection(row)}?dryRun=All", unnamed)
    assert refused or answer["metadata"]["name"].startswith("generated-")


def without_metadata(obj: Obj) -> Obj:
    return {key: value for key, value in obj.items() if key != "metadata"}


def with_label(obj: Obj, key: str, value: str) -> Obj:
    meta = obj["metadata"]
    return obj | {"metadata": meta | {"labels": meta["labels"] | {key: value}}}


METHODS = {"list": "GET", "create": "POST", "deletecollection": "DELETE"}
OTHERS = {"get": "GET", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}


@pytest.mark.parametrize("release", RELEASES)
def test_verbs_that_discovery_does_not_name_are_not_allowed(wires: Callable[[str], Any], release: str) -> None:
    """A path that has no verb at all, such as that of a review's name, is not found."""
    wire = wires(release)
    refused = [
        (row.plural, verb, wire.ask(method, path, {}, Content_Type=MERGE).code, 405 if {*verbs} & {*row.verbs} else 404)
        for row in load_release(release).rows
        for path, verbs in ((collection(row), METHODS), (f"{collection(row)}/x", OTHERS))
        for verb, method in verbs.items()
        if verb not in row.verbs
    ]
    assert [each for each in refused if each[2] != each[3]] == []
    assert ("namespaces", "deletecollection", 405, 405) in refused
    assert ("subjectaccessreviews", "get", 404, 404) in refused


@pytest.mark.parametrize("release", RELEASES)
def test_every_kind_can_be_explained(wires: Callable[[str], Any], release: str) -> None:
    """kubectl explain looks for the kind among the schemas of its group and version."""
    wire = wires(release)
    rows = load_release(release).rows
    explained = set()
    for root in {base(row) for row in rows}:
        for schema in wire.get(f"/openapi/v3{root}")["components"]["schemas"].values():
            explained |= {
                (root, gvk["kind"])
                for gvk in schema.get("x-kubernetes-group-version-kind", ())
                if "properties" in schema
            }
    assert {(base(row), row.kind) for row in rows} - explained == set()
