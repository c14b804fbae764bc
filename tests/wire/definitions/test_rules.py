"""Rules in CEL on a running server: judged with the definition, and with each object."""

import pytest

from apiserver.api.meta import Obj

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HERE = "/apis/example.com/v1/namespaces/default/widgets"
SPEC = {
    "type": "object",
    "required": ["least", "size"],
    "x-kubernetes-validations": [{"rule": "self.least <= self.size", "message": "it is too small"}],
    "properties": {
        "least": {"type": "integer"},
        "size": {"type": "integer"},
        "colour": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "it stays"}]},
    },
}
STATUS = {"type": "object", "properties": {"size": {"type": "integer"}}}


def version(spec):
    schema = {"type": "object", "properties": {"spec": spec, "status": STATUS}}
    return {"schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}


def widget(**spec):
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec}


def causes(reply):
    return [(each["field"], each["message"]) for each in reply.json["details"]["causes"]]


def warnings_of(reply):
    return reply.headers.getall("Warning", [])


async def test_an_object_that_breaks_a_rule_is_refused_with_its_message(api, customs):
    await customs.define(version=version(SPEC))
    refused = await api.post(HERE, widget(least=2, size=1))
    assert (refused.code, causes(refused)) == (422, [("spec", "Invalid value: it is too small")])
    assert (await api.post(HERE, widget(least=1, size=1))).code == 201


async def test_rules_wait_until_the_schema_holds(api, customs):
    await customs.define(version=version(SPEC))
    refused = await api.post(HERE, widget(size=1))
    fields = [field for field, _ in causes(refused)]
    assert (refused.code, fields) == (422, ["spec.least", "<nil>"])
    assert "some validation rules were not checked because the object was invalid" in refused.message


@pytest.mark.parametrize("body", [{"spec": {"colour": "blue"}}, {"spec": {"colour": "blue", "size": 2}}])
async def test_a_rule_on_changes_looks_at_the_old_object(api, customs, body):
    await customs.define(version=version(SPEC))
    await api.post(HERE, widget(least=1, size=1, colour="red"))
    refused = await api.patch(f"{HERE}/a", body)
    assert (refused.code, causes(refused)) == (422, [("spec.colour", 'Invalid value: "blue": it stays')])
    assert (await api.patch(f"{HERE}/a", {"spec": {"size": 3}})).code == 200


async def test_a_rule_that_cannot_be_compiled_is_refused_with_its_definition(api, definition):
    spec = SPEC | {"x-kubernetes-validations": [{"rule": "self.most > 1"}]}
    refused = await api.post(CRDS, definition(version=version(spec)))
    assert refused.code == 422
    assert "undefined field 'most'" in refused.message


async def test_a_rule_that_comes_later_lets_what_it_finds_stay_as_it_is(api, customs, definition):
    await customs.define(version=version({**SPEC, "x-kubernetes-validations": []}))
    await api.post(HERE, widget(least=2, size=1))
    changed = definition(version=version(SPEC))["spec"]
    assert (await api.patch(f"{CRDS}/widgets.example.com", {"spec": {"versions": changed["versions"]}})).code == 200
    labelled = await api.patch(f"{HERE}/a", {"metadata": {"labels": {"a": "b"}}})
    assert labelled.code == 200
    while (refused := await api.patch(f"{HERE}/a", {"spec": {"size": 0}})).code == 200:
        await api.patch(f"{HERE}/a", {"spec": {"size": 1}})  # the rule has not come yet
    assert causes(refused) == [("spec", "Invalid value: it is too small")]


async def test_what_a_rule_lets_stay_is_warned_of_also_where_the_update_is_refused(api, customs, definition):
    await customs.define(version=version({**SPEC, "x-kubernetes-validations": []}))
    await api.post(HERE, widget(least=2, size=1, colour="red"))
    changed = definition(version=version(SPEC))["spec"]
    assert (await api.patch(f"{CRDS}/widgets.example.com", {"spec": {"versions": changed["versions"]}})).code == 200
    while not warnings_of(labelled := await api.patch(f"{HERE}/a", {"metadata": {"labels": {"a": "b"}}})):
        assert labelled.code == 200  # the rule has not come yet
    warning = '299 - "spec: Invalid value: it is too small"'
    assert (labelled.code, warnings_of(labelled)) == (200, [warning])
    status = await api.patch(f"{HERE}/a/status", {"status": {"size": 1}})
    assert (status.code, warnings_of(status)) == (200, [warning])
    unknown = await api.patch(f"{HERE}/a", {"odd": 1, "spec": {"colour": "blue"}})
    assert causes(unknown)[-1] == ("spec.colour", 'Invalid value: "blue": it stays')
    assert warnings_of(unknown) == ['299 - "unknown field \\"odd\\""']


async def test_who_scales_an_object_is_warned_of_what_its_rules_let_stay(api, customs, definition):
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    least = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 2", "message": "be more"}]}
    spec: Obj = {"type": "object", "properties": {"least": {"type": "integer"}, "size": {"type": "integer"}}}
    before = version(spec) | {"subresources": {"scale": scale}}
    await customs.define(version=before)
    await api.post(HERE, widget(least=2, size=1))
    after = version(spec | {"properties": spec["properties"] | {"least": least}}) | {"subresources": {"scale": scale}}
    changed = definition(version=after)["spec"]
    assert (await api.patch(f"{CRDS}/widgets.example.com", {"spec": {"versions": changed["versions"]}})).code == 200
    warning, replicas = '299 - "spec.least: Invalid value: 2: be more"', 2
    while not warnings_of(scaled := await api.patch(f"{HERE}/a/scale", {"spec": {"replicas": replicas}})):
        replicas += 1  # the rule has not come yet
    assert (scaled.code, scaled.json["kind"], warnings_of(scaled)) == (200, "Scale", [warning])


async def test_a_new_object_that_is_refused_brings_the_warnings_of_its_body(api, customs):
    await customs.define(version=version(SPEC))
    refused = await api.post(HERE, widget(least=1, size=0, odd=1))
    assert (refused.code, warnings_of(refused)) == (422, ['299 - "unknown field \\"spec.odd\\""'])
