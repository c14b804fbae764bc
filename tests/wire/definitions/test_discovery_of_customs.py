"""Discovery and OpenAPI of a custom kind while its definition is not Established, or goes."""

import base64

import pytest

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PLACE = f"{CRDS}/widgets.example.com"
HERE = "/apis/example.com/v1/namespaces/default/widgets"
ALL = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
WHILE_TERMINATING = ["delete", "deletecollection", "get", "list", "watch"]
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
HELD = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "a", "finalizers": ["example.com/held"]},
    "spec": {"size": 1},
}
HOOK = {"url": "https://localhost:9", "caBundle": base64.b64encode(b"no certificate").decode()}


def webhook(**client):
    return {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}


async def discovered(api, version="v1"):
    """Return the entry for widgets in the group's legacy document; {} without a document or an entry."""
    reply = await api.get(f"/apis/example.com/{version}")
    listed = reply.json["resources"] if reply.code == 200 else ()
    return next((each for each in listed if each["name"] == "widgets"), {})


async def aggregated(api):
    """The widgets of every version in the aggregated document."""
    groups = (await api.get("/apis", Accept=AGGREGATED)).json["items"]
    of_group = [group["versions"] for group in groups if group["metadata"]["name"] == "example.com"]
    return [each for versions in of_group for version in versions for each in version["resources"]]


async def deleted(api, customs):
    """Have the definition deleted, and wait until it says what it waits for."""
    await api.delete(PLACE)
    await customs.until(
        "widgets.example.com",
        lambda reply: customs.condition(reply.json, "Terminating").get("reason") == "InstanceDeletionInProgress",
    )


async def test_a_kind_whose_definition_goes_is_told_without_the_verbs_that_make_and_change(api, customs):
    await customs.define(version={"subresources": {"status": {}}})
    await api.post(HERE, HELD)
    assert (await discovered(api))["verbs"] == ALL
    assert [each["verbs"] for each in await aggregated(api)] == [ALL]
    await deleted(api, customs)
    assert (await discovered(api))["verbs"] == WHILE_TERMINATING
    (kind,) = await aggregated(api)
    assert kind["verbs"] == WHILE_TERMINATING
    assert kind["subresources"][0]["verbs"] == ["get", "patch", "update"], "those of parts stay"


async def test_objects_of_a_kind_that_goes_are_changed_and_watched_all_the_same(api, customs):
    await customs.define()
    made = await api.post(HERE, HELD)
    async with api.watch(f"{HERE}?watch=1&resourceVersion={made.version}") as watched:
        await deleted(api, customs)
        assert (await discovered(api))["verbs"] == WHILE_TERMINATING
        assert (await api.patch(f"{HERE}/a", {"spec": {"size": 2}})).code == 200
        body = (await api.get(f"{HERE}/a")).json
        assert (await api.put(f"{HERE}/a", body | {"spec": {"size": 3}})).code == 200
        events = await watched.take(3)
    assert [(event["type"], event["object"]["spec"]["size"]) for event in events] == [
        ("MODIFIED", 1),
        ("MODIFIED", 2),
        ("MODIFIED", 3),
    ]
    assert "deletionTimestamp" in events[0]["object"]["metadata"]


async def test_a_definition_that_is_emptied_but_held_is_told_with_all_verbs_again(api, customs, definition):
    """Upstream goes by the condition Terminating, which is False by then."""
    made = definition()
    made["metadata"]["finalizers"] = ["example.com/held"]
    assert (await api.post(CRDS, made)).code == 201
    await customs.established("widgets.example.com")
    await api.delete(PLACE)
    await customs.until(
        "widgets.example.com",
        lambda reply: customs.condition(reply.json, "Terminating").get("reason") == "InstanceDeletionCompleted",
    )
    assert (await discovered(api))["verbs"] == ALL
    assert (await api.post(HERE, HELD)).code == 403


async def refused_definition(api, customs, definition):
    """A definition whose names are accepted, and which is not Established for its webhook's certificates."""
    assert (await api.post(CRDS, definition(conversion=webhook(**HOOK)))).code == 201
    state = await customs.until(
        "widgets.example.com",
        lambda reply: customs.condition(reply.json, "Established").get("reason") == "InvalidCABundle",
    )
    assert customs.condition(state, "NamesAccepted")["status"] == "True"


async def test_neither_discovery_nor_openapi_tells_of_a_kind_that_is_not_established(api, customs, definition):
    before = (await api.get("/openapi/v3")).json["paths"]
    await refused_definition(api, customs, definition)
    assert await discovered(api) == {}
    assert await aggregated(api) == []
    for path in ("/apis/example.com", "/apis/example.com/v1", "/openapi/v3/apis/example.com/v1"):
        assert (await api.get(path)).code == 404, path
    assert "example.com" not in [group["name"] for group in (await api.get("/apis")).json["groups"]]
    assert (await api.get("/openapi/v3")).json["paths"].keys() == before.keys()
    assert not [path for path in (await api.get("/openapi/v2")).json["paths"] if "example.com" in path]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", HERE, None),
        ("GET", f"{HERE}?watch=1", None),
        ("GET", f"{HERE}/a", None),
        ("POST", HERE, HELD),
        ("DELETE", f"{HERE}/a", None),
    ],
)
async def test_requests_for_a_kind_that_is_not_established_fail_as_its_webhook_cannot_be_called(
    api, customs, definition, method, path, body
):
    await refused_definition(api, customs, definition)
    refused = await api.ask(method, path, body)
    assert (refused.code, refused.json["reason"]) == (500, "InternalError")
    assert refused.message == "Internal error occurred: error resolving resource"


async def test_a_definition_whose_certificates_are_mended_is_served_and_discovered(api, customs, definition):
    await refused_definition(api, customs, definition)
    assert await discovered(api) == {}
    await api.patch(PLACE, {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": None}}}}})
    await customs.established("widgets.example.com")
    assert (await discovered(api))["verbs"] == ALL
    assert "apis/example.com/v1" in (await api.get("/openapi/v3")).json["paths"]
    assert (await api.post(HERE, HELD)).code == 201


async def test_the_hash_of_the_stored_version_is_told_only_where_that_is_served(api, customs):
    made = await customs.define()
    known = (await discovered(api))["storageVersionHash"]
    first = made["spec"]["versions"][0]
    both = [first | {"served": False}, first | {"name": "v2", "storage": False}]
    await api.patch(PLACE, {"spec": {"versions": both}})
    async for state in states(api, "v2"):
        if state:
            break
    assert "storageVersionHash" not in state
    await api.patch(PLACE, {"spec": {"versions": [first, both[1]]}})
    async for state in states(api, "v2"):
        if "storageVersionHash" in state:
            break
    assert state["storageVersionHash"] == known, "which is that of v1, in whatever version it is told"


async def states(api, version):
    """Yield the entry for widgets until the caller has seen what it waits for; the test's timeout ends it."""
    for _ in range(10_000):
        yield await discovered(api, version)
