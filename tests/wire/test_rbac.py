"""wire.md, section 6.2: RBAC decides, explains, and lets nobody grant more than they have."""

from contextlib import asynccontextmanager

import aiohttp
import pytest

from apiserver.config import Config, ConfigError, check, from_arguments

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES = f"{RBAC}/namespaces/default/roles"
BINDINGS = f"{RBAC}/namespaces/default/rolebindings"
PODS = "/api/v1/namespaces/default/pods"
READ_PODS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}


@pytest.fixture
async def api(opened):
    async with opened(Config(authorization_modes=("RBAC",))) as running_api:
        yield running_api


def subject(kind: str, name: str, **more: str):
    return {"kind": kind, "name": name, **more}


async def make(api, path: str, name: str, **fields):
    reply = await api.post(path, {"metadata": {"name": name}, **fields})
    assert reply.code == 201, reply.text
    return reply


async def bind(api, path: str, name: str, role: str, *subjects):
    kind, _, role_name = role.partition("/")
    return await make(api, path, name, roleRef={"kind": kind, "name": role_name}, subjects=list(subjects))


async def as_user(api, method: str, path: str, body=None, user: str = "jane", group: str = ""):
    headers = {"Impersonate_User": user} | ({"Impersonate_Group": group} if group else {})
    return await api.ask(method, path, body, **headers)


async def may(api, path: str, *, user: str = "jane", group: str = "") -> bool:
    return bool((await as_user(api, "GET", path, user=user, group=group)).code == 200)


async def test_a_binding_counts_for_the_next_request(api) -> None:
    assert not await may(api, PODS)
    await make(api, ROLES, "reader", rules=[READ_PODS])
    await bind(api, BINDINGS, "readers", "Role/reader", subject("User", "jane"))
    assert await may(api, PODS)
    assert not await may(api, "/api/v1/pods")
    assert not await may(api, "/api/v1/namespaces/kube-system/pods")
    assert not await may(api, "/api/v1/namespaces/default/secrets")
    assert not await may(api, PODS, user="joe")
    await api.put(f"{ROLES}/reader", {"metadata": {"name": "reader"}, "rules": []})
    assert not await may(api, PODS)
    await api.put(f"{ROLES}/reader", {"metadata": {"name": "reader"}, "rules": [READ_PODS]})
    assert await may(api, PODS)
    await api.patch(f"{BINDINGS}/readers", {"subjects": [subject("User", "joe")]})
    assert not await may(api, PODS)
    assert await may(api, PODS, user="joe")
    await api.delete(f"{BINDINGS}/readers")
    assert not await may(api, PODS, user="joe")


@pytest.mark.parametrize(
    ("who", "user", "group"),
    [
        (subject("Group", "dev"), "anybody", "dev"),
        (subject("Group", "system:authenticated"), "anybody", ""),
        (subject("ServiceAccount", "robot"), "system:serviceaccount:default:robot", ""),
        (subject("ServiceAccount", "robot", namespace="other"), "system:serviceaccount:other:robot", ""),
        (subject("User", "system:serviceaccount:default:robot"), "system:serviceaccount:default:robot", ""),
        (subject("Group", "system:serviceaccounts:other"), "system:serviceaccount:other:any", ""),
    ],
)
async def test_users_groups_and_accounts_are_subjects(api, who, user: str, group: str) -> None:
    assert not await may(api, PODS, user=user, group=group)
    await bind(api, BINDINGS, "b", "ClusterRole/view", who)
    assert await may(api, PODS, user=user, group=group)


async def test_a_cluster_role_counts_where_it_is_bound(api) -> None:
    await bind(api, BINDINGS, "here", "ClusterRole/view", subject("User", "jane"))
    await bind(api, f"{RBAC}/clusterrolebindings", "everywhere", "ClusterRole/view", subject("User", "joe"))
    assert await may(api, PODS)
    assert not await may(api, "/api/v1/pods")
    assert await may(api, "/api/v1/pods", user="joe")
    assert await may(api, "/api/v1/namespaces/default")  # a namespace is in itself
    assert not await may(api, "/api/v1/namespaces/kube-system")


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        (
            "GET",
            PODS,
            'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"',
        ),
        (
            "GET",
            f"{PODS}/web/log",
            (
                'pods "web" is forbidden: User "jane" cannot get resource "pods/log" in API group "" in the namespace '
                '"default"'
            ),
        ),
        (
            "POST",
            f"{PODS}/web/eviction",
            (
                'pods "web" is forbidden: User "jane" cannot create resource "pods/eviction" in API group "" in the '
                'namespace "default"'
            ),
        ),
        (
            "DELETE",
            "/apis/apps/v1/namespaces/default/deployments",
            (
                'deployments.apps is forbidden: User "jane" cannot deletecollection resource "deployments" in API '
                'group "apps" in the namespace "default"'
            ),
        ),
        (
            "GET",
            "/api/v1/namespaces/kube-system",
            (
                'namespaces "kube-system" is forbidden: User "jane" cannot get resource "namespaces" in API group "" '
                'in the namespace "kube-system"'
            ),
        ),
        (
            "GET",
            "/api/v1/pods?watch=1&fieldSelector=metadata.name%3Dweb",
            'pods "web" is forbidden: User "jane" cannot watch resource "pods" in API group "" at the cluster scope',
        ),
        ("GET", "/metrics", 'forbidden: User "jane" cannot get path "/metrics"'),
        ("POST", "/version", 'forbidden: User "jane" cannot post path "/version"'),
    ],
)
async def test_a_refusal_says_what_is_refused(api, method: str, path: str, message: str) -> None:
    reply = await as_user(api, method, path, {} if method == "POST" else None)
    assert (reply.code, reply.json["reason"], reply.message) == (403, "Forbidden", message)


async def test_a_refusal_names_roles_that_are_bound_and_do_not_exist(api) -> None:
    await bind(api, BINDINGS, "a", "Role/none", subject("User", "jane"))
    await bind(api, f"{RBAC}/clusterrolebindings", "b", "ClusterRole/never", subject("User", "jane"))
    message = (await as_user(api, "GET", PODS)).message
    assert message.endswith(
        'in the namespace "default": RBAC: [clusterrole.rbac.authorization.k8s.io "never" not found, '
        'role.rbac.authorization.k8s.io "none" not found]'
    )


async def test_names_of_objects_limit_a_rule(api) -> None:
    rule = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"]}
    await make(api, ROLES, "one", rules=[rule])
    await bind(api, BINDINGS, "one", "Role/one", subject("User", "jane"))
    await api.make("a", "b")
    maps = "/api/v1/namespaces/default/configmaps"
    assert await may(api, f"{maps}/a")
    assert not await may(api, f"{maps}/b")
    assert not await may(api, maps)
    assert await may(api, f"{maps}?fieldSelector=metadata.name%3Da")


async def test_everybody_may_discover_and_ask_about_themselves(api) -> None:
    for path in ("/api", "/apis", "/apis/apps/v1", "/openapi/v2", "/openapi/v3", "/version", "/healthz"):
        assert await may(api, path), path
    assert not await may(api, "/metrics")
    assert not await may(api, "/")
    assert await may(api, "/metrics", group="system:monitoring")


async def test_the_anonymous_user_may_read_what_the_roles_say(api) -> None:
    @asynccontextmanager
    async def without(name: str):
        path = f"{RBAC}/clusterrolebindings/{name}"
        binding = (await api.get(path)).json
        await api.delete(path)
        yield
        binding["metadata"] = {"name": name}
        assert (await api.post(f"{RBAC}/clusterrolebindings", binding)).code == 201

    async with aiohttp.ClientSession() as session:

        async def code(path: str) -> int:
            async with session.get(api.url + path) as answer:
                return int(answer.status)

        assert [await code(path) for path in ("/healthz", "/version", "/readyz/ping", "/api")] == [200, 200, 403, 401]
        async with without("system:public-info-viewer"):
            assert await code("/healthz") == 403
        assert await code("/healthz") == 200


# Reviews.


async def review(api, spec, path: str = "/apis/authorization.k8s.io/v1/subjectaccessreviews"):
    return (await api.post(path, {"spec": spec})).json["status"]


async def test_reviews_give_the_reason(api) -> None:
    await make(api, ROLES, "reader", rules=[READ_PODS])
    await bind(api, BINDINGS, "readers", "Role/reader", subject("Group", "ops"), subject("User", "jane"))
    robot = subject("ServiceAccount", "robot")
    await bind(api, BINDINGS, "robots", "ClusterRole/view", robot)
    pods = {"verb": "get", "resource": "pods", "namespace": "default"}
    assert await review(api, {"user": "jane", "resourceAttributes": pods}) == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "readers/default" of Role "reader" to User "jane"',
    }
    assert await review(api, {"user": "jane", "groups": ["ops"], "resourceAttributes": pods}) == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "readers/default" of Role "reader" to Group "ops"',
    }
    account = {"user": "system:serviceaccount:default:robot", "resourceAttributes": pods}
    assert (await review(api, account))["reason"] == (
        'RBAC: allowed by RoleBinding "robots/default" of ClusterRole "view" to ServiceAccount "robot/default"'
    )
    path = {"groups": ["system:authenticated"], "nonResourceAttributes": {"verb": "get", "path": "/api"}}
    assert (await review(api, path))["reason"] == (
        'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group '
        '"system:authenticated"'
    )
    assert await review(api, {"user": "joe", "resourceAttributes": pods}) == {"allowed": False}
    assert await review(api, {"groups": ["system:masters"], "resourceAttributes": pods}) == {"allowed": True}


async def test_the_rules_of_a_user_are_listed(api) -> None:
    await make(api, ROLES, "reader", rules=[READ_PODS])
    await bind(api, BINDINGS, "readers", "Role/reader", subject("User", "jane"))
    await bind(api, BINDINGS, "gone", "Role/gone", subject("User", "jane"))
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    status = (await as_user(api, "POST", path, {"spec": {"namespace": "default"}})).json["status"]
    assert READ_PODS in status["resourceRules"]
    assert {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]} in (
        status["resourceRules"]
    )
    assert {url for rule in status["nonResourceRules"] for url in rule["nonResourceURLs"]} >= {"/api", "/healthz"}
    assert status["evaluationError"] == 'role.rbac.authorization.k8s.io "gone" not found'
    assert status["incomplete"] is False
    elsewhere = (await as_user(api, "POST", path, {"spec": {"namespace": "other"}})).json["status"]
    assert READ_PODS not in elsewhere["resourceRules"]


# Nobody grants more than they have.

EDIT_ROLES = {
    "verbs": ["create", "update", "patch", "get"],
    "apiGroups": ["rbac.authorization.k8s.io"],
    "resources": ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
}


@pytest.fixture
async def editor(api):
    """A server on which jane may write roles, and read pods."""
    await make(api, f"{RBAC}/clusterroles", "editor", rules=[EDIT_ROLES, READ_PODS])
    await bind(api, f"{RBAC}/clusterrolebindings", "editors", "ClusterRole/editor", subject("User", "jane"))
    return api


def role(*rules, name: str = "r"):
    return {"metadata": {"name": name}, "rules": list(rules)}


DELETE_PODS = {"verbs": ["delete", "get", "create"], "apiGroups": [""], "resources": ["pods"]}
SECRETS = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"]}
NOT_HELD = 'user "jane" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'


async def test_a_role_grants_what_its_writer_has(editor) -> None:
    assert (await as_user(editor, "POST", ROLES, role(READ_PODS))).code == 201
    refused = await as_user(editor, "POST", ROLES, role(DELETE_PODS, SECRETS, name="more"))
    assert (refused.code, refused.message) == (
        403,
        (
            f'roles.rbac.authorization.k8s.io "more" is forbidden: {NOT_HELD}'
            '{APIGroups:[""], Resources:["pods"], Verbs:["delete" "create"]}\n'
            '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get"]}'
        ),
    )
    refused = await as_user(editor, "PUT", f"{ROLES}/r", role(DELETE_PODS))
    assert refused.message.startswith(f'roles.rbac.authorization.k8s.io "r" is forbidden: {NOT_HELD}')
    assert (await as_user(editor, "PUT", f"{ROLES}/r", role({**READ_PODS, "verbs": ["get"]}))).code == 200
    paths = {"verbs": ["get"], "nonResourceURLs": ["/metrics"]}
    refused = await as_user(editor, "POST", f"{RBAC}/clusterroles", role(paths))
    assert refused.message.endswith(f'{NOT_HELD}{{NonResourceURLs:["/metrics"], Verbs:["get"]}}')


async def test_an_update_for_the_garbage_collector_alone_is_let_through(editor) -> None:
    await make(editor, ROLES, "strong", rules=[DELETE_PODS])
    finalizers = {"metadata": {"finalizers": ["example.test/f"]}}
    headers = {"Impersonate_User": "jane", "Content_Type": "application/merge-patch+json"}
    assert (await editor.ask("PATCH", f"{ROLES}/strong", finalizers, **headers)).code == 200
    labels = {"metadata": {"labels": {"a": "b"}}}
    assert (await editor.ask("PATCH", f"{ROLES}/strong", labels, **headers)).code == 403


async def test_the_verb_escalate_lifts_the_limit(editor) -> None:
    escalate = {"verbs": ["escalate"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"]}
    await make(editor, ROLES, "escalate", rules=[escalate])
    await bind(editor, BINDINGS, "escalate", "Role/escalate", subject("User", "jane"))
    assert (await as_user(editor, "POST", ROLES, role(DELETE_PODS))).code == 201
    elsewhere = ROLES.replace("default", "kube-system")
    assert (await as_user(editor, "POST", elsewhere, role(DELETE_PODS))).code == 403
    assert (await as_user(editor, "POST", f"{RBAC}/clusterroles", role(DELETE_PODS))).code == 403


def binding(kind: str, name: str):
    return {"metadata": {"name": "b"}, "roleRef": {"kind": kind, "name": name}, "subjects": [subject("User", "joe")]}


async def test_a_binding_grants_what_its_writer_has_or_may_bind(editor) -> None:
    refused = await as_user(editor, "POST", BINDINGS, binding("ClusterRole", "view"))
    assert refused.message.startswith(f'rolebindings.rbac.authorization.k8s.io "b" is forbidden: {NOT_HELD}')
    missing = await as_user(editor, "POST", BINDINGS, binding("ClusterRole", "none"))
    assert (missing.code, missing.message) == (404, 'clusterroles.rbac.authorization.k8s.io "none" not found')
    await make(editor, ROLES, "reader", rules=[READ_PODS])
    assert (await as_user(editor, "POST", BINDINGS, binding("Role", "reader"))).code == 201
    bind_view = {
        "verbs": ["bind"],
        "apiGroups": ["rbac.authorization.k8s.io"],
        "resources": ["clusterroles"],
        "resourceNames": ["view"],
    }
    await make(editor, f"{RBAC}/clusterroles", "bind-view", rules=[bind_view])
    await bind(editor, f"{RBAC}/clusterrolebindings", "jane", "ClusterRole/bind-view", subject("User", "jane"))
    cluster_bindings = f"{RBAC}/clusterrolebindings"
    assert (await as_user(editor, "POST", cluster_bindings, binding("ClusterRole", "view"))).code == 201
    assert (
        await as_user(editor, "POST", BINDINGS, binding("ClusterRole", "edit") | {"metadata": {"name": "e"}})
    ).code == 403


async def test_aggregation_takes_full_authority(editor) -> None:
    aggregated = {
        "metadata": {"name": "all"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
    }
    refused = await as_user(editor, "POST", f"{RBAC}/clusterroles", aggregated)
    assert (refused.code, refused.message) == (
        403,
        (
            'clusterroles.rbac.authorization.k8s.io "all" is forbidden: must have cluster-admin privileges to use the '
            "aggregationRule"
        ),
    )
    await bind(editor, f"{RBAC}/clusterrolebindings", "jane", "ClusterRole/cluster-admin", subject("User", "jane"))
    assert (await as_user(editor, "POST", f"{RBAC}/clusterroles", aggregated)).code == 201


# The modes.


@pytest.mark.parametrize(
    ("flag", "why"),
    [
        ("RBAC,Magic", 'authorization-mode "Magic" is not a valid mode'),
        ("RBAC,RBAC", 'authorization-mode ["RBAC" "RBAC"] has mode specified more than once'),
        ("", "at least one authorization-mode must be passed"),
    ],
)
def test_a_mode_that_is_not_there_is_refused(flag: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_arguments([f"--authorization-mode={flag}"])
    assert str(caught.value).startswith(why)


async def test_the_first_mode_that_decides_counts(opened) -> None:
    modes = check(Config(authorization_modes=("RBAC", "AlwaysAllow"))).authorization_modes
    async with opened(Config(authorization_modes=modes)) as api:
        assert await may(api, PODS)
        assert await review(api, {"user": "jane", "resourceAttributes": {"verb": "get", "resource": "pods"}}) == {
            "allowed": True
        }


@pytest.mark.parametrize(
    ("method", "path", "body", "media"),
    [
        (
            "PATCH",
            "/api/v1/namespaces/default/configmaps/made",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}},
            "application/apply-patch+yaml",
        ),
        (
            "PUT",
            "/apis/coordination.k8s.io/v1/namespaces/default/leases/made",
            {"metadata": {"name": "made"}},
            "application/json",
        ),
    ],
)
async def test_whoever_may_change_an_object_may_not_create_it_by_that(api, method, path, body, media) -> None:
    resource = path.split("/")[-2]
    group = path.split("/")[2] if path.startswith("/apis") else ""

    async def ask():
        headers = {"Impersonate_User": "jane", "Content_Type": media}
        return await api.ask(method, f"{path}?fieldManager=jane", body, **headers)

    def rule(*verbs):
        return {"verbs": list(verbs), "apiGroups": [group], "resources": [resource]}

    await make(api, ROLES, "changer", rules=[rule("patch", "update")])
    await bind(api, BINDINGS, "changers", "Role/changer", subject("User", "jane"))
    refused = await ask()
    assert (refused.code, refused.json["reason"]) == (403, "Forbidden")
    qualified = f"{resource}.{group}" if group else resource
    assert refused.message.startswith(f'{qualified} "made" is forbidden:')
    await api.put(f"{ROLES}/changer", {"metadata": {"name": "changer"}, "rules": [rule("patch", "update", "create")]})
    assert (await ask()).code == 201
