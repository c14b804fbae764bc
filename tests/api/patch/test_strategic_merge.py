"""Strategic merge patches on pods and Deployments: lists by key, directives, order, and what is refused."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.patch.merge_schema import MergeSchema
from apiserver.api.patch.strategic_merge import apply
from apiserver.api.schema import load_definitions


@pytest.fixture(scope="module")
def schema():
    return MergeSchema(load_definitions("1.37"))


SPEC: dict[str, Any] = {
    "dnsPolicy": "ClusterFirst",
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "t1", "operator": "Exists"}],
    "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}],
    "containers": [
        {
            "name": "one",
            "image": "i1",
            "args": ["x", "y"],
            "ports": [{"containerPort": 80, "name": "web"}, {"containerPort": 443}],
            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        },
        {"name": "two", "image": "i2"},
    ],
}


def container(number, **changes):
    return {**SPEC["containers"][number], **changes}


def names(*given):
    return [{"name": name} for name in given]


ONE = SPEC["containers"][0]
TWO = SPEC["containers"][1]


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({}, {}),
        ({"dnsPolicy": "Default"}, {"dnsPolicy": "Default"}),
        ({"dnsPolicy": None, "absent": None}, {"dnsPolicy": None}),
        ({"nodeSelector": {"zone": "a"}}, {"nodeSelector": {"disk": "ssd", "zone": "a"}}),
        ({"nodeSelector": {"disk": None}}, {"nodeSelector": {}}),
        ({"nodeSelector": {"$patch": "replace", "zone": "a"}}, {"nodeSelector": {"zone": "a"}}),
        ({"nodeSelector": {"$patch": "delete"}}, {"nodeSelector": {}}),
        ({"securityContext": {"runAsUser": 1, "fsGroup": None}}, {"securityContext": {"runAsUser": 1}}),
        ({"securityContext": {"$patch": "delete"}}, {}),
        ({"tolerations": [{"key": "t2"}]}, {"tolerations": [{"key": "t2"}]}),
        ({"containers": [{"name": "two", "image": "i3"}]}, {"containers": [ONE, {"name": "two", "image": "i3"}]}),
        (
            {"containers": [{"name": "zero", "image": "i0"}]},
            {"containers": [{"name": "zero", "image": "i0"}, ONE, TWO]},
        ),
        ({"containers": [{"name": "two", "$patch": "delete"}]}, {"containers": [ONE]}),
        ({"containers": [{"name": "ghost", "$patch": "delete"}]}, {}),
        (
            {"containers": [{"$patch": "replace"}, {"name": "only", "image": "i9"}]},
            {"containers": [{"name": "only", "image": "i9"}]},
        ),
        ({"containers": [{"name": "one", "args": ["z"]}]}, {"containers": [container(0, args=["z"]), TWO]}),
        (
            {"$setElementOrder/containers": names("two", "one")},
            {"containers": [TWO, ONE]},
        ),
        (
            {
                "$setElementOrder/containers": names("zero", "two", "one"),
                "containers": [{"name": "zero", "image": "i0"}, {"name": "one", "image": "i1b"}],
            },
            {"containers": [{"name": "zero", "image": "i0"}, TWO, container(0, image="i1b")]},
        ),
        (
            {
                "$setElementOrder/containers": names("one"),
                "containers": [{"name": "two", "$patch": "delete"}],
            },
            {"containers": [ONE]},
        ),
        (
            {
                "containers": [
                    {
                        "name": "one",
                        "env": [
                            {"name": "B", "value": "two"},
                            {"name": "C", "value": "3"},
                            {"name": "A", "$patch": "delete"},
                        ],
                    }
                ]
            },
            {"containers": [container(0, env=[{"name": "B", "value": "two"}, {"name": "C", "value": "3"}]), TWO]},
        ),
        (
            {
                "containers": [
                    {
                        "name": "one",
                        "$setElementOrder/env": names("C", "B"),
                        "env": [{"name": "C", "value": "3"}],
                    }
                ]
            },
            {
                "containers": [
                    container(
                        0,
                        env=[{"name": "C", "value": "3"}, {"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                    ),
                    TWO,
                ]
            },
        ),
        (
            {"containers": [{"name": "one", "ports": [{"containerPort": 443, "name": "tls"}, {"containerPort": 90}]}]},
            {
                "containers": [
                    container(
                        0,
                        ports=[
                            {"containerPort": 80, "name": "web"},
                            {"containerPort": 443, "name": "tls"},
                            {"containerPort": 90},
                        ],
                    ),
                    TWO,
                ]
            },
        ),
        (
            {"volumes": [{"name": "v", "$retainKeys": ["name", "secret"], "secret": {"secretName": "s"}}]},
            {"volumes": [{"name": "v", "secret": {"secretName": "s"}}, SPEC["volumes"][1]]},
        ),
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
            {"volumes": [{"name": "v", "emptyDir": {}, "secret": {"secretName": "s"}}, SPEC["volumes"][1]]},
        ),
        ({"volumes": []}, {}),
        ({"volumes": None}, {"volumes": None}),
        ({"dnsPolicy": {"any": "type"}}, {"dnsPolicy": {"any": "type"}}),
    ],
)
def test_a_patch_changes_the_spec_of_a_pod(schema, patch, expected):
    doc = {"spec": SPEC}
    before = copy.deepcopy((doc, patch))
    result = apply(doc, {"spec": patch}, schema.kind("io.k8s.api.core.v1.Pod"))["spec"]
    merged = {key: value for key, value in (SPEC | expected).items() if value is not None}
    assert result == merged
    assert (doc, patch) == before


FINALIZERS = {"metadata": {"finalizers": ["x", "y", "z"]}}


@pytest.mark.parametrize(
    ("patch", "finalizers"),
    [
        ({"finalizers": ["w"]}, ["w", "x", "y", "z"]),
        ({"finalizers": ["z", "x"]}, ["y", "z", "x"]),
        ({"$deleteFromPrimitiveList/finalizers": ["y"]}, ["x", "z"]),
        ({"$deleteFromPrimitiveList/finalizers": ["none"]}, ["x", "y", "z"]),
        ({"$setElementOrder/finalizers": ["z", "x"]}, ["y", "z", "x"]),
        (
            {
                "$setElementOrder/finalizers": ["w", "x"],
                "finalizers": ["w"],
                "$deleteFromPrimitiveList/finalizers": ["y", "z"],
            },
            ["w", "x"],
        ),
    ],
)
def test_lists_of_scalars_merge_and_are_ordered(schema, patch, finalizers):
    kind = schema.kind("io.k8s.api.core.v1.ConfigMap")
    result = apply(FINALIZERS, {"metadata": patch}, kind)["metadata"]["finalizers"]
    assert result == finalizers


def test_retained_keys_drop_the_others(schema):
    doc = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    result = apply(doc, patch, schema.kind("io.k8s.api.apps.v1.Deployment"))
    assert result == {"spec": {"strategy": {"type": "Recreate"}}}


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ({"containers": [{"image": "j"}]}, 500, "map: map[image:j] does not contain declared merge key: name"),
        ({"nodeSelector": {"$patch": "destroy"}}, 500, "unknown patch type: destroy in map: map[$patch:destroy]"),
        ({"containers": [{"name": "a", "$patch": "merge"}]}, 500, "merging lists cannot yet be specified in the patch"),
        (
            {"containers": [{"$patch": "delete"}]},
            500,
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        ({"containers": ["one"]}, 500, None),
        ({"containers": [[]]}, 422, "the server rejected our request due to an error in our request"),
        (
            {"$setElementOrder/containers": names("c"), "containers": [{"name": "e", "image": "i"}]},
            500,
            "The order in patch list:\n[map[image:i name:e]]\n doesn't match $setElementOrder list:\n[map[name:c]]\n",
        ),
        ({"$setElementOrder/containers": "x"}, 500, "expected a []interface {}, but received a string"),
        ({"$setElementOrder": []}, 400, "invalid patch format of setElementOrder list"),
        ({"$deleteFromPrimitiveList": []}, 400, "invalid patch format of primitive list"),
        ({"$retainKeys": "x"}, 400, "invalid patch format of retainKeys"),
        ({"$retainKeys": ["volumes"], "dnsPolicy": "x"}, 400, "invalid patch format of retainKeys"),
        (
            {"$setElementOrder/none": names("a")},
            500,
            'unable to find api field in struct PodSpec for the json field "none"',
        ),
    ],
)
def test_a_patch_that_does_not_fit_is_told_in_upstreams_words(schema, patch, code, message):
    with pytest.raises(ApiError) as caught:
        apply({"spec": SPEC}, {"spec": patch}, schema.kind("io.k8s.api.core.v1.Pod"))
    assert caught.value.code == code
    assert message is None or caught.value.message == message


@pytest.mark.parametrize(("patch", "kind"), [([], "array"), ("x", "string"), (1, "number")])
def test_a_body_that_is_no_object_is_a_bad_request(schema, patch, kind):
    with pytest.raises(ApiError) as caught:
        apply({}, patch, schema.kind("io.k8s.api.core.v1.Pod"))
    message = f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    assert (caught.value.code, caught.value.message) == (400, message)


ENV = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)


@given(ENV, ENV, st.permutations("abcdef"))
def test_the_order_given_is_kept_and_a_second_time_changes_nothing(server, sent, ranking):
    kind = MergeSchema(
        {
            "Thing": {
                "properties": {
                    "env": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                        "x-kubernetes-patch-strategy": "merge",
                        "x-kubernetes-patch-merge-key": "name",
                    }
                }
            }
        }
    ).kind("Thing")
    order = [name for name in ranking if name in sent]
    patch = {"$setElementOrder/env": names(*order), "env": names(*order)}
    if not server and not order:
        return
    once = apply({"env": names(*server)}, patch, kind)
    merged = [item["name"] for item in once["env"]]
    assert sorted(merged) == sorted({*server, *sent})
    assert [name for name in merged if name in order] == order
    assert [name for name in merged if name not in order] == [name for name in server if name not in order]
    assert apply(once, patch, kind) == once


def test_a_patch_that_is_nested_too_deep_is_a_bad_request(schema):
    patch: Obj = {}
    for _ in range(3000):
        patch = {"a": patch}
    with pytest.raises(ApiError) as caught:
        apply({}, patch, schema.kind("io.k8s.api.core.v1.ConfigMap"))
    assert caught.value.code == 400
