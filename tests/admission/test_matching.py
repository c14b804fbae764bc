"""Rules and selectors: the requests that a webhook or a policy is for."""

import pytest

from apiserver.admission.matching import MatchCriteria, Matcher, Rule, request_name, request_namespace
from apiserver.api.errors import ApiError
from apiserver.api.user import User
from apiserver.registry.admission import Attributes
from apiserver.registry.options import Target
from apiserver.release import load_release

TABLE = {(row.group, row.version, row.plural): row for row in load_release("1.37").rows}
PODS, NODES, NAMESPACES = (TABLE["", "v1", name] for name in ("pods", "nodes", "namespaces"))
ANY = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}


def request(resource=PODS, operation="CREATE", namespace="default", name="a", subresource="", **objects):
    return Attributes(operation, Target(resource, namespace, name, subresource), User("me"), **objects)


@pytest.mark.parametrize(
    ("rule", "attributes", "matches"),
    [
        ({}, request(), True),
        ({"operations": ["UPDATE"]}, request(), False),
        ({"operations": ["UPDATE", "CREATE"]}, request(), True),
        ({"apiGroups": [""]}, request(), True),
        ({"apiGroups": ["apps"]}, request(), False),
        ({"apiVersions": ["v2"]}, request(), False),
        ({"resources": ["pods"]}, request(), True),
        ({"resources": ["pods"]}, request(subresource="status"), False),
        ({"resources": ["*"]}, request(subresource="status"), False),
        ({"resources": ["*/*"]}, request(subresource="status"), True),
        ({"resources": ["*/*"]}, request(), True),
        ({"resources": ["pods/*"]}, request(), True),
        ({"resources": ["*/status"]}, request(subresource="status"), True),
        ({"resources": ["pods/status"]}, request(subresource="log"), False),
        ({"scope": "Namespaced"}, request(), True),
        ({"scope": "Cluster"}, request(), False),
        ({"scope": "Cluster"}, request(NODES, namespace=""), True),
        ({"scope": "Namespaced"}, request(NAMESPACES, namespace="a"), False),
        ({"resourceNames": ["a", "b"]}, request(), True),
        ({"resourceNames": ["b"]}, request(), False),
    ],
)
def test_a_rule_matches_if_each_of_its_parts_does(rule, attributes, matches):
    assert Rule.of(ANY | rule).matches(attributes, attributes.target.resource) is matches


@pytest.mark.parametrize(
    ("attributes", "name", "namespace"),
    [
        (request(), "a", "default"),
        (request(name="", obj={"metadata": {"name": "b"}}), "b", "default"),
        (request(name="", obj={"metadata": {"generateName": "b-", "name": "b-x7x7x"}}), "", "default"),
        (request(NAMESPACES, namespace="", name="n"), "n", "n"),
        (request(NAMESPACES, namespace="", name="", obj={"metadata": {"name": "n"}}), "n", "n"),
    ],
)
def test_a_request_has_the_name_and_namespace_that_upstream_gives_it(attributes, name, namespace):
    assert (request_name(attributes), request_namespace(attributes)) == (name, namespace)


class NoNamespaces:
    """A store without namespaces."""

    def get(self, _key):
        return None

    async def sync_read(self):
        pass


class Equivalents:
    """A table in which Nodes are equivalent to Pods."""

    def equivalents(self, _resource, subresource):
        return () if subresource else (NODES,)


MATCHER = Matcher(NoNamespaces(), Equivalents())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        ({"resourceRules": [ANY]}, PODS),
        ({"resourceRules": [ANY | {"resources": ["nodes"]}]}, NODES),
        ({"resourceRules": [ANY | {"resources": ["nodes"]}], "matchPolicy": "Exact"}, None),
        ({"resourceRules": [ANY], "excludeResourceRules": [ANY | {"resources": ["pods"]}]}, None),
        ({"resourceRules": [ANY], "excludeResourceRules": [ANY | {"operations": ["DELETE"]}]}, PODS),
        ({"resourceRules": [ANY], "objectSelector": {"matchLabels": {"a": "b"}}}, PODS),
        ({"resourceRules": [ANY], "objectSelector": {"matchLabels": {"a": "c"}}}, None),
        ({"resourceRules": [ANY], "objectSelector": {"matchExpressions": [{"key": "?", "operator": "In"}]}}, None),
        ({"resourceRules": []}, PODS),
    ],
)
async def test_criteria_say_in_which_resources_version_the_object_is_shown(constraints, expected):
    attributes = request(obj={"metadata": {}}, old={"metadata": {"labels": {"a": "b"}}})
    assert await MATCHER.match(MatchCriteria.of(constraints), attributes) is expected


async def test_a_selector_of_namespaces_needs_the_namespace_unless_there_is_none():
    criteria = MatchCriteria.of({"resourceRules": [ANY], "namespaceSelector": {"matchLabels": {"a": "b"}}})
    with pytest.raises(ApiError, match='namespaces "default" not found'):
        await MATCHER.match(criteria, request())
    assert await MATCHER.match(criteria, request(NODES, namespace="")) is NODES
    labeled = {"metadata": {"name": "n", "labels": {"a": "b"}}}
    assert await MATCHER.match(criteria, request(NAMESPACES, namespace="", obj=labeled)) is NAMESPACES
