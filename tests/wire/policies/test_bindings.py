"""Bindings: their actions, the requests that they are for, and the parameters that they choose."""

import pytest

NAMESPACES = "/api/v1/namespaces"
MAPS = f"{NAMESPACES}/default/configmaps"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap"}
RULE = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}


def denied(message, policy="p", binding=" with binding 'b'"):
    return f"configmaps \"a\" is forbidden: ValidatingAdmissionPolicy '{policy}'{binding} denied request: {message}"


async def test_a_policy_without_a_binding_does_nothing(policies):
    await policies.policy(validations=[{"expression": "false"}])
    assert (await policies.create()).code == 201
    await policies.bind(policy="absent")
    assert (await policies.create("b")).code == 201
    await policies.bind("c")
    assert (await policies.create("c")).code == 422
    await policies.api.delete(f"{REGISTRATION}/validatingadmissionpolicybindings/c")
    assert (await policies.create("c")).code == 201


async def test_a_binding_may_warn(policies):
    await policies.policy(validations=[{"expression": "false", "message": "not so good"}])
    await policies.bind(validationActions=["Warn", "Audit"])
    reply = await policies.create()
    assert reply.code == 201
    warning = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': not so good"
    assert reply.headers["Warning"] == f'299 - "{warning}"'


async def test_the_first_by_name_gives_the_message(policies):
    for name in ("z", "y"):
        await policies.policy(name, validations=[{"expression": "false", "message": f"says {name}"}])
        await policies.bind(f"of-{name}", name)
    assert (await policies.create()).message == denied("says y", "y", " with binding 'of-y'")


@pytest.mark.parametrize(
    ("resources", "is_allowed"),
    [
        ({}, False),
        ({"resourceRules": [RULE]}, False),
        ({"resourceRules": [RULE | {"resources": ["secrets"]}]}, True),
        ({"resourceRules": [RULE | {"resourceNames": ["b"]}]}, True),
        ({"resourceRules": [RULE], "excludeResourceRules": [RULE | {"resourceNames": ["a"]}]}, True),
        ({"excludeResourceRules": [RULE | {"operations": ["DELETE"]}]}, False),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}, False),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}, True),
        ({"objectSelector": {"matchLabels": {"app": "a"}}}, False),
        ({"objectSelector": {"matchLabels": {"app": "b"}}}, True),
    ],
)
async def test_a_binding_narrows_the_requests_of_its_policy(policies, resources, is_allowed):
    await policies.policy(validations=[{"expression": "false"}])
    await policies.bind(matchResources=resources)
    reply = await policies.api.post(MAPS, {"metadata": {"name": "a", "labels": {"app": "a"}}})
    assert reply.code == (201 if is_allowed else 422), reply.text


async def test_policies_are_exempt_and_so_are_reviews(policies):
    await policies.bound("false", matchConstraints={"resourceRules": [RULE]})
    assert (await policies.create()).code == 422
    assert (await policies.policy("q", validations=[{"expression": "true"}])).code == 201
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    assert (await policies.api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)).code == 201
    webhooks = {"metadata": {"name": "w"}, "webhooks": []}
    assert (await policies.api.post(f"{REGISTRATION}/validatingwebhookconfigurations", webhooks)).code == 422


async def test_an_equivalent_version_is_converted(policies):
    rule = {"operations": ["*"], "apiGroups": ["autoscaling"], "apiVersions": ["v1"]}
    constraints = {"resourceRules": [rule | {"resources": ["horizontalpodautoscalers"]}]}
    expression = "object.apiVersion == 'autoscaling/v1' && object.spec.targetCPUUtilizationPercentage == 50"
    await policies.bound(f"!({expression})", matchConstraints=constraints)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
    scaler = {"metadata": {"name": "a"}, "spec": {"scaleTargetRef": target, "maxReplicas": 2, "metrics": [cpu]}}
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    assert (await policies.api.post(path, scaler)).code == 422
    assert (await policies.api.patch(f"{REGISTRATION}/validatingadmissionpolicies/p", exact())).code == 200
    assert (await policies.api.post(path, scaler)).code == 201


def exact():
    return {"spec": {"matchConstraints": {"matchPolicy": "Exact"}}}


VALIDATION = {"expression": "params == null || object.metadata.name != params.data.name"}


class TestParameters:
    """A policy whose limit is in a ConfigMap."""

    @pytest.fixture
    async def limited(self, policies):
        for name in ("one", "two"):
            body = {"metadata": {"name": name, "labels": {"set": "s"}}, "data": {"name": name}}
            assert (await policies.api.post(MAPS, body)).code == 201
        await policies.policy(paramKind=CONFIG_MAP, validations=[VALIDATION | {"message": "that name"}])
        return policies

    @pytest.mark.parametrize(
        ("reference", "refused"),
        [
            (None, []),
            ({"name": "one"}, ["one"]),
            ({"name": "one", "namespace": "default"}, ["one"]),
            ({"selector": {}}, ["one", "two"]),
            ({"selector": {"matchLabels": {"set": "s"}}}, ["one", "two"]),
            ({"selector": {"matchLabels": {"set": "t"}}}, []),
            ({"name": "absent"}, []),
            ({"name": "one", "namespace": "kube-system"}, []),
        ],
    )
    async def test_parameters_are_chosen_by_name_or_selector(self, limited, reference, refused):
        reference = reference and reference | {"parameterNotFoundAction": "Allow"}
        await limited.bind(**({"paramRef": reference} if reference else {}))
        outcomes = {
            name: (await limited.api.patch(f"{MAPS}/{name}", {"data": {"x": "1"}})).code for name in ("one", "two")
        }
        assert outcomes == {name: 422 if name in refused else 200 for name in ("one", "two")}

    async def test_none_may_be_denied(self, limited):
        await limited.bind(paramRef={"name": "absent", "parameterNotFoundAction": "Deny"})
        why = "no params found for policy binding with `Deny` parameterNotFoundAction"
        assert (await limited.create()).message == denied(f"failed to configure binding: {why}")

    async def test_cluster_scoped_requests_need_a_namespace(self, limited):
        constraints = {"resourceRules": [RULE | {"resources": ["priorityclasses"]}]}
        await limited.policy("q", paramKind=CONFIG_MAP, matchConstraints=constraints, validations=[VALIDATION])
        await limited.bind(policy="q", paramRef={"name": "one", "parameterNotFoundAction": "Allow"})
        reply = await limited.api.post(
            "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "a"}, "value": 1}
        )
        why = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        assert reply.message.endswith(f"with binding 'b' denied request: failed to configure binding: {why}")

    async def test_a_kind_that_is_not_served_is_an_error(self, policies):
        kind = {"apiVersion": "example.com/v1", "kind": "Limit"}
        await policies.bound("true", paramKind=kind)
        why = "failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'"
        assert (await policies.create()).message == denied(f"failed to configure policy: {why}", binding="")
        ignoring = {"spec": {"failurePolicy": "Ignore"}}
        await policies.api.patch(f"{REGISTRATION}/validatingadmissionpolicies/p", ignoring)
        assert (await policies.create()).code == 201
