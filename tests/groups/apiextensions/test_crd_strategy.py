"""The strategy of definitions: what creation and updates change before validation."""

from typing import Any

import pytest

from apiserver.api.meta import Obj

KIND = ("apiextensions.k8s.io", "CustomResourceDefinition")


def definition(storage: str = "v1", **parts: Any) -> Obj:
    versions = [{"name": name, "served": True, "storage": name == storage} for name in ("v1", "v2")]
    return {"metadata": {"name": "widgets.example.com"}, "spec": {"versions": versions}} | parts


def test_a_new_definition_has_no_names_and_stores_in_one_version(created):
    given = {"acceptedNames": {"kind": "Widget", "plural": "widgets"}, "storedVersions": ["v7"], "conditions": [{}]}
    obj = created(*KIND, definition("v2", status=given))
    assert obj["status"] == {
        "acceptedNames": {"kind": "", "plural": ""},
        "conditions": None,
        "storedVersions": ["v2"],
    }
    assert obj["metadata"]["generation"] == 1


def test_a_definition_without_a_storage_version_stores_in_none(created):
    assert created(*KIND, definition("v3"))["status"]["storedVersions"] is None


@pytest.mark.parametrize(("storage", "generation", "stored"), [("v1", 4, ["v1"]), ("v2", 5, ["v1", "v2"])])
def test_an_update_keeps_the_status_but_notes_a_new_storage_version(updated, storage, generation, stored):
    status = {"conditions": [{"type": "Established"}], "storedVersions": ["v1"]}
    new = definition(storage, status={"storedVersions": ["v9"]})
    obj = updated(*KIND, new, definition(status=status))
    assert obj["status"] == status | {"storedVersions": stored}
    assert obj["metadata"]["generation"] == generation


def test_who_writes_the_status_leaves_the_spec_and_may_let_finalizers_go(strategy):
    old = definition(status={"storedVersions": ["v1", "v2"]})
    old["metadata"] |= {"finalizers": ["a/b"], "generation": 4}
    new = definition("v2", status={"storedVersions": ["v2"]})
    new["metadata"] |= {"finalizers": [], "generation": 4}
    strategy(*KIND).prepare_status_update(new, old)
    assert new["spec"] == old["spec"]
    assert new["status"] == {"storedVersions": ["v2"]}
    assert new["metadata"]["finalizers"] == []
    assert not strategy(*KIND).allow_unconditional_update
