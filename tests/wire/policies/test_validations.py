"""Validations: the values that they see, and the answer to a request that they deny."""

import pytest

MAPS = "/api/v1/namespaces/default/configmaps"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


def denied(message, policy="p", binding=" with binding 'b'"):
    return f"configmaps \"a\" is forbidden: ValidatingAdmissionPolicy '{policy}'{binding} denied request: {message}"


@pytest.mark.parametrize(
    ("expression", "is_allowed"),
    [
        ("object.metadata.name == 'a'", True),
        ("object.metadata.name != 'a'", False),
        ("oldObject == null && !has(object.data)", True),
        ("request.operation == 'CREATE' && request.resource.resource == 'configmaps'", True),
        ("namespaceObject.metadata.name == 'default' && namespaceObject.status.phase == 'Active'", True),
        ("namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == request.namespace", True),
        ("namespaceObject.metadata.creationTimestamp > timestamp('2020-01-01T00:00:00Z')", True),
        ("authorizer.requestResource.check('delete').allowed()", True),
        ("authorizer.serviceAccount('default', 'x').group('').resource('pods').check('get').allowed()", True),
        ("variables.name == 'a' && variables.both == ['a', 'b'] && variables.twice == 4", True),
        ("variables.unused == 1 || true", True),
    ],
)
async def test_an_expression_sees_the_request(policies, expression, is_allowed):
    variables = [
        {"name": "name", "expression": "string(object.metadata.name)"},
        {"name": "both", "expression": "[variables.name, 'b']"},
        {"name": "twice", "expression": "size(variables.both) * 2"},
        {"name": "unused", "expression": "object.data.size()"},
    ]
    await policies.bound(expression, variables=variables)
    reply = await policies.create()
    if is_allowed:
        assert reply.code == 201, reply.text
    else:
        assert (reply.code, reply.message) == (422, denied(f"failed expression: {expression}"))


@pytest.mark.parametrize(
    ("validation", "code", "reason", "message"),
    [
        ({}, 422, "Invalid", "failed expression: object.metadata.name != 'a'"),
        ({"message": " no a "}, 422, "Invalid", "no a"),
        ({"reason": "Forbidden"}, 403, "Forbidden", "failed expression: object.metadata.name != 'a'"),
        ({"reason": "RequestEntityTooLarge", "message": "big"}, 413, "RequestEntityTooLarge", "big"),
        ({"message": "m", "messageExpression": "'no ' + variables.n"}, 422, "Invalid", "no a"),
        ({"message": "m", "messageExpression": "' '"}, 422, "Invalid", "m"),
        ({"message": "m", "messageExpression": "'two\\nlines'"}, 422, "Invalid", "m"),
        ({"message": "m", "messageExpression": "string(object.data.x)"}, 422, "Invalid", "m"),
    ],
)
async def test_a_denial_has_the_code_and_message_of_its_validation(policies, validation, code, reason, message):
    validation = {"expression": "object.metadata.name != 'a'"} | validation
    variables = [{"name": "n", "expression": "string(object.metadata.name)"}]
    await policies.bound(validations=[validation], variables=variables)
    reply = await policies.create()
    assert (reply.code, reply.json["reason"], reply.message) == (code, reason, denied(message))
    cause = {"message": f"ValidatingAdmissionPolicy 'p' with binding 'b' denied request: {message}"}
    assert reply.json["details"] == {"name": "a", "kind": "configmaps", "causes": [cause]}
    assert (await policies.create("b")).code == 201


FAILS = "object.data.x == '1'"
ERROR = f"expression '{FAILS}' resulted in error: no such key: data"


async def test_a_validation_that_fails_denies_or_is_ignored(policies):
    await policies.bound(FAILS)
    reply = await policies.create()
    assert (reply.code, reply.message) == (422, denied(ERROR))
    assert (await policies.api.patch(f"{POLICIES}/p", {"spec": {"failurePolicy": "Ignore"}})).code == 200
    assert (await policies.create()).code == 201
    for action in ("deny", "allow"):
        labels = f'enforcement_action="{action}",error_type="invalid_error",policy="p",policy_binding="b"'
        assert await policies.api.metrics("apiserver_validating_admission_policy_check_total", labels) == 1, labels


async def test_a_variable_that_fails_says_which_it_is(policies):
    await policies.bound("variables.x == '1'", variables=[{"name": "x", "expression": "object.data.x"}])
    why = 'composited variable "x" fails to evaluate: no such key: data'
    reply = await policies.create()
    assert reply.message == denied(f"expression 'variables.x == '1'' resulted in error: {why}")


@pytest.mark.parametrize(("condition", "is_allowed"), [("true", False), ("object.metadata.name == 'b'", True)])
async def test_match_conditions_leave_requests_out(policies, condition, is_allowed):
    await policies.bound("false", matchConditions=[{"name": "c", "expression": condition}])
    assert (await policies.create()).code == (201 if is_allowed else 422)


async def test_a_match_condition_that_fails_denies(policies):
    await policies.bound("true", matchConditions=[{"name": "c", "expression": FAILS}])
    assert (await policies.create()).message == denied(ERROR)


async def test_an_annotation_that_fails_denies_whatever_the_binding_says(policies):
    await policies.policy(auditAnnotations=[{"key": "k", "valueExpression": "string(object.data.x)"}])
    await policies.bind(validationActions=["Audit"])
    reply = await policies.create()
    assert reply.message == denied("expression 'string(object.data.x)' resulted in error: no such key: data")
    assert (await policies.create(data={"x": "1"})).code == 201


async def test_all_validations_together_have_a_budget(policies):
    loop = "object.data.x.split('').all(a, object.data.x.split('').all(b, a == b))"
    await policies.bound(*[loop] * 40)
    reply = await policies.create(data={"x": "x" * 250})
    assert reply.message == denied(
        "validation failed due to running out of cost budget, no further validation rules will be run"
    )


async def test_updates_and_deletions_are_validated(policies):
    await policies.bound("request.operation == 'CREATE' || (oldObject.metadata.name == 'a' && object == null)")
    assert (await policies.create()).code == 201
    assert (await policies.api.patch(f"{MAPS}/a", {"data": {"x": "1"}})).code == 422
    assert (await policies.api.delete(f"{MAPS}/a")).code == 200


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        (
            {"validations": [{"expression": "object."}]},
            (
                'spec.validations[0].expression: Invalid value: "object.": compilation failed: ERROR: <input>:1:8: '
                "Syntax error: no viable alternative at input '.'\n | object.\n | .......^"
            ),
        ),
        (
            {"validations": [{"expression": "1"}]},
            'spec.validations[0].expression: Invalid value: "1": must evaluate to bool but got int',
        ),
        (
            {"validations": [{"expression": "true", "messageExpression": "1"}]},
            'spec.validations[0].messageExpression: Invalid value: "1": must evaluate to string but got int',
        ),
        (
            {"auditAnnotations": [{"key": "k", "valueExpression": "1"}]},
            (
                'spec.auditAnnotations[0].valueExpression: Invalid value: "1": '
                "must evaluate to one of [string null_type] but got int"
            ),
        ),
        (
            {"validations": [{"expression": "params.x == 1"}]},
            (
                'spec.validations[0].expression: Invalid value: "params.x == 1": compilation failed: ERROR: '
                "<input>:1:1: undeclared reference to 'params' (in container '')\n | params.x == 1\n | ^"
            ),
        ),
        (
            {
                "variables": [{"name": "x", "expression": "1"}],
                "validations": [{"expression": "variables.x == 'a'"}],
            },
            (
                "spec.validations[0].expression: Invalid value: \"variables.x == 'a'\": compilation failed: ERROR: "
                "<input>:1:13: found no matching overload for '_==_' applied to '(int, string)'\n"
                " | variables.x == 'a'\n | ............^"
            ),
        ),
        (
            {"validations": [{"expression": "true"}], "matchConditions": [{"name": "c", "expression": "1"}]},
            'spec.matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int',
        ),
    ],
)
async def test_an_expression_that_cannot_be_compiled_is_refused(policies, spec, errors):
    reply = await policies.policy(**spec)
    assert (reply.code, reply.message) == (
        422,
        f'ValidatingAdmissionPolicy.admissionregistration.k8s.io "p" is invalid: {errors}',
    )
