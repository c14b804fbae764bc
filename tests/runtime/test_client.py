"""Requests over real connections: the bytes that are sent, answers, and refusals."""

import asyncio
import ssl
from dataclasses import replace

import pytest
from aiohttp import web

from apiserver.api.errors import ApiError
from controller_manager.reconcile.contract import (
    MERGE_PATCH,
    STRATEGIC_PATCH,
    Create,
    Delete,
    DeleteAll,
    Get,
    ListAll,
    Patch,
    Request,
    Update,
)
from controller_manager.reconcile.kinds import CONFIG_MAP, NAMESPACE
from controller_manager.runtime import client as module
from controller_manager.runtime.kubeconfig import load_kubeconfig

A_MAP = {"metadata": {"name": "a", "namespace": "default"}, "data": {"k": "v"}}
KEY = "default/a"


def named(name: str):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": name}}


# -- the real server


async def test_objects_are_created_read_changed_and_deleted(client):
    made = await client.perform(Create(CONFIG_MAP, A_MAP))
    changed = await client.perform(Update(CONFIG_MAP, made | {"data": {"k": "w"}}))
    assert changed["data"] == {"k": "w"}
    patched = await client.perform(Patch(CONFIG_MAP, KEY, {"data": {"x": "y"}}))
    assert patched["data"] == {"k": "w", "x": "y"}
    assert await client.perform(Get(CONFIG_MAP, KEY)) == patched
    await client.perform(Delete(CONFIG_MAP, KEY, uid=made["metadata"]["uid"]))
    with pytest.raises(ApiError) as caught:
        await client.perform(Get(CONFIG_MAP, KEY))
    assert (caught.value.code, caught.value.reason) == (404, "NotFound")
    assert caught.value.message == 'configmaps "a" not found'


@pytest.mark.parametrize(
    ("content_type", "patch", "data"),
    [
        (MERGE_PATCH, {"data": {"k": None, "x": "y"}}, {"x": "y"}),
        (STRATEGIC_PATCH, {"data": {"$patch": "replace", "x": "y"}}, {"x": "y"}),
        ("application/json-patch+json", [{"op": "add", "path": "/data/x", "value": "y"}], {"k": "v", "x": "y"}),
    ],
)
async def test_the_server_takes_each_kind_of_patch_for_what_it_is(client, content_type, patch, data):
    await client.perform(Create(CONFIG_MAP, A_MAP))
    patched = await client.perform(Patch(CONFIG_MAP, KEY, patch, content_type=content_type))
    assert patched["data"] == data


async def test_a_list_has_all_pages_and_metadata_alone(client, monkeypatch):
    monkeypatch.setattr(module, "PAGE_SIZE", 2)
    for number in range(5):
        await client.perform(Create(CONFIG_MAP, {"metadata": {"name": f"m{number}", "namespace": "default"}}))
    items = await client.perform(ListAll(CONFIG_MAP, "default"))
    assert [item["metadata"]["name"] for item in items] == ["kube-root-ca.crt", "m0", "m1", "m2", "m3", "m4"]
    assert {item["kind"] for item in items} == {"PartialObjectMetadata"}
    await client.perform(DeleteAll(CONFIG_MAP, "default", grace_period_seconds=0))
    assert await client.perform(ListAll(CONFIG_MAP, "default")) == []


async def test_refusals_of_the_server_are_told_in_its_words(client):
    made = await client.perform(Create(CONFIG_MAP, A_MAP))
    await client.perform(Patch(CONFIG_MAP, KEY, {"data": {"x": "y"}}))
    cases = [
        (Create(CONFIG_MAP, A_MAP), 409, "AlreadyExists"),
        (Update(CONFIG_MAP, made), 409, "Conflict"),
        (Delete(CONFIG_MAP, KEY, uid="another"), 409, "Conflict"),
        (Create(CONFIG_MAP, {"metadata": {"name": "A B", "namespace": "default"}}), 422, "Invalid"),
        (Create(CONFIG_MAP, {"metadata": {"name": "a", "namespace": "none"}}), 404, "NotFound"),
    ]
    for request, code, reason in cases:
        with pytest.raises(ApiError) as caught:
            await client.perform(request)
        assert (caught.value.code, caught.value.reason) == (code, reason)
        assert caught.value.details is not None
        assert caught.value.details["name"]


async def test_many_requests_at_a_time_share_few_connections(client):
    made = [{"metadata": {"name": f"m{number}", "namespace": "default"}} for number in range(300)]
    answers = await asyncio.gather(*(client.perform(Create(CONFIG_MAP, obj)) for obj in made))
    assert [answer["metadata"]["name"] for answer in answers] == [obj["metadata"]["name"] for obj in made]


async def test_a_server_that_the_certificate_does_not_name_is_not_asked(asked, cluster):
    access = replace(load_kubeconfig(cluster.kubeconfig), server_name="another.example")
    async with asked(access) as client:
        with pytest.raises(ApiError, match="certificate") as caught:
            await client.perform(Get(NAMESPACE, "default"))
    assert caught.value.code == 0


async def test_a_client_certificate_says_who_asks(asked, cluster):
    directory = cluster.ca_file.parent
    access = load_kubeconfig(cluster.kubeconfig)
    own = replace(
        access,
        token="",
        client_cert=(directory / "admin.crt").read_bytes(),
        client_key=(directory / "admin.key").read_bytes(),
    )
    assert isinstance(own.tls_context(), ssl.SSLContext)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    async with asked(own) as client:
        kind = replace(NAMESPACE, group="authentication.k8s.io", kind="SelfSubjectReview", plural="selfsubjectreviews")
        reviewed = await client.perform(Create(kind, review | {"metadata": {}}))
    assert reviewed["status"]["userInfo"]["username"] == "kubernetes-admin"


async def test_many_requests_at_once_are_answered_in_their_order_errors_among_them(client):
    requests: list[Request] = [Create(CONFIG_MAP, named(f"many-{number}")) for number in range(200)]
    requests[100:100] = [Get(CONFIG_MAP, "default/absent"), Create(CONFIG_MAP, named("many-3"))]
    answers = await client.perform_all([*requests, ListAll(CONFIG_MAP, "default")])
    names = [answer["metadata"]["name"] for answer in answers[:100] + answers[102:-1]]
    assert names == [f"many-{number}" for number in range(200)]
    assert [answer.reason for answer in answers[100:102]] == ["NotFound", "AlreadyExists"]
    assert {item["metadata"]["name"] for item in answers[-1]} >= set(names)


async def test_many_requests_of_somebody_who_goes_away_leave_the_connections_good(client):
    asking = asyncio.ensure_future(
        client.perform_all([Create(CONFIG_MAP, named(f"left-{number}")) for number in range(100)])
    )
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    with pytest.raises(ApiError, match="not found"):
        await client.perform(Get(CONFIG_MAP, "default/absent"))


# -- what is asked


async def test_a_request_says_who_asks_what_it_wants_and_what_it_sends(asked, serve):
    seen = []

    async def handle(request):
        seen.append({name: value for name, value in request.headers.items() if name != "Host"})
        return web.json_response({"metadata": {"resourceVersion": "1"}})

    access = await serve(handle)
    async with asked(replace(access, server=f"{access.server}/base/"), user_agent="me/1") as client:
        await client.perform(Patch(CONFIG_MAP, KEY, {}))
        await client.perform(ListAll(CONFIG_MAP))
    common = {"User-Agent": "me/1", "Authorization": "Bearer t"}
    patch = {"Accept": "application/json", "Content-Type": "application/merge-patch+json", "Content-Length": "2"}
    metadata = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
    assert seen == [common | patch, common | metadata]


async def test_a_path_before_the_api_is_kept(asked, serve):
    seen = []

    async def handle(request):
        seen.append(request.path)
        return web.json_response({})

    access = await serve(handle)
    async with asked(replace(access, server=f"{access.server}/clusters/c~/")) as client:
        await client.perform(Get(CONFIG_MAP, KEY))
    assert seen == ["/clusters/c~/api/v1/namespaces/default/configmaps/a"]


async def test_a_token_in_a_file_is_read_again_each_minute(asked, serve, hasty, tmp_path):
    seen = []

    async def handle(request):
        seen.append(request.headers["Authorization"])
        return web.json_response({})

    token = tmp_path / "token"
    token.write_text("old")
    async with asked(replace(await serve(handle), token_file=token), hasty) as client:
        await client.perform(Get(CONFIG_MAP, KEY))
        token.write_text("new")
        hasty.passed += 59
        await client.perform(Get(CONFIG_MAP, KEY))
        hasty.passed += 1
        await client.perform(Get(CONFIG_MAP, KEY))
        token.unlink()
        hasty.passed += 60
        with pytest.raises(ApiError, match="the token cannot be read"):
            await client.perform(Get(CONFIG_MAP, KEY))
    assert seen == ["Bearer old", "Bearer old", "Bearer new"]


async def test_requests_keep_to_the_rate(asked, serve, hasty):
    async def handle(_):
        return web.json_response({})

    async with asked(await serve(handle), hasty, qps=20.0, burst=2) as client:
        for _ in range(4):
            await client.perform(Get(CONFIG_MAP, KEY))
    assert hasty.slept == pytest.approx([0.05, 0.05])


async def test_every_exchange_is_counted(asked, answer, speak, hasty):
    seen = []

    def observe(method, code, seconds):
        seen.append((method, code, seconds))

    async with asked(await speak(answer(b"{}", code=201), b""), hasty, observe=observe) as client:
        await client.perform(Create(CONFIG_MAP, A_MAP))
        with pytest.raises(ApiError):
            await client.perform(Delete(CONFIG_MAP, KEY))
    assert seen == [("POST", 201, 0.0), ("DELETE", 0, 0.0)]


async def test_what_waits_for_a_connection_is_lost_unsent_when_it_may_not_be_sent_any_more(asked, serve, monkeypatch):
    came, gate, names = asyncio.Event(), asyncio.Event(), []

    async def handle(request):
        names.append((await request.json())["metadata"]["name"])
        came.set()
        await gate.wait()
        return web.json_response({})

    monkeypatch.setattr(module, "MAX_CONNECTIONS", 1)
    async with asked(await serve(handle)) as client:
        client.send_only_while(lambda: not came.is_set())
        asking = asyncio.ensure_future(client.perform_all([Create(CONFIG_MAP, named(name)) for name in "abc"]))
        await came.wait()
        gate.set()
        first, *others = await asking
    assert (first, names) == ({}, ["a"])
    assert [str(error).rpartition(": ")[2] for error in others] == ["nothing may be sent any more"] * 2
