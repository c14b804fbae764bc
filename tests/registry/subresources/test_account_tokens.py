import base64
import json

import jwt
import pytest

from apiserver.api.meta import Obj

ACCOUNT = "/serviceaccounts/a"
REVIEW = "POST /apis/authentication.k8s.io/v1/tokenreviews"
WHOAMI = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.fixture
async def account(client, namespace: str) -> str:
    await client.do(f"POST {namespace}/serviceaccounts", {"metadata": {"name": "a"}})
    return namespace


async def token(client, path, **spec) -> str:
    answer = await client.do(f"POST {path}{ACCOUNT}/token", {"spec": spec})
    text: str = answer["status"]["token"]
    return text


def claims(text: str):
    part = text.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


async def whoami(client, text) -> tuple[int, Obj]:
    code, answer = await client.ask(WHOAMI, {}, {"Authorization": f"Bearer {text}"})
    return code, answer


async def test_a_token_is_its_accounts(client, account):
    status, review = await whoami(client, await token(client, account))
    assert status == 201
    user = review["status"]["userInfo"]
    assert user["username"] == "system:serviceaccount:n:a"
    assert user["groups"] == ["system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"]


async def test_a_token_dies_with_its_account(client, account):
    text = await token(client, account)
    await client.do(f"DELETE {account}{ACCOUNT}")
    await client.do(f"POST {account}/serviceaccounts", {"metadata": {"name": "a"}})
    assert (await whoami(client, text))[0] == 401


async def test_a_token_dies_with_the_pod_that_it_is_bound_to(client, account):
    spec = {"serviceAccountName": "a", "containers": [{"name": "c", "image": "i"}]}
    await client.do(f"POST {account}/pods", {"metadata": {"name": "p"}, "spec": spec})
    text = await token(client, account, boundObjectRef={"apiVersion": "v1", "kind": "Pod", "name": "p"})
    status, review = await whoami(client, text)
    assert review["status"]["userInfo"]["extra"]["authentication.kubernetes.io/pod-name"] == ["p"]
    await client.do(f"DELETE {account}/pods/p")
    assert (status, (await whoami(client, text))[0]) == (201, 401)


async def test_a_token_for_others_is_no_good_here(client, account):
    text = await token(client, account, audiences=["them"])
    assert (await whoami(client, text))[0] == 401
    review = await client.do(REVIEW, {"spec": {"token": text, "audiences": ["them", "us"]}})
    assert review["status"]["authenticated"]
    assert review["status"]["audiences"] == ["them"]


async def test_a_token_that_was_tampered_with_is_no_good(client, account):
    head, body, signature = (await token(client, account)).split(".")
    forged = claims(f".{body}.") | {"exp": 1 << 40}
    text = base64.urlsafe_b64encode(json.dumps(forged).encode()).rstrip(b"=").decode()
    assert (await whoami(client, f"{head}.{text}.{signature}"))[0] == 401


@pytest.mark.parametrize("text", ["a.b.c", "..", "é.é.é", "e30.e30.e30", "W10.W10.W10"])
async def test_what_is_no_token_is_nobodys(client, text):
    review = await client.do(REVIEW, {"spec": {"token": text}})
    assert review["status"] == {"user": {}, "error": "invalid bearer token"}


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        ({"expirationSeconds": 599}, 422, "may not specify a duration less than 10 minutes"),
        ({"expirationSeconds": (1 << 32) + 1}, 422, "may not specify a duration larger than 2^32 seconds"),
        ({"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "x"}}, 404, 'pods "x" not found'),
        ({"boundObjectRef": {"apiVersion": "v1", "kind": "Node", "name": "x"}}, 404, 'nodes "x" not found'),
        (
            {"boundObjectRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}},
            400,
            "cannot bind token to object of type apps/v1, Kind=Deployment",
        ),
    ],
)
async def test_requests_for_tokens_are_checked(client, account, spec, code, message):
    status, answer = await client.ask(f"POST {account}{ACCOUNT}/token", {"spec": spec})
    assert status == code
    assert answer["message"].endswith(message)


async def test_a_token_ends_when_it_says(client, account):
    answer = await client.do(f"POST {account}{ACCOUNT}/token", {"spec": {"expirationSeconds": 7200}})
    payload = claims(answer["status"]["token"])
    assert payload["exp"] - payload["iat"] == 7200
    assert payload["aud"] == answer["spec"]["audiences"] == ["https://kubernetes.default.svc.cluster.local"]


async def test_others_can_check_tokens_by_the_published_key(client, account):
    text = await token(client, account)
    head = json.loads(base64.urlsafe_b64decode(text.split(".")[0] + "=="))
    keys = await client.do("GET /openid/v1/jwks")
    about = await client.do("GET /.well-known/openid-configuration")
    assert [(key["kid"], key["alg"]) for key in keys["keys"]] == [(head["kid"], head["alg"])]
    assert about["issuer"] == claims(text)["iss"]


async def error_of(client, text: str, **spec) -> str:
    review = await client.do(REVIEW, {"spec": {"token": text} | spec})
    assert "authenticated" not in review["status"]
    error: str = review["status"]["error"]
    return error


async def test_a_review_says_why_a_token_is_invalid(client, account):
    text = await token(client, account, audiences=["them"])
    us = "https://kubernetes.default.svc.cluster.local"
    why = f'token audiences ["them"] is invalid for the target audiences ["{us}"]'
    assert await error_of(client, text) == f"[invalid bearer token, {why}]"
    uid = (await client.do(f"GET {account}{ACCOUNT}"))["metadata"]["uid"]
    text = await token(client, account)
    await client.do(f"DELETE {account}{ACCOUNT}")
    assert await error_of(client, text) == '[invalid bearer token, serviceaccounts "a" not found]'
    later = await client.do(f"POST {account}/serviceaccounts", {"metadata": {"name": "a"}})
    why = f"service account UID ({later['metadata']['uid']}) does not match claim ({uid})"
    assert await error_of(client, text) == f"[invalid bearer token, {why}]"


async def test_a_review_says_that_the_bound_object_has_gone_or_is_another(client, account):
    await client.do(f"POST {account}/secrets", {"metadata": {"name": "s"}})
    text = await token(client, account, boundObjectRef={"apiVersion": "v1", "kind": "Secret", "name": "s"})
    uid = claims(text)["kubernetes.io"]["secret"]["uid"]
    await client.do(f"DELETE {account}/secrets/s")
    assert await error_of(client, text) == "[invalid bearer token, service account token has been invalidated]"
    later = await client.do(f"POST {account}/secrets", {"metadata": {"name": "s"}})
    why = f"secret UID ({later['metadata']['uid']}) does not match service account secret ref claim ({uid})"
    assert await error_of(client, text) == f"[invalid bearer token, {why}]"


async def test_a_token_that_somebody_else_signed_is_named_so(client, account):
    head, body, signature = (await token(client, account)).split(".")
    why = "go-jose/go-jose: error in cryptographic primitive"
    assert await error_of(client, f"{head}.{body}.{signature[::-1]}") == f"[invalid bearer token, {why}]"


async def test_a_pods_token_names_its_node(client, account):
    node = await client.do("POST /api/v1/nodes", {"metadata": {"name": "w"}})
    spec = {"serviceAccountName": "a", "nodeName": "w", "containers": [{"name": "c", "image": "i"}]}
    pod = await client.do(f"POST {account}/pods", {"metadata": {"name": "p"}, "spec": spec})
    text = await token(client, account, boundObjectRef={"apiVersion": "v1", "kind": "Pod", "name": "p"})
    _, review = await whoami(client, text)
    assert review["status"]["userInfo"]["extra"] == {
        "authentication.kubernetes.io/credential-id": [f"JTI={claims(text)['jti']}"],
        "authentication.kubernetes.io/pod-name": ["p"],
        "authentication.kubernetes.io/pod-uid": [pod["metadata"]["uid"]],
        "authentication.kubernetes.io/node-name": ["w"],
        "authentication.kubernetes.io/node-uid": [node["metadata"]["uid"]],
    }


async def test_a_token_bound_to_a_node_dies_with_it(client, account):
    await client.do("POST /api/v1/nodes", {"metadata": {"name": "w"}})
    text = await token(client, account, boundObjectRef={"apiVersion": "v1", "kind": "Node", "name": "w"})
    assert (await whoami(client, text))[1]["status"]["userInfo"]["extra"]["authentication.kubernetes.io/node-name"] == [
        "w"
    ]
    await client.do("DELETE /api/v1/nodes/w")
    assert (await whoami(client, text))[0] == 401


async def test_a_pods_token_of_an_hour_lasts_a_year_and_says_when_to_warn(client, account):
    spec = {"serviceAccountName": "a", "containers": [{"name": "c", "image": "i"}]}
    await client.do(f"POST {account}/pods", {"metadata": {"name": "p"}, "spec": spec})
    bound = {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p"}}
    payload = claims(await token(client, account, expirationSeconds=3607, **bound))
    assert payload["exp"] - payload["iat"] == 365 * 24 * 3600
    assert payload["kubernetes.io"]["warnafter"] - payload["iat"] == 3607
    for other in ({"expirationSeconds": 3607}, {"expirationSeconds": 3607, "audiences": ["them"]} | bound):
        payload = claims(await token(client, account, **other))
        assert payload["exp"] - payload["iat"] == 3607
        assert "warnafter" not in payload["kubernetes.io"]


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (
            {"metadata": {"name": "b", "namespace": "m"}},
            422,
            (
                'TokenRequest.authentication.k8s.io "a" is invalid: metadata.name: Invalid value: "b": '
                "must match the service account name if specified"
            ),
        ),
        (
            {"spec": {"boundObjectRef": {"kind": "ConfigMap", "name": "x"}}},
            400,
            "cannot bind token to object of type /, Kind=ConfigMap",
        ),
        (
            {"spec": {"boundObjectRef": {"kind": "Pod", "name": "p"}}},
            400,
            'cannot bind token for serviceaccount "a" to pod running with different serviceaccount name.',
        ),
        (
            {"spec": {"boundObjectRef": {"kind": "Secret", "name": "s", "uid": "u"}}},
            409,
            (
                'Operation cannot be fulfilled on Secret "s": the UID in the bound object reference (u) does not match '
                "the UID in record. The object might have been deleted and then recreated"
            ),
        ),
    ],
)
async def test_a_request_names_objects_that_fit(client, account, body, code, message):
    await client.do(f"POST {account}/secrets", {"metadata": {"name": "s"}})
    await client.do(
        f"POST {account}/pods", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    )
    status, answer = await client.ask(f"POST {account}{ACCOUNT}/token", body)
    assert (status, answer["message"]) == (code, message)


async def test_pyjwt_verifies_tokens_with_nothing_but_the_published_documents(client, account):
    text = await token(client, account, audiences=["them"])
    about = await client.do("GET /.well-known/openid-configuration")
    keys = jwt.PyJWKSet.from_dict(await client.do("GET /openid/v1/jwks"))
    key = keys[jwt.get_unverified_header(text)["kid"]]
    algorithms = about["id_token_signing_alg_values_supported"]
    payload = jwt.decode(text, key, algorithms, audience="them", issuer=about["issuer"])
    assert payload["sub"] == "system:serviceaccount:n:a"
    with pytest.raises(jwt.InvalidAudienceError):
        jwt.decode(text, key, algorithms, audience="us", issuer=about["issuer"])


@pytest.mark.parametrize(
    ("release", "why"),
    [
        ("1.28", "cannot bind token to object of type /v1, Kind=Node"),
        ("1.29", 'cannot bind token to a Node object as the "ServiceAccountTokenNodeBinding" feature-gate is disabled'),
    ],
)
async def test_tokens_of_older_releases_name_no_nodes(client_of, release, why):
    async with client_of(release) as client:
        path = "/api/v1/namespaces/default"
        await client.do(f"POST {path}/serviceaccounts", {"metadata": {"name": "a"}})
        bound = {"apiVersion": "v1", "kind": "Node", "name": "w"}
        answer = await client.ask(f"POST {path}{ACCOUNT}/token", {"spec": {"boundObjectRef": bound}})
        assert (answer[0], answer[1]["message"]) == (400, why)
        assert "jti" not in claims(await token(client, path))
