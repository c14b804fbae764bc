import base64
import json

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
