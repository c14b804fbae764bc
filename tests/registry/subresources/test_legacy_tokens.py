"""Tokens in Secrets, as the controller manager makes them."""

import base64
from datetime import UTC, datetime

import aiohttp
import pytest

from apiserver.app import serving
from apiserver.component_base.signing import SigningKey
from apiserver.config import Config, check

WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = "/apis/authentication.k8s.io/v1/tokenreviews"
NAMESPACE = "/api/v1/namespaces/default"
LAST_USED = "kubernetes.io/legacy-token-last-used"
GENERATED = (
    '299 - "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated '
    'secret-based tokens."'
)


class Stage:
    """A server, and a service account whose token is in a Secret."""

    def __init__(self, session, admin, key):
        self._session, self._admin, self._key = session, admin, key
        self.token = ""

    async def ask(self, method, path, body=None, *, token=""):
        headers = {"Authorization": f"Bearer {token or self._admin}"}
        async with self._session.request(method, path, json=body, headers=headers) as answer:
            return answer.status, await answer.json(), answer.headers

    async def do(self, method, path, body=None):
        status, answer, _ = await self.ask(method, path, body)
        assert status < 400, answer
        return answer

    async def sign(self, **changed):
        """Make the account and the Secret with a token of these claims."""
        account = await self.do("POST", f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "a"}})
        prefix = "kubernetes.io/serviceaccount/"
        claims = {
            "iss": "kubernetes/serviceaccount",
            f"{prefix}namespace": "default",
            f"{prefix}secret.name": "s",
            f"{prefix}service-account.name": "a",
            f"{prefix}service-account.uid": account["metadata"]["uid"],
            "sub": "system:serviceaccount:default:a",
        }
        self.token = self._key.sign(claims | changed)
        meta = {"name": "s", "annotations": {"kubernetes.io/service-account.name": "a"}}
        data = {"token": base64.b64encode(self.token.encode()).decode()}
        secret = {"metadata": meta, "type": "kubernetes.io/service-account-token", "data": data}
        await self.do("POST", f"{NAMESPACE}/secrets", secret)
        return account

    async def whoami(self):
        return await self.ask("POST", WHOAMI, {}, token=self.token)

    async def error(self):
        review = await self.do("POST", REVIEW, {"spec": {"token": self.token}})
        return review["status"].get("error")


@pytest.fixture
async def stage(tmp_path):
    tokens, key_file = tmp_path / "tokens.csv", tmp_path / "sa.key"
    tokens.write_text('admin,admin,1,"system:masters"\n')
    config = check(Config(secure_port=0, token_auth_file=tokens, service_account_key_file=key_file))
    key = SigningKey.load(key_file)
    async with serving(config) as running, aiohttp.ClientSession(running.url) as session:
        yield Stage(session, "admin", key)


async def test_the_token_in_a_secret_is_its_accounts(stage):
    account = await stage.sign()
    code, review, headers = await stage.whoami()
    assert (code, "Warning" in headers) == (201, False)
    assert review["status"]["userInfo"] == {
        "username": "system:serviceaccount:default:a",
        "uid": account["metadata"]["uid"],
        "groups": ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    }


async def test_the_secret_is_labelled_with_the_day_of_its_tokens_last_use(stage):
    await stage.sign()
    before = datetime.now(UTC)
    await stage.whoami()
    while LAST_USED not in (
        (secret := await stage.do("GET", f"{NAMESPACE}/secrets/s"))["metadata"].get("labels") or {}
    ):
        pass
    days = {f"{moment:%Y-%m-%d}" for moment in (before, datetime.now(UTC))}
    assert secret["metadata"]["labels"][LAST_USED] in days
    await stage.whoami()
    assert (await stage.do("GET", f"{NAMESPACE}/secrets/s"))["metadata"] == secret["metadata"]


async def test_a_token_that_the_account_names_brings_a_warning(stage):
    account = await stage.sign()
    await stage.do("PUT", f"{NAMESPACE}/serviceaccounts/a", account | {"secrets": [{"name": "s"}]})
    assert (await stage.whoami())[2]["Warning"] == GENERATED
    _, _, headers = await stage.ask("POST", REVIEW, {"spec": {"token": stage.token}})
    assert headers["Warning"] == GENERATED


async def test_a_token_goes_with_its_secret_and_its_account(stage):
    await stage.sign()
    await stage.do("DELETE", f"{NAMESPACE}/serviceaccounts/a")
    assert await stage.error() == '[invalid bearer token, serviceaccounts "a" not found]'
    await stage.do("DELETE", f"{NAMESPACE}/secrets/s")
    assert (await stage.whoami())[0] == 401
    assert await stage.error() == "[invalid bearer token, service account token has been invalidated]"


async def test_a_token_is_good_as_long_as_the_secret_holds_it(stage):
    await stage.sign()
    secret = await stage.do("GET", f"{NAMESPACE}/secrets/s")
    await stage.do("PUT", f"{NAMESPACE}/secrets/s", secret | {"data": {"token": "eA=="}})
    assert await stage.error() == "[invalid bearer token, service account token does not match server's copy]"


async def test_a_token_that_is_marked_invalid_is_none_but_counts_as_used(stage):
    await stage.sign()
    secret = await stage.do("GET", f"{NAMESPACE}/secrets/s")
    label = {"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}
    await stage.do("PUT", f"{NAMESPACE}/secrets/s", secret | {"metadata": secret["metadata"] | {"labels": label}})
    assert await stage.error() == (
        "[invalid bearer token, the token in secret default/s for service account default/a has been marked invalid. "
        "Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the "
        "'kubernetes.io/legacy-token-invalid-since' label from the secret to temporarily allow use of this token]"
    )


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"sub": ""}, "sub claim is missing"),
        ({"sub": "system:serviceaccount:default:b"}, "sub claim is invalid"),
        ({"kubernetes.io/serviceaccount/secret.name": ""}, "secretName claim is missing"),
        ({"kubernetes.io/serviceaccount/service-account.uid": ""}, "serviceAccountUID claim is missing"),
    ],
)
async def test_a_token_has_all_claims(stage, changed, why):
    await stage.sign(**changed)
    assert await stage.error() == f"[invalid bearer token, {why}]"


async def test_the_cluster_says_since_when_uses_are_noted(stage):
    name = "kube-apiserver-legacy-service-account-token-tracking"
    config = await stage.do("GET", f"/api/v1/namespaces/kube-system/configmaps/{name}")
    assert config["data"] == {"since": config["metadata"]["creationTimestamp"][:10]}
