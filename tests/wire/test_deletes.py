"""wire.md, section 5.4: DELETE of one and of many, over HTTP."""

from typing import Any

import pytest

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
A = f"{CONFIG_MAPS}/a"
KEEP = ["example.com/keep"]
SPEC = {"containers": [{"name": "a", "image": "a"}]}


async def scheduled(api, **spec: Any) -> Any:
    """A pod that a node has."""
    reply = await api.post(PODS, {"metadata": {"name": "a"}, "spec": SPEC | {"nodeName": "n"} | spec})
    assert reply.code == 201, reply.text
    return reply


def event_types(events: list[Any]) -> list[str]:
    return [event["type"] for event in events]


# The answer.


async def test_the_answer_is_a_status_with_the_uid(api) -> None:
    (made,) = await api.make("a")
    reply = await api.delete(A)
    assert (reply.code, reply.json) == (
        200,
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {"name": "a", "kind": "configmaps", "uid": made.json["metadata"]["uid"]},
        },
    )


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (PODS, {"spec": SPEC}),
        ("/api/v1/namespaces/default/services", {"spec": {"ports": [{"port": 1}]}}),
        ("/api/v1/namespaces/default/serviceaccounts", {}),
        ("/api/v1/namespaces/default/resourcequotas", {}),
        ("/api/v1/namespaces/default/podtemplates", {"template": {"spec": SPEC}}),
    ],
)
async def test_of_some_kinds_it_is_the_object_at_the_version_of_the_delete(api, path: str, body: Any) -> None:
    made = await api.post(path, {"metadata": {"name": "a"}} | body)
    reply = await api.delete(f"{path}/a")
    assert (reply.code, reply.json["kind"]) == (200, made.json["kind"])
    assert reply.json["metadata"]["uid"] == made.json["metadata"]["uid"]
    assert reply.version == str(api.now)


async def test_what_is_not_there_is_404(api) -> None:
    assert (await api.delete(A)).code == 404


# Preconditions.


@pytest.mark.parametrize("where", ["uid", "resourceVersion"])
async def test_a_precondition_that_fails_is_409_and_one_that_holds_lets_pass(api, where: str) -> None:
    (made,) = await api.make("a")
    wrong = await api.delete(A, {"preconditions": {where: "1"}})
    assert (wrong.code, wrong.json["reason"]) == (409, "Conflict")
    assert "in the precondition (1) does not match" in wrong.message
    assert (await api.delete(A, {"preconditions": {where: made.json["metadata"][where]}})).code == 200


# Grace.


async def test_a_pod_on_a_node_is_marked_and_then_goes(api) -> None:
    made = await scheduled(api)
    async with api.watch(f"{PODS}?watch=1&resourceVersion={made.version}") as watched:
        marked = await api.delete(f"{PODS}/a")
        meta = marked.json["metadata"]
        assert (meta["deletionGracePeriodSeconds"], meta["generation"]) == (30, 2)
        assert meta["deletionTimestamp"] > meta["creationTimestamp"]
        again = await api.delete(f"{PODS}/a")
        assert again.json["metadata"] == meta
        shorter = await api.delete(f"{PODS}/a", {"gracePeriodSeconds": 5})
        assert shorter.json["metadata"]["deletionGracePeriodSeconds"] == 5
        longer = await api.delete(f"{PODS}/a?gracePeriodSeconds=60")
        assert longer.json["metadata"]["deletionGracePeriodSeconds"] == 5
        assert (await api.delete(f"{PODS}/a?gracePeriodSeconds=0")).code == 200
        assert (await api.get(f"{PODS}/a")).code == 404
        events = await watched.take(4)
    assert event_types(events) == ["MODIFIED", "MODIFIED", "MODIFIED", "DELETED"]


@pytest.mark.parametrize(("asked", "seconds"), [("", 7), ("?gracePeriodSeconds=3", 3), ("?gracePeriodSeconds=-1", 1)])
async def test_how_long_a_pod_has(api, asked: str, seconds: int) -> None:
    await scheduled(api, terminationGracePeriodSeconds=7)
    assert (await api.delete(f"{PODS}/a{asked}")).json["metadata"]["deletionGracePeriodSeconds"] == seconds


async def test_a_grace_beyond_all_time_is_wrapped_as_go_wraps_durations(api) -> None:
    pod = (await scheduled(api, terminationGracePeriodSeconds=2**63 - 1)).json
    assert pod["spec"]["terminationGracePeriodSeconds"] == 2**63 - 1
    marked = (await api.delete(f"{PODS}/a")).json["metadata"]
    assert marked["deletionGracePeriodSeconds"] == 2**63 - 1
    assert marked["deletionTimestamp"] < "2200"
    shortened = (await api.delete(f"{PODS}/a?gracePeriodSeconds=5")).json["metadata"]
    assert shortened["deletionGracePeriodSeconds"] == 5


async def test_a_pod_that_no_node_has_goes_at_once(api) -> None:
    await api.post(PODS, {"metadata": {"name": "a"}, "spec": SPEC})
    assert (await api.delete(f"{PODS}/a")).code == 200
    assert (await api.get(f"{PODS}/a")).code == 404


async def test_a_pod_that_has_ended_goes_at_once(api) -> None:
    await scheduled(api)
    await api.patch(f"{PODS}/a/status", {"status": {"phase": "Succeeded"}})
    await api.delete(f"{PODS}/a")
    assert (await api.get(f"{PODS}/a")).code == 404


async def test_the_body_goes_before_the_query(api) -> None:
    await scheduled(api)
    reply = await api.delete(f"{PODS}/a?gracePeriodSeconds=3", {"gracePeriodSeconds": 9})
    assert reply.json["metadata"]["deletionGracePeriodSeconds"] == 9
    (kept,) = await api.make("a", metadata={"name": "a", "finalizers": KEEP})
    bodied = await api.delete(f"{A}?dryRun=All", {})
    assert bodied.json["metadata"]["deletionTimestamp"]
    assert (await api.get(A)).version != kept.version


# Finalizers.


async def test_finalizers_keep_an_object_until_they_are_gone(api) -> None:
    (made,) = await api.make("a", metadata={"name": "a", "finalizers": KEEP})
    async with api.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={made.version}") as watched:
        marked = await api.delete(A)
        meta = marked.json["metadata"]
        assert (marked.code, marked.json["kind"]) == (200, "ConfigMap")
        assert (meta["deletionGracePeriodSeconds"], meta["finalizers"]) == (0, KEEP)
        again = await api.delete(A)
        assert again.version == marked.version
        taken = await api.post(CONFIG_MAPS, {"metadata": {"name": "a"}})
        assert (taken.code, taken.message) == (409, 'object is being deleted: configmaps "a" already exists')
        added = await api.patch(A, {"metadata": {"finalizers": [*KEEP, "example.com/more"]}})
        assert added.code == 422
        assert "Forbidden: no new finalizers can be added if the object is being deleted" in added.message
        alive = await api.patch(A, {"metadata": {"deletionTimestamp": None}})
        assert alive.json["metadata"]["deletionTimestamp"] == meta["deletionTimestamp"]
        last = await api.patch(A, {"metadata": {"finalizers": None}})
        assert last.code == 200
        assert (await api.get(A)).code == 404
        modified, deleted = await watched.take(2)
    assert event_types([modified, deleted]) == ["MODIFIED", "DELETED"]
    assert deleted["object"]["metadata"]["resourceVersion"] == str(api.now)


# Propagation.


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        ({"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        ({"propagationPolicy": "Orphan"}, ["orphan"]),
        ({"orphanDependents": True}, ["orphan"]),
        ({"propagationPolicy": "Background"}, None),
        ({"orphanDependents": False}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("where", ["body", "query"])
async def test_what_becomes_of_dependents(api, options: Any, finalizers: Any, where: str) -> None:
    await api.make("a")
    if where == "query":
        query = "&".join(
            f"{name}={str(value).lower() if value in (True, False) else value}" for name, value in options.items()
        )
        await api.delete(f"{A}?{query}")
    else:
        await api.delete(A, options)
    after = await api.get(A)
    assert (after.json["metadata"]["finalizers"] if after.code == 200 else None) == finalizers


async def test_jobs_orphan_their_pods_where_nobody_says(api) -> None:
    job = {"metadata": {"name": "a"}, "spec": {"template": {"spec": SPEC | {"restartPolicy": "Never"}}}}
    assert (await api.post(JOBS, job)).code == 201
    await api.delete(f"{JOBS}/a")
    assert (await api.get(f"{JOBS}/a")).json["metadata"]["finalizers"] == ["orphan"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"propagationPolicy": "Never"}, 'propagationPolicy: Unsupported value: "Never"'),
        (
            {"propagationPolicy": "Orphan", "orphanDependents": True},
            "orphanDependents and deletionPropagation cannot be both set",
        ),
        ({"dryRun": ["Some"]}, "dryRun: Unsupported value"),
    ],
)
async def test_invalid_options_are_422(api, options: Any, words: str) -> None:
    (made,) = await api.make("a")
    reply = await api.delete(A, options)
    assert (reply.code, reply.json["reason"]) == (422, "Invalid")
    assert reply.message.startswith('DeleteOptions.meta.k8s.io "" is invalid: ')
    assert words in reply.message
    assert (await api.get(A)).json == made.json


@pytest.mark.parametrize(
    "body", [b"{", b"[]", {"gracePeriodSeconds": "x"}, {"preconditions": []}, {"kind": "Pod", "apiVersion": "v1"}]
)
async def test_a_body_that_is_no_options_is_400(api, body: Any) -> None:
    await api.make("a")
    assert (await api.delete(A, body)).code == 400
    assert (await api.get(A)).code == 200


# Many at once.


async def test_a_collection_is_deleted_and_answered_as_it_was(api) -> None:
    await api.make("a", "b")
    reply = await api.delete(CONFIG_MAPS)
    assert (reply.code, reply.json["kind"]) == (200, "ConfigMapList")
    assert [item["metadata"]["name"] for item in reply.json["items"]] == ["a", "b"]
    assert (await api.get(CONFIG_MAPS)).json["items"] == []


async def test_selectors_say_which(api) -> None:
    for name, labels in {"a": {"x": "1"}, "b": {"x": "2"}, "c": {}}.items():
        await api.post(CONFIG_MAPS, {"metadata": {"name": name, "labels": labels}})
    await api.delete(f"{CONFIG_MAPS}?labelSelector=x%3D1")
    await api.delete(f"{CONFIG_MAPS}?fieldSelector=metadata.name%3Dc")
    assert [item["metadata"]["name"] for item in (await api.get(CONFIG_MAPS)).json["items"]] == ["b"]


async def test_finalizers_keep_what_a_collection_had(api) -> None:
    await api.make("a", metadata={"name": "a", "finalizers": KEEP})
    await api.make("b")
    await api.delete(CONFIG_MAPS)
    (left,) = (await api.get(CONFIG_MAPS)).json["items"]
    assert left["metadata"]["deletionTimestamp"]


async def test_a_collection_of_all_namespaces_cannot_be_deleted(api) -> None:
    assert (await api.delete("/api/v1/configmaps")).code == 405


async def test_options_hold_for_each(api) -> None:
    await scheduled(api)
    await api.delete(PODS, {"gracePeriodSeconds": 4})
    assert (await api.get(f"{PODS}/a")).json["metadata"]["deletionGracePeriodSeconds"] == 4


# Namespaces.


async def test_a_namespace_is_emptied_and_goes(api) -> None:
    await api.post("/api/v1/namespaces", {"metadata": {"name": "one"}})
    await api.make("a", "b", path="/api/v1/namespaces/one/configmaps")
    async with api.watch("/api/v1/watch/namespaces/one") as watched:
        marked = await api.delete("/api/v1/namespaces/one")
        assert marked.json["status"]["phase"] == "Terminating"
        while (event := await watched.next())["type"] != "DELETED":
            pass
    assert event["object"]["metadata"]["name"] == "one"
    assert (await api.get("/api/v1/namespaces/one")).code == 404
    assert (await api.get("/api/v1/namespaces/one/configmaps")).json["items"] == []


SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"
UNREADABLE = "couldn't get version/kind; json parse error: "


@pytest.mark.parametrize("path", [A, CONFIG_MAPS])
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{", f"{UNREADABLE}unexpected end of JSON input"),
        (b"[1]", f"{UNREADABLE}json: cannot unmarshal array into Go value of type struct {{ APIVersion string "),
        (b'{"kind": 1}', f"{UNREADABLE}json: cannot unmarshal number into Go struct field .kind of type string"),
        (b'{"apiVersion": "a/b/c"}', "unexpected GroupVersion string: a/b/c"),
        (b'{"kind": "Other"}', f'no kind "Other" is registered for version "meta.k8s.io/v1" in scheme "{SCHEME}"'),
        (
            b'{"kind": "Pod", "apiVersion": "v1"}',
            f'no kind "Pod" is registered for version "v1" in scheme "{SCHEME}"',
        ),
        (
            b'{"kind": "PatchOptions", "apiVersion": "v1"}',
            f'no kind "PatchOptions" is registered for version "v1" in scheme "{SCHEME}"',
        ),
        (b'{"kind": "PatchOptions"}', "converting (v1.PatchOptions) to (v1.DeleteOptions): unknown conversion"),
        (
            b'{"kind": "CreateOptions", "apiVersion": "v1"}',
            "converting (v1.CreateOptions) to (v1.DeleteOptions): unknown conversion",
        ),
    ],
)
async def test_a_body_that_holds_no_options_is_refused_and_nothing_deleted(api, path, body, why) -> None:
    await api.make("a")
    refused = await api.delete(path, body)
    assert (refused.code, refused.json["reason"]) == (400, "BadRequest")
    assert refused.message.startswith(why)
    assert (await api.get(A)).code == 200


@pytest.mark.parametrize("version", ["v1", "meta.k8s.io/v1", "apps/v1", "example.com/v7"])
async def test_options_are_the_same_in_every_version(api, version) -> None:
    await api.make("a")
    assert (await api.delete(A, {"kind": "DeleteOptions", "apiVersion": version, "dryRun": ["All"]})).code == 200
    assert (await api.get(A)).code == 200
