"""wire.md, section 5: POST and PUT, over HTTP."""

import re
from typing import Any

import pytest

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SERVICES = "/api/v1/namespaces/default/services"


def pod(name: str = "a", **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name} | meta, "spec": {"containers": [{"name": "a", "image": "a"}]}}


def deployment(name: str = "a", replicas: int = 1) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


# Create.


async def test_a_generated_name_has_five_characters_of_upstreams_alphabet(api) -> None:
    names = {
        (await api.post(CONFIG_MAPS, {"metadata": {"generateName": "a-"}})).json["metadata"]["name"] for _ in range(20)
    }
    assert len(names) == 20
    assert all(re.fullmatch("a-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)


async def test_a_long_prefix_is_cut_and_a_name_goes_before_one(api) -> None:
    made = await api.post(CONFIG_MAPS, {"metadata": {"generateName": "x" * 70}})
    assert len(made.json["metadata"]["name"]) == 63
    named = await api.post(CONFIG_MAPS, {"metadata": {"generateName": "x-", "name": "mine"}})
    assert named.json["metadata"]["name"] == "mine"


async def test_the_server_alone_sets_what_is_its_own(api) -> None:
    claimed = {
        "uid": "mine",
        "creationTimestamp": "2000-01-01T00:00:00Z",
        "deletionTimestamp": "2000-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 5,
        "generation": 7,
        "selfLink": "/x",
    }
    made = await api.post(DEPLOYMENTS, deployment() | {"metadata": {"name": "a"} | claimed, "status": {"replicas": 9}})
    meta = made.json["metadata"]
    assert made.code == 201
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", meta["uid"])
    assert meta["creationTimestamp"] > "2020"
    assert meta["generation"] == 1
    assert not {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} & meta.keys()
    assert made.json["status"] == {}


@pytest.mark.parametrize(("version", "code"), [("5", 500), ("0", 201), ("", 201)])
async def test_a_new_object_has_no_version(api, version: str, code: int) -> None:
    reply = await api.post(CONFIG_MAPS, {"metadata": {"name": "a", "resourceVersion": version}})
    assert reply.code == code
    if code == 500:
        assert reply.message == "resourceVersion should not be set on objects to be created"


async def test_what_exists_is_409(api) -> None:
    await api.make("a")
    reply = await api.post(CONFIG_MAPS, {"metadata": {"name": "a"}})
    assert (reply.code, reply.json["reason"], reply.message) == (409, "AlreadyExists", 'configmaps "a" already exists')
    assert reply.json["details"] == {"name": "a", "kind": "configmaps"}


async def test_a_namespace_that_is_not_there_is_404_and_one_that_does_not_fit_400(api) -> None:
    missing = await api.post("/api/v1/namespaces/none/configmaps", {"metadata": {"name": "a"}})
    assert (missing.code, missing.message) == (404, 'namespaces "none" not found')
    other = await api.post(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "other"}})
    assert other.code == 400
    assert "does not match the namespace sent on the request" in other.message


@pytest.mark.parametrize(
    ("meta", "field", "words"),
    [
        ({}, "metadata.name", "name or generateName is required"),
        ({"name": "A"}, "metadata.name", "a lowercase RFC 1123 subdomain must consist of"),
        ({"name": "a" * 254}, "metadata.name", "must be no more than 253"),
        ({"name": "a", "labels": {"x": "y y"}}, "metadata.labels", "a valid label must be"),
        ({"name": "a", "labels": {"x/y/z": ""}}, "metadata.labels", "a qualified name must consist of"),
        ({"name": "a", "annotations": {"x y": ""}}, "metadata.annotations", "name part must consist of"),
        ({"name": "a", "finalizers": ["x"]}, "metadata.finalizers", "name is neither a standard finalizer name"),
    ],
)
async def test_names_and_labels_have_their_rules(api, meta: Any, field: str, words: str) -> None:
    reply = await api.post(CONFIG_MAPS, {"metadata": meta})
    assert (reply.code, reply.json["reason"]) == (422, "Invalid")
    assert reply.json["details"]["causes"][0]["field"].startswith(field)
    assert words in reply.message


# Update.


async def test_a_stale_version_is_409(api) -> None:
    (made,) = await api.make("a")
    await api.patch(f"{CONFIG_MAPS}/a", {"data": {"x": "y"}})
    reply = await api.put(f"{CONFIG_MAPS}/a", made.json | {"data": {"x": "z"}})
    assert (reply.code, reply.json["reason"]) == (409, "Conflict")
    assert reply.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to '
        "the latest version and try again"
    )


async def test_another_uid_is_409(api) -> None:
    (made,) = await api.make("a")
    reply = await api.put(f"{CONFIG_MAPS}/a", {"metadata": {"name": "a", "uid": "other"}})
    assert (reply.code, reply.json["reason"]) == (409, "Conflict")
    assert f"UID in precondition: other, UID in object meta: {made.json['metadata']['uid']}" in reply.message


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        (f"{CONFIG_MAPS}/none", {"metadata": {"name": "none"}}, 404),
        (f"{DEPLOYMENTS}/a", deployment(), 404),
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases/a",
            {"metadata": {"name": "a"}, "spec": {"holderIdentity": "x", "leaseDurationSeconds": 1}},
            201,
        ),
        ("/apis/node.k8s.io/v1/runtimeclasses/a", {"metadata": {"name": "a"}, "handler": "x"}, 201),
    ],
)
async def test_an_update_makes_what_is_not_there_only_where_upstream_allows_it(
    api, path: str, body: Any, code: int
) -> None:
    assert (await api.put(path, body)).code == code


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"metadata": {}}, "name must be provided"),
        ({"metadata": {"name": "b"}}, "the name of the object (b) does not match the name on the URL (a)"),
        ({"metadata": {"name": "a", "namespace": "b"}}, "the namespace of the provided object does not match"),
        ({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}, "cannot be handled as a ConfigMap"),
        ({"kind": "ConfigMap", "apiVersion": "v2", "metadata": {"name": "a"}}, 'is registered for version "v2"'),
    ],
)
async def test_an_update_of_something_else_is_400(api, body: Any, words: str) -> None:
    await api.make("a")
    reply = await api.put(f"{CONFIG_MAPS}/a", body)
    assert (reply.code, reply.json["reason"]) == (400, "BadRequest")
    assert words in reply.message


CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_LEGACY = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'
_EXTENSIONS = 'in scheme "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55"'
_CRD = "CustomResourceDefinition"


@pytest.mark.parametrize(
    ("path", "version", "kind", "message"),
    [
        (
            CONFIG_MAPS,
            "v1",
            "ConfigMapList",
            (
                'ConfigMapList in version "v1" cannot be handled as a ConfigMap: '
                "converting (v1.ConfigMapList) to (core.ConfigMap): unknown conversion"
            ),
        ),
        (
            CONFIG_MAPS,
            "v1",
            "DeleteOptions",
            (
                'DeleteOptions in version "v1" cannot be handled as a ConfigMap: '
                "converting (v1.DeleteOptions) to (core.ConfigMap): unknown conversion"
            ),
        ),
        (
            CONFIG_MAPS,
            "apiextensions.k8s.io/v1",
            _CRD,
            (
                f'{_CRD} in version "v1" cannot be handled as a ConfigMap: '
                f'no kind "{_CRD}" is registered for version "apiextensions.k8s.io/v1" {_LEGACY}'
            ),
        ),
        (
            CRDS,
            "v1",
            "ConfigMap",
            (
                f'ConfigMap in version "v1" cannot be handled as a {_CRD}: '
                f'no kind "ConfigMap" is registered for version "v1" {_EXTENSIONS}'
            ),
        ),
        (
            CRDS,
            "apiextensions.k8s.io/v1",
            f"{_CRD}List",
            (
                f'{_CRD}List in version "v1" cannot be handled as a {_CRD}: '
                f"converting (v1.{_CRD}List) to (apiextensions.{_CRD}): unknown conversion"
            ),
        ),
        (
            CRDS,
            "apiextensions.k8s.io/v1beta1",
            _CRD,
            (
                "the API version in the data (apiextensions.k8s.io/v1beta1) does not match the expected API version "
                "(apiextensions.k8s.io/v1)"
            ),
        ),
        (
            DEPLOYMENTS,
            "extensions/v1beta1",
            "Deployment",
            "the API version in the data (extensions/v1beta1) does not match the expected API version (apps/v1)",
        ),
        (
            DEPLOYMENTS,
            "apps/v7",
            "Deployment",
            (
                'Deployment in version "v7" cannot be handled as a Deployment: '
                f'no kind "Deployment" is registered for version "apps/v7" {_LEGACY}'
            ),
        ),
    ],
)
async def test_a_body_of_another_kind_is_told_what_it_is(api, path: str, version: str, kind: str, message: str) -> None:
    reply = await api.post(path, {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}})
    assert (reply.code, reply.json["reason"], reply.message) == (400, "BadRequest", message)


async def test_a_write_that_changes_nothing_makes_no_version_and_no_event(api) -> None:
    made = await api.post(DEPLOYMENTS, deployment())
    path = f"{DEPLOYMENTS}/a"
    async with api.watch(f"{DEPLOYMENTS}?watch=1&resourceVersion={made.version}") as watched:
        for same in (
            await api.put(path, made.json),
            await api.put(path, deployment()),
            await api.put(f"{path}/status", made.json),
            await api.patch(path, {"spec": {"replicas": 1}}),
            await api.patch(path, {}),
            await api.patch(path, [], "json-patch"),
            await api.patch(
                path, {"spec": {"template": {"spec": {"containers": [{"name": "a"}]}}}}, "strategic-merge-patch"
            ),
        ):
            assert (same.code, same.version) == (200, made.version), same.text
        await api.delete(path)
        assert (await watched.take(1))[0]["type"] == "DELETED"


async def test_generation_moves_with_the_spec_alone(api) -> None:
    path = f"{DEPLOYMENTS}/a"
    await api.post(DEPLOYMENTS, deployment())
    changes: list[dict[str, Any]] = [
        {"metadata": {"labels": {"x": "y"}}},
        {"spec": {"replicas": 3}},
        {"metadata": {"generation": 99}},
        {"status": {"replicas": 5}},
        {"spec": {"paused": True}},
    ]
    seen = [(await api.patch(path, change)).json["metadata"]["generation"] for change in changes]
    status = await api.patch(f"{path}/status", {"status": {"replicas": 5}, "spec": {"replicas": 9}})
    seen.append(status.json["metadata"]["generation"])
    assert seen == [1, 2, 2, 2, 3, 3]
    assert (status.json["status"], status.json["spec"]["replicas"]) == ({"replicas": 5}, 3)


@pytest.mark.parametrize(
    ("path", "body", "spec", "generation"),
    [
        (CONFIG_MAPS, {"metadata": {"name": "a"}}, {"data": {"x": "y"}}, None),
        (PODS, pod(), {"spec": {"activeDeadlineSeconds": 5}}, 2),
        (
            SERVICES,
            {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 1}]}},
            {"spec": {"ports": [{"port": 2}]}},
            None,
        ),
    ],
)
async def test_which_kinds_have_a_generation(api, path: str, body: Any, spec: Any, generation: int | None) -> None:
    await api.post(path, body)
    changed = await api.patch(f"{path}/a", spec)
    assert (changed.code, changed.json["metadata"].get("generation")) == (200, generation)


async def test_status_and_the_rest_are_written_apart(api) -> None:
    made = await api.post(PODS, pod())
    path = f"{PODS}/a"
    assert (await api.put(path, made.json | {"status": {"phase": "Running"}})).json["status"]["phase"] == "Pending"
    meta = made.json["metadata"] | {"labels": {"x": "y"}}
    changed = made.json | {
        "metadata": meta,
        "spec": made.json["spec"] | {"nodeName": "n"},
        "status": {"phase": "Running"},
    }
    after = (await api.put(f"{path}/status", changed)).json
    assert after["status"]["phase"] == "Running"
    assert "nodeName" not in after["spec"]
    assert (await api.get(f"{path}/status")).json == after


@pytest.mark.parametrize(
    ("path", "body", "change", "field"),
    [
        (DEPLOYMENTS, deployment(), {"spec": {"selector": {"matchLabels": {"b": "c"}}}}, "spec.selector"),
        (
            SERVICES,
            {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 1}]}},
            {"spec": {"clusterIP": "10.96.200.200", "clusterIPs": ["10.96.200.200"]}},
            "spec.clusterIPs[0]",
        ),
        (
            "/api/v1/namespaces/default/secrets",
            {"metadata": {"name": "a"}, "immutable": True},
            {"data": {"x": "eA=="}},
            "data",
        ),
        ("/api/v1/namespaces/default/secrets", {"metadata": {"name": "a"}}, {"type": "other"}, "type"),
        (CONFIG_MAPS, {"metadata": {"name": "a"}, "immutable": True}, {"immutable": False}, "immutable"),
        (PODS, pod(), {"metadata": {"creationTimestamp": "2000-01-01T00:00:00Z"}}, ""),
        (CONFIG_MAPS, {"metadata": {"name": "a"}}, {"metadata": {"uid": "other"}}, "metadata.uid"),
    ],
)
async def test_what_is_immutable_stays(api, path: str, body: Any, change: Any, field: str) -> None:
    made = await api.post(path, body)
    assert made.code == 201, made.text
    reply = await api.patch(f"{path}/a", change)
    if not field:  # what the server keeps without a word
        assert (reply.code, reply.version) == (200, made.version)
        return
    assert reply.code in (409, 422), reply.text
    if reply.code == 422:
        assert field in [cause["field"] for cause in reply.json["details"]["causes"]]
        assert "immutable" in reply.message or "may not change" in reply.message


# Namespaces.


async def test_nothing_is_made_in_a_namespace_that_ends(api) -> None:
    body = {"metadata": {"name": "ending"}, "spec": {"finalizers": ["example.com/keep"]}}
    assert (await api.post("/api/v1/namespaces", body)).code == 201
    await api.delete("/api/v1/namespaces/ending")
    reply = await api.post("/api/v1/namespaces/ending/configmaps", {"metadata": {"name": "a"}})
    assert (reply.code, reply.json["reason"]) == (403, "Forbidden")
    assert reply.message == (
        'configmaps "a" is forbidden: unable to create new content in namespace ending because it is being terminated'
    )
    assert reply.json["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace ending is being terminated",
            "field": "metadata.namespace",
        }
    ]


async def test_a_label_key_becomes_a_part_of_the_spread_s_selector(api) -> None:
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["v"]}
    pod = {
        "metadata": {"name": "p", "labels": {"v": "1"}},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "topologySpreadConstraints": [spread | {"labelSelector": {"matchLabels": {"a": "b"}}}],
        },
    }
    made = (await api.post("/api/v1/namespaces/default/pods", pod)).json
    (stored,) = made["spec"]["topologySpreadConstraints"]
    assert stored["labelSelector"]["matchExpressions"] == [{"key": "v", "operator": "In", "values": ["1"]}]
