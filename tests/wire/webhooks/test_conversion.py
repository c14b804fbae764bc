"""Custom objects in several versions, which a webhook converts: read, written, listed and watched."""

import pytest
from aiohttp import web
from hook_server import add, allow, patch

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OLD, NEW = (f"/apis/example.com/{version}/namespaces/default/things" for version in ("v1", "v2"))
OPEN = {"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}


def definition(hook, **webhook):
    config = {"url": f"{hook.url}/convert", "caBundle": hook.ca_bundle}
    versions = [
        {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": OPEN}}
        for name in ("v1", "v2")
    ]
    return {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": versions,
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"]} | webhook,
            },
        },
    }


def converted(obj, version):
    """Return a Thing in another version: v2 has the fields of v1's "size" in "width" and "height"."""
    spec = dict(obj.get("spec") or {})
    if version == "example.com/v2":
        spec["width"], spec["height"] = map(int, spec.pop("size", "0x0").split("x"))
    else:
        spec["size"] = f"{spec.pop('width', 0)}x{spec.pop('height', 0)}"
    return obj | {"apiVersion": version, "spec": spec}


def convert(review):
    """Answer a ConversionReview."""
    request = review["request"]
    objects = [converted(each, request["desiredAPIVersion"]) for each in request["objects"]]
    response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
    return web.json_response({"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response})


@pytest.fixture
async def things(api, hook):
    hook.answers["/convert"] = convert
    reply = await api.post(DEFINITIONS, definition(hook))
    assert reply.code == 201
    assert "Warning" not in reply.headers
    return hook


def thing(name="t", version="v1", **spec):
    return {"kind": "Thing", "apiVersion": f"example.com/{version}", "metadata": {"name": name}, "spec": spec}


async def test_an_object_is_written_in_one_version_and_read_in_the_other(api, things):
    created = (await api.post(NEW, thing(version="v2", width=2, height=3))).json
    assert (created["apiVersion"], created["spec"]) == ("example.com/v2", {"width": 2, "height": 3})
    assert (await api.get(f"{OLD}/t")).json["spec"] == {"size": "2x3"}
    assert (await api.get(f"{NEW}/t")).json == created
    await api.post(OLD, thing("u", size="4x5"))
    assert (await api.get(f"{NEW}/u")).json["spec"] == {"width": 4, "height": 5}


async def test_an_object_is_changed_in_the_version_that_is_not_stored(api, things):
    await api.post(OLD, thing(size="1x1"))
    patched = await api.patch(f"{NEW}/t", {"spec": {"height": 7}})
    assert patched.json["spec"] == {"width": 1, "height": 7}
    new = (await api.get(f"{NEW}/t")).json
    new["spec"] = {"width": 8, "height": 9}
    assert (await api.put(f"{NEW}/t", new)).json["spec"] == {"width": 8, "height": 9}
    assert (await api.get(f"{OLD}/t")).json["spec"] == {"size": "8x9"}
    assert (await api.delete(f"{NEW}/t")).code == 200


async def test_an_update_that_changes_nothing_makes_no_new_version(api, things):
    created = (await api.post(NEW, thing(version="v2", width=2, height=3))).json
    replaced = (await api.put(f"{NEW}/t", created)).json
    assert replaced["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


async def test_an_object_can_be_applied_in_both_versions(api, things):
    for path, version, spec in ((OLD, "v1", {"size": "1x2"}), (NEW, "v2", {"width": 5})):
        reply = await api.ask(
            "PATCH",
            f"{path}/t?fieldManager=me&force=true",
            thing(version=version, **spec),
            Content_Type="application/apply-patch+yaml",
        )
        assert reply.code in (200, 201), reply.text
    assert (await api.get(f"{NEW}/t")).json["spec"]["width"] == 5


async def test_a_list_is_converted_in_one_review_and_its_copies_are_kept(api, things):
    for name in ("a", "b", "c"):
        await api.post(OLD, thing(name, size="1x2"))
    things.reviews.clear()
    for _ in range(2):
        items = (await api.get(NEW)).json["items"]
        assert [each["spec"] for each in items] == [{"width": 1, "height": 2}] * 3
    (review,) = things.reviews["/convert"]
    assert len(review["request"]["objects"]) == 3
    assert review["request"]["desiredAPIVersion"] == "example.com/v2"
    assert (review["kind"], review["apiVersion"]) == ("ConversionReview", "apiextensions.k8s.io/v1")
    await api.patch(f"{OLD}/b", {"spec": {"size": "3x4"}})
    assert (await api.get(NEW)).json["items"][1]["spec"] == {"width": 3, "height": 4}


async def test_a_watch_gets_objects_in_its_version(api, things):
    await api.post(OLD, thing("a", size="1x2"))
    async with api.watch(f"{NEW}?watch=1") as stream:
        await api.post(OLD, thing("b", size="3x4"))
        await api.delete(f"{OLD}/a")
        events = await stream.take(3)
    assert [(each["type"], each["object"]["spec"]) for each in events] == [
        ("ADDED", {"width": 1, "height": 2}),
        ("ADDED", {"width": 3, "height": 4}),
        ("DELETED", {"width": 1, "height": 2}),
    ]


async def test_labels_and_annotations_may_be_changed_and_no_other_metadata(api, things):
    def relabel(review):
        (obj,) = review["request"]["objects"]
        copy = converted(obj, review["request"]["desiredAPIVersion"])
        copy["metadata"] = obj["metadata"] | {
            "labels": {"via": "hook"},
            "annotations": {"a": "b"},
            "finalizers": ["x.io/y"],
            "creationTimestamp": None,
        }
        return success(review, [copy])

    created = (await api.post(OLD, thing(size="1x2"))).json
    things.answers["/convert"] = relabel
    meta = (await api.get(f"{NEW}/t")).json["metadata"]
    assert (meta["labels"], meta["annotations"]) == ({"via": "hook"}, {"a": "b"})
    assert meta["creationTimestamp"] == created["metadata"]["creationTimestamp"]
    assert "finalizers" not in meta


def success(review, objects, **response):
    return web.json_response(
        {
            "kind": "ConversionReview",
            "apiVersion": "apiextensions.k8s.io/v1",
            "response": {"uid": review["request"]["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
            | response,
        }
    )


def changed(**fields):
    def answer(review):
        (obj,) = review["request"]["objects"]
        return success(review, [converted(obj, review["request"]["desiredAPIVersion"]) | fields])

    return answer


def with_metadata(**fields):
    def answer(review):
        (obj,) = review["request"]["objects"]
        copy = converted(obj, review["request"]["desiredAPIVersion"])
        return success(review, [copy | {"metadata": obj["metadata"] | fields}])

    return answer


FAILED, INVALID = (f"conversion webhook for example.com/v1, Kind=Thing {words}" for words in ("failed: ", "returned "))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda _review: web.Response(status=404), f"{FAILED}the server could not find the requested resource"),
        (lambda _review: web.json_response({}), f"{FAILED}expected webhook response of apiextensions.k8s.io/v1, "),
        (lambda review: success(review, [], uid="x"), f'{FAILED}expected response.uid="'),
        (
            lambda review: success(review, [], result={"status": "Failure", "message": "not today"}),
            f"{FAILED}not today",
        ),
        (
            lambda review: success(review, [], result={"status": "Failure"}),
            f"{FAILED}response.result.status was 'Failure', not 'Success'",
        ),
        (lambda review: success(review, []), f"{INVALID}0 objects, expected 1"),
        (
            lambda review: success(review, review["request"]["objects"]),
            f"{INVALID}invalid object at index 0: invalid groupVersion (expected example.com/v2, received ",
        ),
        (
            changed(kind="Other"),
            f"{INVALID}invalid object at index 0: invalid kind (expected Thing, received Other)",
        ),
        (with_metadata(name="other"), f"{INVALID}invalid object: must have the same name: t != other"),
        (with_metadata(uid="1"), f"{INVALID}invalid object: must have the same UID: "),
        (
            with_metadata(labels={"a": 1}),
            f"{INVALID}invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object",
        ),
        (with_metadata(labels={"a b": "c"}), f'{INVALID}invalid metadata: metadata.labels: Invalid value: "a b": '),
    ],
)
async def test_a_wrong_conversion_fails_the_read_in_upstreams_words(api, things, answer, message):
    await api.post(OLD, thing(size="1x2"))
    things.answers["/convert"] = answer
    for path in (f"{NEW}/t", NEW):
        reply = await api.get(path)
        assert (reply.code, reply.message[: len(message)]) == (500, message)
    async with api.watch(f"{NEW}?watch=1") as stream:
        event = await stream.next()
        assert (event["type"], event["object"]["message"][: len(message)]) == ("ERROR", message)
    assert (await api.get(f"{OLD}/t")).code == 200


async def test_a_write_that_cannot_be_converted_stores_nothing(api, things):
    things.answers["/convert"] = lambda _review: web.Response(status=500, text="boom")
    reply = await api.post(NEW, thing(version="v2", width=1))
    assert reply.message == (
        'conversion webhook for example.com/v2, Kind=Thing failed: an error on the server ("boom") has prevented the '
        "request from succeeding"
    )
    assert (await api.get(OLD)).json["items"] == []


async def test_a_webhook_that_does_not_listen_is_named_with_its_url(api, hook):
    body = definition(hook, clientConfig={"url": "https://127.0.0.1:1/convert"})
    await api.post(DEFINITIONS, body)
    await api.post(OLD, thing(size="1x2"))
    assert (await api.get(f"{NEW}/t")).message == (
        'conversion webhook for example.com/v1, Kind=Thing failed: Post "https://127.0.0.1:1/convert?timeout=30s": '
        "dial tcp 127.0.0.1:1: connect: connection refused"
    )


async def test_the_old_review_is_not_verified(api, hook):
    def answer(review):
        objects = [converted(each, review["request"]["desiredAPIVersion"]) for each in review["request"]["objects"]]
        return web.json_response({"response": {"result": {"status": "Success"}, "convertedObjects": objects}})

    hook.answers["/convert"] = answer
    await api.post(DEFINITIONS, definition(hook, conversionReviewVersions=["v1beta1"]))
    await api.post(OLD, thing(size="1x2"))
    assert (await api.get(f"{NEW}/t")).json["spec"] == {"width": 1, "height": 2}
    assert hook.reviews["/convert"][0]["apiVersion"] == "apiextensions.k8s.io/v1beta1"


async def test_an_admission_webhook_gets_a_custom_object_converted_and_its_patch_is_converted_back(api, things, hooks):
    things.answers["/v"] = allow
    things.answers["/m"] = patch(add("/spec/height", 9))
    rule = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v2"], "resources": ["things"]}
    await hooks.mutating("/m", rules=[rule])
    await hooks.validating("/v", rules=[rule])
    assert (await api.post(OLD, thing(size="1x2"))).json["spec"] == {"size": "1x9"}
    assert things.requests("/v")[0]["object"]["spec"] == {"width": 1, "height": 9}
