"""Impersonation by roles: the sender's permission to act as somebody, then that user's own."""

import aiohttp
import pytest

from apiserver.config import Config

PODS = "/api/v1/namespaces/default/pods"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ACT_AS_BOB = {"apiGroups": [""], "resources": ["users"], "resourceNames": ["bob"], "verbs": ["impersonate"]}
LIST_AS_BOB = (
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["impersonate-on:user-info:list"]},
    {
        "apiGroups": ["authentication.k8s.io"],
        "resources": ["users"],
        "resourceNames": ["bob"],
        "verbs": ["impersonate:user-info"],
    },
)


async def allow(api, user: str, *rules) -> None:
    name = f"of-{user}"
    await api.post(f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]
    body = {"metadata": {"name": name}, "roleRef": reference, "subjects": subjects}
    assert (await api.post(f"{RBAC}/clusterrolebindings", body)).code == 201


async def as_jane(api, method: str, path: str, body=None, **headers: str):
    """Return the code and the body of an answer to jane, who sends these headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    token = {"Authorization": "Bearer of-jane"}
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, api.url + path, json=body, headers=token | named) as response,
    ):
        return response.status, await response.json()


@pytest.fixture
async def api(opened):
    async with opened(Config(authorization_modes=("RBAC",))) as api:
        await allow(api, "bob", {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]})
        yield api


async def test_who_may_act_as_bob_may_do_what_bob_may(api) -> None:
    await allow(api, "jane", ACT_AS_BOB)
    assert (await as_jane(api, "GET", PODS))[0] == 403
    assert (await as_jane(api, "GET", PODS, Impersonate_User="bob"))[0] == 200
    code, answer = await as_jane(api, "POST", PODS, {}, Impersonate_User="bob")
    assert (code, answer["message"]) == (
        403,
        'pods is forbidden: User "bob" cannot create resource "pods" in API group "" in the namespace "default"',
    )
    _, review = await as_jane(api, "POST", WHOAMI, {}, Impersonate_User="bob")
    assert review["status"]["userInfo"] == {"username": "bob", "groups": ["system:authenticated"]}
    assert (await as_jane(api, "GET", PODS, Impersonate_User="bob", Impersonate_Group="g"))[0] == 403


async def test_a_mode_allows_to_act_as_bob_for_one_verb(api) -> None:
    await allow(api, "jane", *LIST_AS_BOB)
    assert (await as_jane(api, "GET", PODS, Impersonate_User="bob"))[0] == 200
    code, answer = await as_jane(api, "GET", f"{PODS}/a", Impersonate_User="bob")
    assert (code, answer["message"]) == (
        403,
        (
            'pods "a" is forbidden: User "jane" cannot impersonate-on:user-info:get resource "pods" in API group "" in '
            'the namespace "default"'
        ),
    )


async def test_paths_are_read_as_somebody_too(api) -> None:
    assert (await as_jane(api, "GET", "/api", Impersonate_User="bob"))[1]["message"] == (
        'forbidden: User "jane" cannot impersonate-on:user-info:get path "/api"'
    )
    await allow(api, "jane", ACT_AS_BOB)
    assert (await as_jane(api, "GET", "/api", Impersonate_User="bob"))[0] == 200


async def test_older_releases_have_no_modes(opened) -> None:
    async with opened(Config(authorization_modes=("RBAC",), kubernetes_version="1.35")) as api:
        await allow(api, "bob", {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]})
        await allow(api, "jane", *LIST_AS_BOB)
        code, answer = await as_jane(api, "GET", PODS, Impersonate_User="bob")
        assert (code, answer["message"]) == (
            403,
            (
                'users "bob" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the '
                "cluster scope"
            ),
        )
        code, answer = await as_jane(api, "GET", PODS, Impersonate_Group="g")
        assert (code, answer["message"]) == (400, "requested [{Group  g    }] without impersonating a user")
