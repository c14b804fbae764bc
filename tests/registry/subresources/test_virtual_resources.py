import pytest

ACCESS = "/apis/authorization.k8s.io/v1"


@pytest.mark.parametrize(
    ("plural", "spec"),
    [
        ("selfsubjectaccessreviews", {"resourceAttributes": {"verb": "get", "resource": "pods"}}),
        ("selfsubjectaccessreviews", {"nonResourceAttributes": {"verb": "get", "path": "/"}}),
        ("subjectaccessreviews", {"user": "jane", "resourceAttributes": {"verb": "get", "resource": "pods"}}),
    ],
)
async def test_whoever_is_known_may_do_everything(client, plural, spec):
    review = await client.do(f"POST {ACCESS}/{plural}", {"spec": spec})
    assert review["status"] == {"allowed": True}
    assert review["spec"] == spec


async def test_a_list_of_rules_needs_a_namespace(client):
    status, answer = await client.ask(f"POST {ACCESS}/selfsubjectrulesreviews", {"spec": {}})
    assert (status, answer["message"]) == (400, "no namespace on request")
    review = await client.do(f"POST {ACCESS}/selfsubjectrulesreviews", {"spec": {"namespace": "n"}})
    assert review["status"]["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]


async def test_a_review_may_carry_no_metadata(client):
    body = {"metadata": {"labels": {"a": "b"}}, "spec": {"resourceAttributes": {"verb": "get"}}}
    status, answer = await client.ask(f"POST {ACCESS}/selfsubjectaccessreviews", body)
    assert status == 422
    assert answer["message"].endswith("must be empty")


LOCAL = f"POST {ACCESS.replace('/v1', '/v1/namespaces/default')}/localsubjectaccessreviews"
HERE = {"user": "jane", "resourceAttributes": {"verb": "get", "namespace": "default"}}


async def test_a_local_review_is_of_its_namespace(client):
    review = await client.do(LOCAL, {"spec": HERE})
    assert (review["metadata"]["namespace"], review["status"]) == ("default", {"allowed": True})


@pytest.mark.parametrize(
    ("body", "path", "why"),
    [
        (
            {"spec": {**HERE, "resourceAttributes": {}}},
            "spec.resourceAttributes.namespace",
            "must match metadata.namespace",
        ),
        (
            {"spec": {**HERE, "resourceAttributes": {"namespace": "other"}}},
            "spec.resourceAttributes.namespace",
            "must match metadata.namespace",
        ),
        ({"spec": {**HERE, "user": ""}}, "spec.user", "at least one of user or group must be specified"),
        (
            {"spec": {"user": "jane", "nonResourceAttributes": {"path": "/"}}},
            "spec.nonResourceAttributes",
            "disallowed on this kind of request",
        ),
        ({"metadata": {"labels": {"a": "b"}}, "spec": HERE}, "metadata", "must be empty except for namespace"),
    ],
)
async def test_a_local_review_is_refused(client, body, path, why):
    status, answer = await client.ask(LOCAL, body)
    (cause,) = answer["details"]["causes"]
    assert (status, cause["field"]) == (422, path)
    assert cause["message"].endswith(why)


@pytest.mark.parametrize(
    ("request_line", "code"),
    [
        (f"GET {ACCESS}/selfsubjectaccessreviews", 405),
        (f"DELETE {ACCESS}/selfsubjectaccessreviews", 405),
        ("GET /api/v1/namespaces/default/bindings", 405),
        ("GET /api/v1/componentstatuses/none", 404),
        ("DELETE /api/v1/componentstatuses/etcd-0", 405),
        ("GET /api/v1/componentstatuses?watch=1", 405),
    ],
)
async def test_what_is_not_stored_can_do_what_its_row_says(client, request_line, code):
    assert (await client.ask(request_line))[0] == code


async def test_component_statuses_are_listed_and_printed(client):
    listed = await client.do("GET /api/v1/componentstatuses")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["etcd-0"]
    one = await client.do("GET /api/v1/componentstatuses/etcd-0")
    assert one["conditions"][0]["type"] == "Healthy"
    headers = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    table = await client.do("GET /api/v1/componentstatuses", headers=headers)
    assert table["rows"][0]["cells"] == ["etcd-0", "Healthy", "ok", ""]


WHOAMI = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.mark.parametrize(
    ("headers", "user"),
    [
        ({}, {"username": "admin", "uid": "1", "groups": ["system:masters", "system:authenticated"]}),
        ({"Impersonate-User": "jane"}, {"username": "jane", "groups": ["system:authenticated"]}),
        (
            {"Impersonate-User": "jane", "Impersonate-Group": "a", "Impersonate-Extra-x%2Fy": "z"},
            {"username": "jane", "groups": ["a", "system:authenticated"], "extra": {"x/y": ["z"]}},
        ),
        (
            {"Impersonate-User": "system:serviceaccount:n:a"},
            {
                "username": "system:serviceaccount:n:a",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"],
            },
        ),
    ],
)
async def test_a_review_tells_who_one_is_or_acts_as(client, headers, user):
    assert (await client.do(WHOAMI, {}, headers))["status"] == {"userInfo": user}
