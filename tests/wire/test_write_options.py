"""wire.md, section 5: what comes with a write: dry runs, field validation, field managers."""

import pytest

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"

# A dry run.


@pytest.mark.parametrize("where", ["query", "twice"])
async def test_a_dry_run_does_everything_but_store(api, where: str) -> None:
    dry = "?dryRun=All" + ("&dryRun=All" if where == "twice" else "")
    before = api.now
    async with api.watch(f"/api/v1/configmaps?watch=1&resourceVersion={before}") as watched:
        made = await api.post(CONFIG_MAPS + dry, {"metadata": {"generateName": "a-"}})
        assert made.code == 201
        assert made.json["metadata"]["uid"]
        assert "resourceVersion" not in made.json["metadata"]
        assert api.now == before
        (kept,) = await api.make("kept", data={"x": "1"})
        path = f"{CONFIG_MAPS}/kept"
        assert (await api.post(CONFIG_MAPS + dry, {"metadata": {"name": "kept"}})).code == 409
        assert (await api.put(path + dry, kept.json | {"data": {"x": "2"}})).json["data"] == {"x": "2"}
        assert (await api.patch(path + dry, {"data": {"x": "3"}})).json["data"] == {"x": "3"}
        assert (await api.delete(path + dry)).code == 200
        assert (await api.delete(CONFIG_MAPS + dry)).code == 200
        assert (await api.post(CONFIG_MAPS + dry, {"metadata": {"name": "A"}})).code == 422
        assert (await api.get(path)).json == kept.json
        await api.make("last")
        assert [event["object"]["metadata"]["name"] for event in await watched.take(2)] == ["kept", "last"]


async def test_a_dry_run_of_a_delete_in_the_body(api) -> None:
    (kept,) = await api.make("a")
    await api.delete(f"{CONFIG_MAPS}/a", {"dryRun": ["All"]})
    assert (await api.get(f"{CONFIG_MAPS}/a")).json == kept.json


async def test_a_dry_run_keeps_no_address(api) -> None:
    service = {"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": [{"port": 1, "nodePort": 30123}]}}
    for _ in range(2):
        made = await api.post(f"{SERVICES}?dryRun=All", service)
        assert made.code == 201
        assert made.json["spec"]["clusterIP"]
    assert (await api.post(SERVICES, service)).code == 201
    assert (await api.delete(f"{SERVICES}/a?dryRun=All")).code == 200
    assert (await api.post(SERVICES, service | {"metadata": {"name": "b"}})).code == 422
    await api.delete(f"{SERVICES}/a")
    assert (await api.post(SERVICES, service | {"metadata": {"name": "b"}})).code == 201


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("POST", CONFIG_MAPS, "CreateOptions"),
        ("PUT", f"{CONFIG_MAPS}/a", "UpdateOptions"),
        ("PATCH", f"{CONFIG_MAPS}/a", "PatchOptions"),
    ],
)
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("dryRun=Some", "dryRun"),
        ("dryRun=All&dryRun=Some", "dryRun"),
        ("fieldValidation=Maybe", "fieldValidation"),
        ("fieldManager=a%07", "fieldManager"),
    ],
)
async def test_invalid_options_are_422(api, method: str, path: str, kind: str, query: str, field: str) -> None:
    await api.make("a")
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    reply = await api.ask(method, f"{path}?{query}", {"metadata": {"name": "a"}}, Content_Type=media)
    assert (reply.code, reply.json["reason"]) == (422, "Invalid")
    assert reply.message.startswith(f'{kind}.meta.k8s.io "" is invalid: {field}: ')


# Unknown and doubled fields.

ODD = b'{"metadata":{"name":"a","nick":"x"},"spec":{"containers":[{"name":"a","image":"a","color":"red","image":"a"}]}}'
FOUND = [
    'duplicate field "spec.containers[0].image"',
    'unknown field "metadata.nick"',
    'unknown field "spec.containers[0].color"',
]


async def test_strict_refuses_what_is_unknown_or_doubled(api) -> None:
    reply = await api.post(f"{PODS}?fieldValidation=Strict", ODD)
    assert (reply.code, reply.json["reason"]) == (400, "BadRequest")
    head, _, warning = reply.message.partition("strict decoding error: ")
    assert head == 'Pod in version "v1" cannot be handled as a Pod: '
    assert sorted(warning.split(", ")) == FOUND


@pytest.mark.parametrize("query", ["?fieldValidation=Warn", "", "?fieldValidation="])
async def test_warn_tells_of_it(api, query: str) -> None:
    reply = await api.post(f"{PODS}{query}", ODD)
    assert reply.code == 201
    warnings = reply.headers.getall("Warning")
    assert sorted(line[7:-1].replace('\\"', '"') for line in warnings) == FOUND
    assert "nick" not in reply.json["metadata"]


async def test_ignore_is_silent(api) -> None:
    reply = await api.post(f"{PODS}?fieldValidation=Ignore", ODD)
    assert (reply.code, reply.headers.get("Warning")) == (201, None)


async def test_strict_yaml_too(api) -> None:
    text = b"metadata: {name: a}\ndata: {x: z}\ncolor: red\n"
    reply = await api.post(f"{CONFIG_MAPS}?fieldValidation=Strict", text, Content_Type="application/yaml")
    assert reply.code == 400
    assert 'strict decoding error: unknown field "color"' in reply.message


# Whose the fields are.


async def test_fields_are_owned_by_who_wrote_them(api) -> None:
    await api.post(f"{CONFIG_MAPS}?fieldManager=one", {"metadata": {"name": "a"}, "data": {"x": "1"}})
    await api.patch(f"{CONFIG_MAPS}/a?fieldManager=two", {"data": {"y": "2"}})
    changed = await api.patch(f"{CONFIG_MAPS}/a?fieldManager=two", {"data": {"x": "2"}})
    owners = {each["manager"]: each for each in changed.json["metadata"]["managedFields"]}
    assert owners["two"]["fieldsV1"] == {"f:data": {"f:x": {}, "f:y": {}}}
    assert owners["one"]["fieldsV1"] == {"f:data": {}}
    assert {(each["operation"], each["apiVersion"], each["fieldsType"]) for each in owners.values()} == {
        ("Update", "v1", "FieldsV1")
    }


async def test_the_user_agent_names_who_names_nobody(api) -> None:
    made = await api.post(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}}, User_Agent="tool/v1.2 (linux)")
    assert made.json["metadata"]["managedFields"][0]["manager"] == "tool"
