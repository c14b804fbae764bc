"""Denials and warnings of webhooks, as the clients of the API get them."""

import asyncio
from typing import Any

import pytest
from aiohttp import web
from hook_server import allow, deny

MAPS = "/api/v1/namespaces/default/configmaps"
DENIED = 'admission webhook "v.example.com" denied the request'


async def test_a_request_that_a_webhook_allows_is_carried_out(api, hook, hooks, config_map):
    hook.answers["/v"] = allow
    await hooks.validating("/v")
    assert (await api.post(MAPS, config_map())).code == 201
    assert len(hook.requests("/v")) == 1


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        ({}, (400, None, f"{DENIED} without explanation")),
        ({"message": "no such luck"}, (400, None, f"{DENIED}: no such luck")),
        ({"reason": "Forbidden"}, (400, "Forbidden", f"{DENIED}: Forbidden")),
        ({"code": 403, "message": "no"}, (403, None, f"{DENIED}: no")),
        ({"code": 200, "message": "no"}, (400, None, f"{DENIED}: no")),
        ({"code": 422, "reason": "Invalid", "message": "bad"}, (422, "Invalid", f"{DENIED}: bad")),
        ({"status": "Success", "message": "no"}, (400, None, f"{DENIED}: no")),
    ],
)
async def test_a_denial_passes_on_the_code_the_reason_and_the_message(api, hook, hooks, config_map, status, answer):
    hook.answers["/v"] = deny(**status)
    await hooks.validating("/v")
    reply = await api.post(MAPS, config_map())
    assert (reply.code, reply.json.get("reason"), reply.message) == answer
    assert reply.json["status"] == "Failure"
    assert (await api.get(f"{MAPS}/a")).code == 404


async def test_a_denial_passes_on_the_details(api, hook, hooks, config_map):
    details = {"name": "a", "kind": "configmaps", "causes": [{"field": "data", "message": "must not be empty"}]}
    hook.answers["/v"] = deny(code=422, message="bad", details=details)
    await hooks.validating("/v")
    assert (await api.post(MAPS, config_map())).json["details"] == details


async def test_a_mutating_webhook_may_deny_as_well(api, hook, hooks, config_map):
    hook.answers["/v"] = deny(message="no")
    await hooks.mutating("/v")
    assert (await api.post(MAPS, config_map())).message == f"{DENIED}: no"


async def test_updates_patches_and_deletions_are_asked_about_too(api, hook, hooks, config_map):
    await api.make("a")
    hook.answers["/v"] = deny(message="no")
    await hooks.validating("/v")
    for reply in (
        await api.put(f"{MAPS}/a", config_map(data={"x": "1"})),
        await api.patch(f"{MAPS}/a", {"data": {"x": "1"}}),
        await api.delete(f"{MAPS}/a"),
        await api.delete(MAPS),
    ):
        assert reply.message == f"{DENIED}: no"
    assert [each["operation"] for each in hook.requests("/v")] == ["UPDATE", "UPDATE", "DELETE", "DELETE"]


async def test_warnings_of_webhooks_reach_the_client_of_allowed_and_of_denied_requests(api, hook, hooks, config_map):
    hook.answers["/v"] = lambda review: {"allowed": review["request"]["name"] == "a", "warnings": ["mind the gap"]}
    await hooks.validating("/v")
    for name in ("a", "b"):
        reply = await api.post(MAPS, config_map(name))
        assert reply.headers.getall("Warning") == ['299 - "mind the gap"']


async def test_the_next_write_meets_a_webhook_that_was_just_registered_changed_or_removed(api, hook, hooks, config_map):
    configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    hook.answers["/v"], hook.answers["/w"] = deny(message="one"), deny(message="two")
    await hooks.validating("/v")
    assert (await api.post(MAPS, config_map())).message == f"{DENIED}: one"
    change: Any = {"webhooks": [hooks.webhook("/w", name="v.example.com")]}
    assert (await api.patch(f"{configurations}/v", change)).code == 200
    assert (await api.post(MAPS, config_map())).message == f"{DENIED}: two"
    await api.delete(f"{configurations}/v")
    assert (await api.post(MAPS, config_map())).code == 201


async def test_no_webhook_is_asked_about_the_configurations_of_webhooks_and_policies(api, hook, hooks):
    hook.answers["/v"] = deny()
    everything = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    await hooks.validating("/v", rules=[everything])
    await hooks.register("mutating", "another", hooks.webhook("/w"))
    assert not hook.requests("/v")
    assert (await api.post("/api/v1/namespaces", {"metadata": {"name": "x"}})).code == 400


async def test_all_validating_webhooks_are_asked_at_once_and_the_first_by_order_that_denies_answers(
    api, hook, hooks, config_map
):
    both = asyncio.Barrier(2)

    async def meet(message: str) -> dict[str, Any]:
        await both.wait()  # never passes if one is asked after the other
        return {"allowed": False, "status": {"message": message}}

    hook.answers["/v"] = lambda _review: meet("one")
    hook.answers["/w"] = lambda _review: meet("two")
    await hooks.register("validating", "b", hooks.webhook("/w"))
    await hooks.register("validating", "a", hooks.webhook("/v"))
    assert (await api.post(MAPS, config_map())).message == f"{DENIED}: one"


async def test_a_webhook_with_side_effects_is_not_asked_about_a_dry_run(api, hook, hooks, config_map):
    hook.answers["/v"] = allow
    await hooks.validating("/v", sideEffects="NoneOnDryRun")
    assert (await api.post(f"{MAPS}?dryRun=All", config_map())).code == 201
    (request,) = hook.requests("/v")
    assert request["dryRun"] is True
    assert request["options"] == {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"]}


async def test_an_audit_annotation_with_an_invalid_key_is_logged(api, hook, hooks, config_map, caplog):
    hook.answers["/v"] = lambda _review: {"allowed": True, "auditAnnotations": {"a/b": "1", "fine": "2"}}
    await hooks.validating("/v")
    assert (await api.post(MAPS, config_map())).code == 201
    assert [record.message for record in caplog.records if "annotation" in record.message] == [
        "Failed to set admission audit annotation v.example.com/a/b: annotation key has invalid format"
    ]


async def test_a_webhook_that_knows_only_the_old_review_gets_that(api, hook, hooks, config_map):
    hook.answers["/v"] = lambda review: web.json_response(
        {"response": {"allowed": False, "status": {"message": review["apiVersion"]}}}
    )
    await hooks.validating("/v", admissionReviewVersions=["v2", "v1beta1", "v1"])
    assert (await api.post(MAPS, config_map())).message == f"{DENIED}: admission.k8s.io/v1beta1"
