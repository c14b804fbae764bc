"""managedFields over the life of an object."""

import copy

import pytest

from apiserver.api.managedfields.builtin_schema import FieldSchema
from apiserver.api.managedfields.managed_fields import (
    ManagerIdentifier,
    entries_after_create,
    entries_after_update,
    field_manager_errors,
    manager_name,
)
from apiserver.api.schema import load_definitions
from apiserver.api.schema.go_types import load_go_types


@pytest.fixture(scope="module")
def schema():
    return FieldSchema(load_definitions("1.37"), load_go_types())


@pytest.fixture
def config_map(schema):
    return schema.root("io.k8s.api.core.v1.ConfigMap")


def at(second):
    return f"2024-01-01T00:00:{second:02}Z"


def entry(manager, fields, second=0, **more):
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": at(second),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


class Story:
    """A ConfigMap that is written again and again; each write is a second after the last."""

    def __init__(self, kind, **fields):
        self.kind = kind
        self.second = 0
        self.obj = fields
        self.obj["metadata"] = self.obj.get("metadata", {}) | {
            "managedFields": entries_after_create(
                fields, kind, owner=ManagerIdentifier("first", "Update", "v1"), time=at(0)
            )
        }

    def write(self, manager, sent=None, subresource="", **fields):
        self.second += 1
        meta = fields.pop("metadata", {}) | {"managedFields": self.entries if sent is None else sent}
        new = fields | {"metadata": meta}
        entries = entries_after_update(
            self.obj,
            new,
            self.kind,
            owner=ManagerIdentifier(manager, "Update", "v1", subresource),
            time=at(self.second),
        )
        self.obj = new | {"metadata": meta | {"managedFields": entries}}
        return entries

    @property
    def entries(self):
        return self.obj["metadata"]["managedFields"]


def test_who_creates_an_object_owns_its_fields(config_map):
    story = Story(config_map, data={"k": "v"}, immutable=False, metadata={"name": "a", "labels": {"l": "1"}})
    assert story.entries == [
        entry(
            "first",
            {
                "f:data": {".": {}, "f:k": {}},
                "f:immutable": {},
                "f:metadata": {"f:labels": {".": {}, "f:l": {}}},
            },
        )
    ]


def test_who_changes_a_field_owns_it_and_what_is_removed_nobody_owns(config_map):
    story = Story(config_map, data={"k": "v", "l": "w"}, metadata={"annotations": {"n": "1"}})
    assert story.write("putter", data={"k": "v", "l": "new", "x": "y"}) == [
        entry("first", {"f:data": {".": {}, "f:k": {}}}),
        entry("putter", {"f:data": {"f:l": {}, "f:x": {}}}, 1),
    ]
    assert story.write("patcher", data={"k": "w"}) == [
        entry("first", {"f:data": {}}),
        entry("patcher", {"f:data": {"f:k": {}}}, 2),
    ]


def test_the_same_manager_keeps_one_entry_with_the_time_of_its_last_change(config_map):
    story = Story(config_map, data={"k": "v"})
    assert story.write("first", data={"k": "v", "l": "w"}) == [
        entry("first", {"f:data": {".": {}, "f:k": {}, "f:l": {}}}, 1)
    ]
    assert story.write("first", data={"k": "v"}) == [entry("first", {"f:data": {".": {}, "f:k": {}}}, 1)]


def test_a_write_that_changes_nothing_leaves_the_entries_alone(config_map):
    story = Story(config_map, data={"k": "v"})
    before = story.entries
    assert story.write("other", data={"k": "v"}) is before


def test_a_subresource_has_entries_of_its_own_and_ignores_what_clients_send(schema):
    kind = schema.root("io.k8s.api.core.v1.Pod")
    story = Story(kind, spec={"nodeName": "n"})
    entries = story.write("kubelet", sent=[], subresource="status", spec={"nodeName": "n"}, status={"phase": "Running"})
    assert entries == [
        entry("first", {"f:spec": {"f:nodeName": {}}}),
        entry("kubelet", {"f:status": {"f:phase": {}}}, 1, subresource="status"),
    ]


def test_fields_that_are_known_already_are_owned_like_those_that_are_found(schema):
    kind = schema.root("io.k8s.api.core.v1.Pod")
    pod = {"metadata": {"labels": {"a": "b"}}, "spec": {"nodeName": "n"}}
    owner = ManagerIdentifier("m", "Update", "v1")
    whole = entries_after_create(pod, kind, owner=owner, time=at(0))
    rest = {"metadata": pod["metadata"]}
    known = {"f:spec": whole[0]["fieldsV1"]["f:spec"]}
    assert entries_after_create(rest, kind, owner=owner, time=at(0), known=known) == whole


@pytest.mark.parametrize("reset", [[], [{}]])
def test_a_client_stops_the_tracking_with_an_empty_list_or_entry(config_map, reset):
    story = Story(config_map, data={"k": "v"})
    assert story.write("other", sent=reset, data={"k": "w"}) == []
    assert story.write("other", data={"k": "x"}) == []


@pytest.mark.parametrize(
    "sent",
    [
        [{"manager": "x", "operation": "Frob", "apiVersion": "v1", "fieldsType": "FieldsV1"}],
        [{"manager": "x", "operation": "Update", "fieldsType": "FieldsV1"}],
        [{"manager": "x", "operation": "Update", "apiVersion": "v1"}],
        [{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"a": {}}}],
    ],
)
def test_malformed_entries_of_a_client_do_not_count(config_map, sent):
    story = Story(config_map, data={"k": "v"})
    assert story.write("other", sent=sent, data={"k": "v", "l": "w"}) == [
        entry("first", {"f:data": {".": {}, "f:k": {}}}),
        entry("other", {"f:data": {"f:l": {}}}, 1),
    ]


def test_well_formed_entries_of_a_client_replace_the_stored_ones(config_map):
    story = Story(config_map, data={"k": "v"})
    sent = [entry("forged", {"f:data": {"f:k": {}}})]
    assert story.write("other", sent=sent, data={"k": "v"}) == sent


def test_forged_entries_of_a_new_object_own_nothing_that_it_has(config_map):
    obj = {"data": {"k": "v"}, "metadata": {"managedFields": [entry("forged", {"f:data": {"f:k": {}}})]}}
    assert entries_after_create(obj, config_map, owner=ManagerIdentifier("m", "Update", "v1"), time=at(0)) == [
        entry("m", {"f:data": {".": {}, "f:k": {}}})
    ]


def test_an_object_without_fields_of_its_own_has_no_entry(config_map):
    assert (
        entries_after_create(
            {"metadata": {"name": "a"}}, config_map, owner=ManagerIdentifier("m", "Update", "v1"), time=at(0)
        )
        == []
    )


def test_entries_of_apply_stand_first_then_the_oldest(config_map):
    story = Story(config_map, data={"k": "v"})
    applied = entry("z", {"f:data": {"f:k": {}}}, 9, operation="Apply")
    story.obj["metadata"]["managedFields"] = [*story.entries, applied]
    story.write("c", data={"k": "v", "c": "1"})
    entries = story.write("a", data={"k": "v", "c": "1", "a": "1"})
    assert [e["manager"] for e in entries] == ["z", "first", "c", "a"]


def test_of_more_than_ten_update_entries_the_oldest_are_merged(config_map):
    data = {"first": "1"}
    story = Story(config_map, data=data)
    for number in range(11):
        data = data | {f"k{number}": "1"}
        story.write(f"m{number}", data=data)
    entries = {e["manager"]: e for e in story.entries}
    assert len(entries) == 10
    assert entries["ancient-changes"] == entry(
        "ancient-changes", {"f:data": {".": {}, "f:first": {}, "f:k0": {}, "f:k1": {}}}, 2
    )
    assert story.entries[0]["manager"] == "ancient-changes"


def test_nothing_given_is_changed(config_map):
    story = Story(config_map, data={"k": "v"})
    old = copy.deepcopy(story.obj)
    story.obj, kept = copy.deepcopy(old), story.obj
    story.write("other", data={"k": "w"})
    assert kept == old


@pytest.mark.parametrize(
    ("field_manager", "user_agent", "name"),
    [
        ("given", "kubectl/v1", "given"),
        ("", "kubectl/v1.30.0 (linux/amd64) kubernetes/abc", "kubectl"),
        ("", "plainagent", "plainagent"),
        ("", "", "unknown"),
        ("", "/1", "unknown"),
        ("", "a\tb/1", "ab"),
        ("", "a" * 140 + "/1", "a" * 128),
        ("", "é" * 100, "é" * 64),
    ],
)
def test_the_manager_is_the_option_or_the_user_agents_first_word(field_manager, user_agent, name):
    assert manager_name(field_manager, user_agent) == name


@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("kubectl-client-side-apply", []),
        ("a" * 129, ["fieldManager: Too long: may not be more than 128 bytes"]),
        ("a\tb", ['fieldManager: Invalid value: "a\\tb": invalid character U+0009 (at position 1)']),
        ("é\t", ['fieldManager: Invalid value: "é\\t": invalid character U+0009 (at position 2)']),
    ],
)
def test_a_managers_name_is_short_and_printable(name, errors):
    assert [str(e) for e in field_manager_errors(name)] == errors
