"""A definition is made: its names are judged, its kind is served, found by discovery and gone with it."""

import asyncio

import pytest
from patience import SECONDS

from apiserver.apiextensions.crds import termination
from apiserver.apiextensions.crds.structural_schemas import structural_condition

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HERE = "/apis/example.com/v1/namespaces/default/widgets"
A_WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}}


async def test_a_kind_is_served_once_its_definition_says_so(api, customs):
    assert (await api.get(HERE)).code == 404
    made = await customs.define()
    assert made["status"]["acceptedNames"] == made["spec"]["names"]
    assert [(each["type"], each["reason"]) for each in made["status"]["conditions"]] == [
        ("NamesAccepted", "NoConflicts"),
        ("Established", "InitialNamesAccepted"),
    ]
    created = await api.post(HERE, A_WIDGET)
    assert created.code == 201
    assert created.json["metadata"]["generation"] == 1
    assert (await api.get(f"{HERE}/a")).json == created.json
    assert [each["metadata"]["name"] for each in (await api.get("/apis/example.com/v1/widgets")).json["items"]] == ["a"]


async def test_discovery_and_the_openapi_index_tell_of_it_at_once(api, customs):
    before = (await api.get("/openapi/v3")).json["paths"]
    await customs.define(version={"subresources": {"status": {}}})
    listed = (await api.get("/apis/example.com/v1")).json["resources"]
    assert {each["name"]: each["kind"] for each in listed} == {"widgets": "Widget", "widgets/status": "Widget"}
    assert (listed[0]["shortNames"], listed[0]["categories"], listed[0]["singularName"]) == (["wd"], ["all"], "widget")
    assert "example.com" in [group["name"] for group in (await api.get("/apis")).json["groups"]]
    assert "apis/example.com/v1" in (await api.get("/openapi/v3")).json["paths"].keys() - before.keys()


async def test_a_watch_of_the_new_kind_tells_what_comes(api, customs):
    await customs.define()
    async with api.watch("/apis/example.com/v1/widgets?watch=1") as watched:
        await api.post(HERE, A_WIDGET)
        await api.delete(f"{HERE}/a")
        events = await watched.take(2)
    assert [event["type"] for event in events] == ["ADDED", "DELETED"]
    assert events[0]["object"]["kind"] == "Widget"


async def test_a_cluster_scoped_kind_has_no_namespaces(api, customs):
    await customs.define(scope="Cluster")
    assert (await api.post("/apis/example.com/v1/widgets", A_WIDGET)).code == 201
    assert (await api.get("/apis/example.com/v1/widgets/a")).json["metadata"].get("namespace") is None
    assert (await api.get(HERE)).code == 404


async def test_names_that_another_kind_has_are_refused_until_it_goes(api, customs, definition):
    await customs.define()
    rival = definition(plural="wodgets", kind="Wodget", names={"shortNames": ["wd"]})
    await api.post(CRDS, rival)
    state = await customs.until(
        "wodgets.example.com", lambda reply: customs.condition(reply.json, "NamesAccepted").get("status") == "False"
    )
    refused = customs.condition(state, "NamesAccepted")
    assert (refused["reason"], refused["message"]) == ("ShortNamesConflict", '"wd" is already in use')
    assert customs.condition(state, "Established")["status"] == "False"
    assert (await api.get("/apis/example.com/v1/wodgets")).code == 404
    await api.delete(f"{CRDS}/widgets.example.com")
    await customs.established("wodgets.example.com")
    assert (await api.get("/apis/example.com/v1/wodgets")).code == 200


async def test_versions_come_and_go_with_the_definition(api, customs):
    made = await customs.define()
    await api.post(HERE, A_WIDGET)
    first = made["spec"]["versions"][0]
    both = [first, first | {"name": "v2", "storage": False}]
    reply = await api.patch(f"{CRDS}/widgets.example.com", {"spec": {"versions": both}})
    assert reply.code == 200, reply.text
    async with asyncio.timeout(SECONDS):
        while (answer := await api.get("/apis/example.com/v2/namespaces/default/widgets/a")).code == 404:
            pass
    assert answer.json["apiVersion"] == "example.com/v2"
    assert answer.json["metadata"]["uid"] == (await api.get(f"{HERE}/a")).json["metadata"]["uid"]
    hidden = [first, first | {"name": "v2", "storage": False, "served": False}]
    await api.patch(f"{CRDS}/widgets.example.com", {"spec": {"versions": hidden}})
    async with asyncio.timeout(SECONDS):
        while (await api.get("/apis/example.com/v2/namespaces/default/widgets/a")).code == 200:
            pass
    assert (await api.get(f"{HERE}/a")).code == 200


async def test_a_hundred_definitions_are_served(api, definition, customs):
    for number in range(100):
        made = definition(plural=f"w{number}s", kind=f"W{number}", names={"shortNames": [], "categories": []})
        assert (await api.post(CRDS, made)).code == 201
    for number in range(100):
        await customs.established(f"w{number}s.example.com")
    assert len((await api.get("/apis/example.com/v1")).json["resources"]) == 100


async def test_the_schemas_of_a_definition_are_walked_once_however_many_there_are(
    api, definition, customs, monkeypatch
):
    walked = []

    def counted(given):
        walked.append(given["metadata"]["name"])
        return structural_condition(given)

    monkeypatch.setattr("apiserver.controllers.crd.structural_condition", counted)
    names = [f"w{number}s.example.com" for number in range(30)]
    for number in range(30):
        made = definition(plural=f"w{number}s", kind=f"W{number}", names={"shortNames": [], "categories": []})
        assert (await api.post(CRDS, made)).code == 201
    for name in names:
        await customs.established(name)
    await api.patch(f"{CRDS}/{names[0]}", {"metadata": {"labels": {"a": "b"}}})
    await api.patch(f"{CRDS}/{names[1]}", {"spec": {"names": {"shortNames": ["w"]}}})
    await api.delete(CRDS)
    for name in names:
        await customs.until(name, lambda reply: reply.code == 404)
    assert len(walked) <= 2 * len(names) + 2, "for each generation, of which a deletion makes one"


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_a_definition_goes_when_its_objects_have_gone(api, customs, propagation):
    await customs.define()
    for name in "abc":
        await api.post(HERE, A_WIDGET | {"metadata": {"name": name}})
    deleted = await api.delete(f"{CRDS}/widgets.example.com", {"propagationPolicy": propagation})
    assert deleted.code == 200
    await customs.until("widgets.example.com", lambda reply: reply.code == 404)
    async with asyncio.timeout(SECONDS):
        while (await api.get(HERE)).code != 404:
            pass
    await customs.define()
    assert (await api.get(HERE)).json["items"] == []


async def test_objects_with_finalizers_hold_their_definition_and_no_new_ones_are_made(api, customs):
    await customs.define()
    await api.post(HERE, A_WIDGET | {"metadata": {"name": "a", "finalizers": ["example.com/held"]}})
    await api.delete(f"{CRDS}/widgets.example.com")
    state = await customs.until(
        "widgets.example.com",
        lambda reply: customs.condition(reply.json, "Terminating").get("reason") == "InstanceDeletionInProgress",
    )
    assert state["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    async with asyncio.timeout(SECONDS):
        while "deletionTimestamp" not in (await api.get(f"{HERE}/a")).json["metadata"]:
            pass
    refused = await api.post(HERE, A_WIDGET | {"metadata": {"name": "b"}})
    assert (refused.code, refused.json["reason"]) == (403, "Forbidden")
    assert "create not allowed while custom resource definition is terminating" in refused.message
    await api.patch(f"{HERE}/a", {"metadata": {"finalizers": None}})
    await customs.until("widgets.example.com", lambda reply: reply.code == 404)


async def test_a_definition_none_of_whose_versions_is_served_is_emptied_too(api, customs):
    made = await customs.define()
    await api.post(HERE, A_WIDGET)
    hidden = made["spec"]["versions"][0] | {"served": False}
    assert (await api.patch(f"{CRDS}/widgets.example.com", {"spec": {"versions": [hidden]}})).code == 200
    await api.delete(f"{CRDS}/widgets.example.com")
    await customs.until("widgets.example.com", lambda reply: reply.code == 404)
    store = api.running.registry.storage.store
    assert store.count("/registry/example.com/widgets/") == 0


async def test_who_writes_a_definition_is_warned_of_what_will_not_work(api, definition):
    made = definition()
    fields = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields["colour"]["format"] = "rainbow"
    assert (await api.post(CRDS, made)).headers["Warning"] == '299 - "unrecognized format \\"rainbow\\""'
    path = f"{CRDS}/widgets.example.com"
    again = await api.patch(path, {"metadata": {"labels": {"a": "b"}}})
    assert (again.code, again.headers.get("Warning")) == (200, None)


async def test_a_definition_that_comes_again_is_not_emptied_for_the_one_before_it(
    api, customs, definition, monkeypatch
):
    monkeypatch.setattr(termination, "CHECK_INTERVAL", 0.05)
    monkeypatch.setattr(termination, "CHECK_TIMEOUT", 0.1)
    await customs.define()
    await api.post(HERE, A_WIDGET | {"metadata": {"name": "a", "finalizers": ["example.com/held"]}})
    path = f"{CRDS}/widgets.example.com"
    await api.delete(path)
    await api.patch(path, {"metadata": {"finalizers": None}})
    await customs.until("widgets.example.com", lambda reply: reply.code == 404)
    again = await customs.define()
    await asyncio.sleep(0.5)
    body = (await api.get(path)).json
    assert (body["metadata"]["uid"], "deletionTimestamp" in body["metadata"]) == (again["metadata"]["uid"], False)
    assert customs.condition(body, "Terminating") == {}


async def test_a_built_in_kind_answers_before_a_custom_one_of_its_name(api, definition, eventually):
    annotations = {"api-approved.kubernetes.io": "unapproved, a test"}
    made = definition(plural="ingresses", kind="Ingress", group="networking.k8s.io", names={"shortNames": []})
    made["metadata"]["annotations"] = annotations
    assert (await api.post(CRDS, made)).code == 201
    path = f"{CRDS}/ingresses.networking.k8s.io"

    async def judged():
        return bool((await api.get(path)).json.get("status", {}).get("conditions"))

    await eventually(judged)
    ingress = {
        "metadata": {"name": "a"},
        "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}},
    }
    assert (await api.post("/apis/networking.k8s.io/v1/namespaces/default/ingresses", ingress)).code == 201
    await api.delete(path)

    async def gone():
        return (await api.get(path)).code == 404

    await eventually(gone)
    assert (await api.get("/apis/networking.k8s.io/v1/namespaces/default/ingresses/a")).code == 200


@pytest.mark.parametrize("depth", [100, 300, 600, 900, 3000])
async def test_objects_however_deep_are_stored_or_refused(api, customs, depth):
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": free}}
    await customs.define(version={"schema": {"openAPIV3Schema": schema}})
    spec = b'{"a":' * depth + b"1" + b"}" * depth
    head = b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":'
    assert (await api.post(HERE, head + spec + b"}")).code == (201 if depth == 100 else 400)
