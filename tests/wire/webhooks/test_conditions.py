"""Match conditions in CEL: which requests they leave to a webhook, and what is wrong with them."""

import pytest
from hook_server import deny

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize(
    ("expression", "is_asked"),
    [
        ("true", True),
        ("object.metadata.name == 'a'", True),
        ("object.metadata.name == 'b'", False),
        ("oldObject == null && !has(object.data)", True),
        ("request.operation == 'CREATE' && request.kind.kind == 'ConfigMap' && request.namespace == 'default'", True),
        ("request.userInfo.username.startsWith('adm') && 'system:masters' in request.userInfo.groups", True),
        ("request.resource.resource == 'secrets'", False),
        ("has(request.subResource)", False),
        ("request.options.kind == 'CreateOptions'", True),
        ("authorizer.group('').resource('pods').namespace('default').check('create').allowed()", True),
        ("authorizer.requestResource.check('delete').allowed()", True),
        ("authorizer.path('/healthz').check('get').errored()", False),
        ("type(authorizer.serviceAccount('default', 'x')) == kubernetes.authorization.Authorizer", True),
    ],
)
async def test_a_webhook_is_asked_where_its_conditions_are_true(api, hook, hooks, config_map, expression, is_asked):
    hook.answers["/v"] = deny()
    await hooks.validating("/v", matchConditions=[{"name": "c", "expression": expression}])
    assert (await api.post(MAPS, config_map())).code == (400 if is_asked else 201)


BROKEN = {"name": "broken", "expression": "object.data.x == '1'"}
ERROR = "expression 'object.data.x == '1'' resulted in error: no such key: data"


async def test_a_condition_that_fails_refuses_the_request_or_leaves_the_webhook_out(api, hook, hooks, config_map):
    hook.answers["/v"] = deny()
    await hooks.validating("/v", matchConditions=[BROKEN])
    reply = await api.post(MAPS, config_map())
    assert (reply.code, reply.message) == (403, f'configmaps "a" is forbidden: {ERROR}')
    configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    ignoring = {"webhooks": [hooks.webhook("/v", matchConditions=[BROKEN], failurePolicy="Ignore")]}
    await api.patch(f"{configurations}/v", ignoring)
    assert (await api.post(MAPS, config_map())).code == 201
    assert not hook.requests("/v")


async def test_a_condition_that_is_false_outweighs_one_that_fails(api, hook, hooks, config_map):
    hook.answers["/v"] = deny()
    await hooks.validating("/v", matchConditions=[BROKEN, {"name": "no", "expression": "false"}])
    assert (await api.post(MAPS, config_map())).code == 201
    assert await api.metrics("apiserver_admission_match_condition_exclusions_total", 'name="v.example.com"') == 1


@pytest.mark.parametrize(
    ("expression", "detail"),
    [
        (
            "object.",
            (
                "compilation failed: ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'\n | object.\n"
                " | .......^"
            ),
        ),
        ("1", "must evaluate to bool but got int"),
        ("object.spec", "must evaluate to bool but got dyn"),
        (
            "params.x",
            (
                "compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')"
                "\n | params.x\n | ^"
            ),
        ),
        (
            "request.uid == 'x'",
            "compilation failed: ERROR: <input>:1:8: undefined field 'uid'\n | request.uid == 'x'\n | .......^",
        ),
    ],
)
async def test_a_configuration_with_a_condition_that_does_not_compile_is_refused(api, hooks, expression, detail):
    condition = {"name": "c", "expression": expression}
    body = {"metadata": {"name": "v"}, "webhooks": [hooks.webhook("/v", matchConditions=[condition])]}
    reply = await api.post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", body)
    assert reply.code == 422
    (cause,) = reply.json["details"]["causes"]
    assert cause["field"] == "webhooks[0].matchConditions[0].expression"
    assert cause["message"].partition(": ")[2].partition(": ")[2] == detail
