"""Updates of a definition: the fields that may change, and the old mistakes that may remain."""

import base64
import copy
from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.apiextensions.validation.definition import validator

VALIDATOR = validator(0)
ESTABLISHED = [{"type": "Established", "status": "True"}]
BUNDLE = base64.b64encode(b"no certificate").decode()


def schema(**field: Any) -> Obj:
    return {"openAPIV3Schema": {"type": "object", "properties": {"f": field}} if field else {"type": "object"}}


def version(name: str = "v1", **parts: Any) -> Obj:
    return {"name": name, "served": True, "storage": name == "v1", "schema": schema()} | parts


def definition(*versions: Obj, conditions: Any = (), stored: Any = ("v1",), **spec: Any) -> Obj:
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    given = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [*(versions or (version(),))]}
    status = {"acceptedNames": names, "conditions": [*conditions], "storedVersions": [*stored]}
    return {"metadata": {"name": "widgets.example.com"}, "spec": given | spec, "status": status}


def updated(new: Obj, old: Obj) -> list[str]:
    unspoilt = copy.deepcopy((new, old))
    errors = [str(error) for error in VALIDATOR.update(new, old)]
    assert (new, old) == unspoilt
    return errors


NAMES = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"}
CHANGED = definition(group="other.com", scope="Cluster", names=NAMES)


def test_what_makes_the_name_never_changes():
    assert updated(CHANGED, definition()) == [
        'spec.group: Invalid value: "other.com": field is immutable',
        'spec.names.plural: Invalid value: "gadgets": field is immutable',
    ]


def test_what_objects_are_stored_by_stays_once_they_can_be():
    assert updated(CHANGED, definition(conditions=ESTABLISHED)) == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Gadget": field is immutable',
        'spec.group: Invalid value: "other.com": field is immutable',
        'spec.names.plural: Invalid value: "gadgets": field is immutable',
    ]


def test_a_version_goes_when_nothing_is_stored_in_it():
    old = definition(version(storage=False), version("v2", storage=True), stored=["v1", "v2"])
    new = definition(version("v2", storage=True), stored=["v1", "v2"])
    assert updated(new, old) == [
        (
            'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage '
            "version, and must remain in spec.versions until a storage migration ensures no data remains persisted in "
            "v1 and removes v1 from status.storedVersions"
        )
    ]
    assert updated(definition(version("v2", storage=True), stored=["v2"]), old) == []


def test_the_storage_version_is_among_the_stored_ones():
    new = definition(version(storage=False), version("v2", storage=True))
    assert updated(new, definition()) == [
        'status.storedVersions: Invalid value: ["v1"]: must have the storage version v2'
    ]
    assert updated(definition(stored=()), definition()) == [
        "status.storedVersions: Invalid value: null: must have at least one stored version"
    ]


def test_accepted_names_are_names():
    given = definition()
    given["status"]["acceptedNames"] = {"plural": "Bad", "kind": ""}
    errors = [str(error) for error in VALIDATOR.status_update(given, definition())]
    assert [error.partition(": a DNS")[0] for error in errors] == ['status.acceptedNames.plural: Invalid value: "Bad"']


STRANGE = schema(type="strange")
SET = schema(**{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}})
KEYED = {"type": "object", "properties": {"a": {"type": "string"}}}
MAP = schema(**{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"], "items": KEYED})


@pytest.mark.parametrize("loose", [STRANGE, SET, MAP])
def test_what_old_schemas_said_wrongly_they_may_go_on_to_say(loose):
    bad = definition(version(schema=loose))
    assert len(updated(bad, definition())) == 1
    assert updated(bad, bad) == []


def test_schemas_that_were_missing_may_be_missing_where_nothing_is_pruned():
    bare = version("v2")
    del bare["schema"]
    old = definition(version(), bare)
    assert updated(old, definition(version(), version("v2"))) == [
        "spec.versions[1].schema.openAPIV3Schema: Required value"
    ]
    assert updated(old, old) == [
        "spec.versions[1].schema.openAPIV3Schema: Required value: because otherwise all fields are pruned"
    ]
    old["spec"]["preserveUnknownFields"] = True
    assert updated(old, old) == []


def test_a_schema_that_is_not_structural_may_stay_where_nothing_is_pruned():
    loose = definition(version(schema=schema(description="what?")), preserveUnknownFields=True)
    assert updated(loose, loose) == []
    assert len(updated(loose, definition(preserveUnknownFields=True))) == 1
    pruned = definition(version(schema=schema(description="what?")))
    assert updated(pruned, loose) == [
        (
            "spec.validation.openAPIV3Schema.properties[f].type: "
            "Required value: must not be empty for specified object fields"
        )
    ]


def test_unknown_fields_may_be_preserved_as_they_were():
    preserving = definition(preserveUnknownFields=True)
    assert updated(preserving, preserving) == []
    (error,) = updated(preserving, definition())
    assert error.startswith("spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-")


def webhook(*versions: str, bundle: str = "") -> Obj:
    client = {"url": "https://example.com"} | ({"caBundle": bundle} if bundle else {})
    return {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": [*versions]}}


def test_a_webhook_may_go_on_to_understand_nothing_that_the_server_says():
    deaf = definition(conversion=webhook("v0"))
    assert updated(deaf, deaf) == []
    for old in (definition(conversion=webhook("v1")), definition(conversion=webhook())):
        assert updated(deaf, old) == [
            (
                'spec.conversion.conversionReviewVersions: Invalid value: ["v0"]: '
                "must include at least one of v1, v1beta1"
            )
        ]


def test_a_bundle_without_certificates_may_stay():
    bad = webhook("v1", bundle=BUNDLE)
    known = definition(conditions=ESTABLISHED, conversion=webhook("v1"))
    assert updated(definition(conversion=bad), definition(conversion=webhook("v1"))) == []  # not served yet
    assert updated(definition(conversion=bad), definition(conditions=ESTABLISHED, conversion=bad)) == []
    assert updated(definition(conversion=bad), known) == [
        (f'spec.conversion.webhookClientConfig.caBundle: Invalid value: "{BUNDLE}": unable to parse bytes as PEM block')
    ]


def many(count: int, **parts: Any) -> Obj:
    fields = {f"f{index}": {"type": "string"} for index in range(count)}
    whole = {"openAPIV3Schema": {"type": "object", "properties": fields} | parts}
    return {"schema": whole, "selectableFields": [{"jsonPath": f".{name}"} for name in fields]}


def test_too_many_selectable_fields_may_stay_as_they_were():
    nine, ten = definition(version(**many(9))), definition(version(**many(10)))
    assert updated(nine, nine) == []
    assert updated(ten, nine) == ["spec.selectableFields: Too many: 10: must have at most 8 items"]
    two = definition(version(), version("v2", **many(9)))
    assert updated(two, two) == []
    assert updated(definition(version(), version("v2", **many(10))), two) == [
        "spec.versions[1].selectableFields: Too many: 10: must have at most 8 items"
    ]


def test_an_approval_that_was_wrong_before_may_be_wrong_in_the_same_way():
    def approved(text: str) -> Obj:
        given = definition(group="widgets.k8s.io")
        given["metadata"]["annotations"] = {"api-approved.kubernetes.io": text}
        return given

    assert updated(approved("perhaps"), approved("maybe")) == []
    assert updated(approved(""), approved("")) == []
    assert len(updated(approved("perhaps"), approved(""))) == 1
    assert len(updated(approved(""), approved("https://example.com/a"))) == 1


def test_a_release_tells_what_rules_may_use_yet():
    rule = {"rule": "semver('1.2.3').major() == 1"}
    new = definition(version(schema=schema(type="string", **{"x-kubernetes-validations": [rule]})))
    assert [*validator(34).create(new)] == []
    (error,) = validator(33).create(new)
    assert "undeclared reference to 'semver'" in str(error)
    assert [*validator(33).update(new, new)] == []
