"""Patches of mutating webhooks: applied in order, seen by whoever comes later, and called again where that is asked."""

import pytest
from hook_server import add, allow, deny, patch

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
EVERYTHING = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}


async def test_a_patch_changes_what_is_stored(api, hook, hooks, config_map):
    hook.answers["/m"] = patch(add("/data", {"x": "1"}), add("/metadata/labels", {"by": "hook"}))
    await hooks.mutating("/m")
    created = (await api.post(MAPS, config_map())).json
    assert (created["data"], created["metadata"]["labels"]) == ({"x": "1"}, {"by": "hook"})
    stored = (await api.get(f"{MAPS}/a")).json
    assert stored == created
    assert stored["metadata"]["uid"]


async def test_an_update_and_its_status_can_be_patched(api, hook, hooks):
    nodes = "/api/v1/nodes"
    await api.post(nodes, {"metadata": {"name": "n"}})
    hook.answers["/m"] = patch(add("/metadata/annotations", {"by": "hook"}))
    rule = EVERYTHING | {"resources": ["nodes/status"]}
    await hooks.mutating("/m", rules=[rule])
    change = {"status": {"phase": "Running"}}
    assert "annotations" not in (await api.patch(f"{nodes}/n", {"metadata": {"labels": {"a": "b"}}})).json["metadata"]
    assert (await api.patch(f"{nodes}/n/status", change)).json["metadata"]["annotations"] == {"by": "hook"}


async def test_a_patched_object_gets_defaults_and_is_validated(api, hook, hooks):
    container = {"name": "side", "image": "busybox"}
    hook.answers["/m"] = patch(add("/spec/containers/-", container))
    await hooks.mutating("/m", rules=[EVERYTHING | {"resources": ["pods"], "operations": ["CREATE"]}])
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}
    created = (await api.post(PODS, pod)).json
    assert created["spec"]["containers"][1]["imagePullPolicy"] == "Always"
    hook.answers["/m"] = patch(add("/spec/containers/-", {"name": "main"}))
    reply = await api.post(PODS, pod | {"metadata": {"name": "q"}})
    assert reply.code == 422
    assert 'spec.containers[1].name: Duplicate value: "main"' in reply.message


async def test_unknown_fields_of_a_patch_are_dropped(api, hook, hooks, config_map):
    hook.answers["/m"] = patch(add("/nonsense", {"x": "1"}))
    await hooks.mutating("/m")
    assert "nonsense" not in (await api.post(MAPS, config_map())).json


async def test_webhooks_are_asked_by_the_names_of_configurations_and_each_sees_the_patches_before(
    api, hook, hooks, config_map
):
    hook.answers["/second"] = patch(add("/data/b", "2"))
    hook.answers["/first"] = patch(add("/data", {"a": "1"}))
    hook.answers["/v"] = allow
    await hooks.register("mutating", "b", hooks.webhook("/second"))
    await hooks.register("mutating", "a", hooks.webhook("/first"))
    await hooks.validating("/v")
    assert (await api.post(MAPS, config_map())).json["data"] == {"a": "1", "b": "2"}
    assert "data" not in hook.requests("/first")[0]["object"]
    assert hook.requests("/second")[0]["object"]["data"] == {"a": "1"}
    (seen,) = hook.requests("/v")
    assert seen["object"]["data"] == {"a": "1", "b": "2"}
    assert seen["object"]["metadata"]["uid"]
    assert seen["oldObject"] is None


async def test_a_webhook_is_called_again_only_if_it_wants_to_and_the_object_has_changed_since(
    api, hook, hooks, config_map
):
    hook.answers["/curious"] = hook.answers["/other"] = allow
    hook.answers["/late"] = patch(add("/data", {"x": "1"}))
    await hooks.register("mutating", "a", hooks.webhook("/curious", reinvocationPolicy="IfNeeded"))
    await hooks.register("mutating", "b", hooks.webhook("/other"))
    await hooks.register("mutating", "c", hooks.webhook("/late", reinvocationPolicy="IfNeeded"))
    await api.post(MAPS, config_map())
    assert [len(hook.requests(path)) for path in ("/curious", "/other", "/late")] == [2, 1, 1]
    assert "data" not in hook.requests("/curious")[0]["object"]
    assert hook.requests("/curious")[1]["object"]["data"] == {"x": "1"}


async def test_a_patch_that_changes_nothing_has_nobody_called_again(api, hook, hooks, config_map):
    hook.answers["/curious"] = allow
    hook.answers["/late"] = patch(add("/metadata/name", "a"))
    await hooks.register("mutating", "a", hooks.webhook("/curious", reinvocationPolicy="IfNeeded"))
    await hooks.register("mutating", "b", hooks.webhook("/late"))
    await api.post(MAPS, config_map())
    assert len(hook.requests("/curious")) == 1


async def test_a_deletion_has_no_object_to_patch(api, hook, hooks):
    await api.make("a")
    hook.answers["/m"] = patch(add("/data", {}))
    await hooks.mutating("/m", rules=[EVERYTHING | {"resources": ["configmaps"], "operations": ["DELETE"]}])
    reply = await api.delete(f"{MAPS}/a")
    assert reply.message == (
        'Internal error occurred: admission webhook "m.example.com" attempted to modify the object, which is not '
        "supported for this operation"
    )
    (request,) = hook.requests("/m")
    assert request["object"] is None
    assert request["oldObject"]["metadata"]["name"] == "a"


async def test_a_webhook_cannot_take_away_who_owns_the_fields(api, hook, hooks, config_map):
    hook.answers["/m"] = patch(add("/metadata/managedFields", []))
    await hooks.mutating("/m")
    assert (await api.post(MAPS, config_map(data={"x": "1"}))).json["metadata"]["managedFields"]


async def test_a_custom_object_is_patched_pruned_and_validated_by_its_schema(api, hook, hooks):
    await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    things = "/apis/example.com/v1/namespaces/default/things"
    hook.answers["/m"] = patch(add("/spec", {"size": 3, "nonsense": 1}))
    await hooks.mutating("/m", rules=[EVERYTHING | {"resources": ["things"]}])
    thing = {"kind": "Thing", "apiVersion": "example.com/v1", "metadata": {"name": "t"}}
    assert (await api.post(things, thing)).json["spec"] == {"size": 3, "color": "red"}
    hook.answers["/m"] = patch(add("/spec", {"size": "big"}))
    reply = await api.post(things, thing | {"metadata": {"name": "u"}})
    assert reply.code == 422
    assert "spec.size: Invalid value" in reply.message


def definition():
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"size": {"type": "integer"}, "color": {"type": "string", "default": "red"}},
            }
        },
    }
    return {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}},
            ],
        },
    }


@pytest.mark.parametrize("dry", [True, False])
async def test_a_request_for_a_dry_run_says_so(api, hook, hooks, config_map, dry):
    hook.answers["/m"] = deny(message="no")
    await hooks.mutating("/m")
    await api.post(f"{MAPS}{'?dryRun=All' if dry else ''}", config_map())
    assert hook.requests("/m")[0]["dryRun"] is dry
