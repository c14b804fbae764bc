"""The fields of an object that field selectors can select by."""

import dataclasses
from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.api.schema import available_versions, load_definitions
from apiserver.groups.rows import builtin_rows
from apiserver.registry.kind_tables import FIELDS, label_problem, selectable_fields

ROWS = {(row.group, row.kind): row for row in builtin_rows(load_definitions(available_versions()[-1]))}


def fields(group: str, kind: str, obj: Obj) -> dict[str, str]:
    return selectable_fields(ROWS[group, kind], {"metadata": {"name": "n", "namespace": "m"}} | obj)


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: f"{row.group}/{row.kind}")
def test_every_field_that_a_selector_may_name_has_a_value(row: Resource):
    assert {*row.fields, "metadata.name", "metadata.namespace"} <= selectable_fields(row, {"metadata": {}}).keys()


def test_only_kinds_with_fields_are_read():
    assert [key for key in FIELDS if not ROWS[key].fields] == []


@pytest.mark.parametrize(
    ("group", "kind", "obj", "expected"),
    [
        ("", "ConfigMap", {}, {}),
        (
            "",
            "Pod",
            {
                "spec": {
                    "hostNetwork": True,
                    "nodeName": "a",
                    "restartPolicy": "Always",
                    "schedulerName": "s",
                    "serviceAccountName": "b",
                },
                "status": {"phase": "Running", "podIP": "10.0.0.1", "nominatedNodeName": "c"},
            },
            {
                "spec.hostNetwork": "true",
                "spec.nodeName": "a",
                "spec.restartPolicy": "Always",
                "spec.schedulerName": "s",
                "spec.serviceAccountName": "b",
                "status.nominatedNodeName": "c",
                "status.phase": "Running",
                "status.podIP": "10.0.0.1",
                "status.podIPs": "",
            },
        ),
        ("", "Node", {"spec": {"unschedulable": True}}, {"spec.unschedulable": "true"}),
        ("", "Node", {"spec": {}}, {"spec.unschedulable": "false"}),
        ("", "Secret", {"type": "Opaque"}, {"type": "Opaque"}),
        ("", "Namespace", {"status": {"phase": "Active"}}, {"status.phase": "Active"}),
        (
            "",
            "Service",
            {"spec": {"clusterIP": "None", "type": "ClusterIP"}},
            {"spec.clusterIP": "None", "spec.type": "ClusterIP"},
        ),
        ("", "ReplicationController", {"status": {"replicas": 3}}, {"status.replicas": "3"}),
        ("", "ReplicationController", {"status": {}}, {"status.replicas": "0"}),
        ("batch", "Job", {"status": {"succeeded": 2}}, {"status.successful": "2"}),
        (
            "certificates.k8s.io",
            "CertificateSigningRequest",
            {"spec": {"signerName": "x/y"}},
            {"spec.signerName": "x/y"},
        ),
        (
            "resource.k8s.io",
            "ResourceSlice",
            {"spec": {"driver": "d"}},
            {"spec.driver": "d", "spec.nodeName": ""},
        ),
    ],
)
def test_the_fields_of_each_kind(group: str, kind: str, obj: Obj, expected: dict[str, str]):
    assert fields(group, kind, obj) == expected | {"metadata.name": "n", "metadata.namespace": "m"}


CORE_EVENT = {
    "involvedObject": {"kind": "Pod", "name": "p"},
    "reason": "Why",
    "source": {"component": "kubelet"},
    "type": "Normal",
}
NEW_EVENT = {
    "regarding": {"kind": "Pod", "name": "p"},
    "reason": "Why",
    "deprecatedSource": {"component": "kubelet"},
    "type": "Normal",
}


@pytest.mark.parametrize(("group", "event"), [("", CORE_EVENT), ("events.k8s.io", NEW_EVENT)])
def test_an_event_is_found_by_the_names_of_either_group(group: str, event: Obj):
    labels = fields(group, "Event", event)
    assert labels["involvedObject.name"] == labels["regarding.name"] == "p"
    assert (labels["source"], labels["reason"], labels["type"]) == ("kubelet", "Why", "Normal")


def test_the_source_of_an_event_is_its_reporter_where_it_names_none():
    labels = fields("events.k8s.io", "Event", {"reportingController": "c"})
    assert (labels["source"], labels["reportingComponent"], labels["reportingController"]) == ("c", "c", "c")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"a": {"b": "x"}}, "x"),
        ({"a": {"b": 3}}, "3"),
        ({"a": {"b": 0}}, "0"),
        ({"a": {"b": 3.0}}, "3"),
        ({"a": {"b": 1e6}}, "1e+06"),
        ({"a": {"b": True}}, "true"),
        ({"a": {"b": False}}, "false"),
        ({"a": {"b": None}}, ""),
        ({"a": {"b": {"c": 1}}}, "map[c:1]"),
        ({"a": "x"}, ""),
        ({"a": None}, ""),
        ({}, ""),
    ],
)
def test_a_custom_kind_declares_its_own_fields(spec: Obj, text: str):
    row = dataclasses.replace(ROWS["", "ConfigMap"], group="example.com", kind="Thing", fields=("spec.a.b",))
    assert selectable_fields(row, {"metadata": {"name": "n"}, "spec": spec}) == {
        "metadata.name": "n",
        "metadata.namespace": "",
        "spec.a.b": text,
    }


def custom(*fields: str, **more: Any) -> Resource:
    row = dataclasses.replace(ROWS["", "ConfigMap"], group="example.com", kind="Thing", fields=fields, custom=True)
    return dataclasses.replace(row, **more)


def test_of_an_object_the_fields_of_all_versions_are_kept():
    row = custom("spec.color", kept_fields=("spec.color", "spec.hue"))
    obj = {"metadata": {"name": "n"}, "spec": {"color": "red", "hue": "blue"}}
    kept = selectable_fields(row, obj)
    assert (kept["spec.color"], kept["spec.hue"]) == ("red", "blue")


@pytest.mark.parametrize(
    ("row", "label", "problem"),
    [
        (custom(), "metadata.name", ""),
        (custom(), "metadata.namespace", ""),
        (custom("spec.color"), "spec.color", ""),
        (custom("spec.color"), "spec.size", "field label not supported: spec.size"),
        (custom("spec.color", kept_fields=("spec.hue",)), "spec.hue", "field label not supported: spec.hue"),
        (custom(), "spec.size", "field label not supported: spec.size"),
        (custom(namespaced=False), "metadata.namespace", "field label not supported: metadata.namespace"),
        (custom(namespaced=False), "metadata.name", ""),
        (ROWS["", "Pod"], "spec.nodeName", ""),
        (ROWS["", "Pod"], "spec.size", "field label not supported: spec.size"),
        (ROWS["", "Node"], "metadata.namespace", "field label not supported: metadata.namespace"),
        (ROWS["", "Namespace"], "metadata.namespace", "field label not supported: metadata.namespace"),
        (ROWS["", "PersistentVolume"], "metadata.namespace", ""),
        (ROWS["", "Secret"], "metadata.namespace", ""),
        (ROWS["batch", "Job"], "spec.size", 'field label "spec.size" not supported for batchv1.Job'),
        (
            ROWS["apps", "StatefulSet"],
            "status.successful",
            '"status.successful" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        (
            ROWS["resource.k8s.io", "ResourceSlice"],
            "metadata.namespace",
            "field label not supported for resource.k8s.io/v1beta1, Kind=ResourceSlice: metadata.namespace",
        ),
        (
            ROWS["", "ConfigMap"],
            "data.a",
            '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
    ],
    ids=lambda value: f"{value.kind} {value.namespaced}" if isinstance(value, Resource) else value,
)
def test_a_selector_that_names_another_field_is_refused_in_the_words_of_the_kind(
    row: Resource, label: str, problem: str
):
    assert label_problem(row, label) == problem
