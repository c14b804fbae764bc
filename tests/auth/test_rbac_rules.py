"""The rules of a role against requests, as in the tables of plugin/pkg/auth/authorizer/rbac/rbac_test.go."""

import pytest

from apiserver.api.user import User
from apiserver.auth.rbac_rules import RoleRules, resource_keys
from apiserver.registry.authorizer import AuthorizationRequest

JANE = User("jane")


def resource_rule(verbs, groups, resources, names=()):
    return {"verbs": verbs, "apiGroups": groups, "resources": resources, "resourceNames": list(names)}


@pytest.mark.parametrize(
    ("rule", "allowed", "refused"),
    [
        (
            resource_rule(["get"], [""], ["pods"]),
            ["get  pods", "get  pods  a"],
            ["list  pods", "get apps pods", "get  pods log", "get  services", "*  pods"],
        ),
        (
            resource_rule(["*"], ["*"], ["*"]),
            ["get  pods", "impersonate authentication.k8s.io userextras scopes a", "create  pods exec a", "* * *"],
            [],
        ),
        (
            resource_rule(["update"], ["apps"], ["*/scale"]),
            ["update apps deployments scale a", "update apps statefulsets scale"],
            ["update apps deployments", "update apps deployments status", "update  deployments scale"],
        ),
        (
            resource_rule(["get"], [""], ["pods/log"]),
            ["get  pods log a"],
            ["get  pods", "get  pods exec a", "get  nodes log"],
        ),
        (
            resource_rule(["get", "delete"], [""], ["secrets"], ["a", "b"]),
            ["get  secrets  a", "delete  secrets  b"],
            ["get  secrets  c", "get  secrets"],
        ),
        (resource_rule(["get"], ["apps"], []), [], ["get apps deployments"]),
    ],
)
def test_a_rule_names_verbs_groups_resources_and_objects(rule, allowed, refused):
    role = RoleRules([rule])
    for words in (*allowed, *refused):
        verb, group, resource, subresource, name = (*words.split(" "), "", "")[:5]
        request = AuthorizationRequest(JANE, verb, "", group, resource, subresource, "", name)
        assert role.allow_resource(request, resource_keys(request)) is (words in allowed), words


@pytest.mark.parametrize(
    ("urls", "allowed", "refused"),
    [
        (["/healthz"], ["/healthz"], ["/healthz/", "/healthz/ping", "/"]),
        (["/healthz/*"], ["/healthz/", "/healthz/ping"], ["/healthz", "/"]),
        (["*"], ["/", "/metrics"], []),
        (["/apis", "/api/*"], ["/apis", "/api/v1"], ["/apis/apps"]),
    ],
)
def test_a_rule_names_paths_and_their_beginnings(urls, allowed, refused):
    role = RoleRules([{"verbs": ["get"], "nonResourceURLs": urls}])
    assert [path for path in (*allowed, *refused) if role.allow_path("get", path)] == allowed
    assert not any(role.allow_path("post", path) for path in allowed)
