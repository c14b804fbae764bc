"""Webhooks that answer wrongly, late, or not at all: refused or ignored, by their failurePolicy."""

import asyncio
import base64
import json
import socket

import pytest
from aiohttp import web
from hook_server import HANG_UP, allow, certificates, hook_server

import apiserver.webhook.client as client_module

MAPS = "/api/v1/namespaces/default/configmaps"
FAILED = 'Internal error occurred: failed calling webhook "v.example.com": '
CALL, INVALID = f"{FAILED}failed to call webhook: ", f"{FAILED}received invalid webhook response: "
NO_VERSION = f"{CALL}couldn't get version/kind; json parse error: "
SCHEME = "k8s.io/apiserver/pkg/util/webhook/client.go:74"
UNMARSHAL = f"{NO_VERSION}json: cannot unmarshal"
META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


def raw(body, status=200, media="application/json"):
    return lambda _review: web.Response(body=body, status=status, content_type=media)


def review(response, **fields):
    """Return an answer whose review has other fields than it should."""
    return lambda asked: raw(
        json.dumps(
            {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}
            | fields
            | {"response": {"uid": asked["request"]["uid"], "allowed": True} | response}
        ).encode()
    )(asked)


WRONG = [
    (
        raw(b"hello"),
        f"{UNMARSHAL} string into Go value of type {META}",
    ),
    (
        raw(b"[]"),
        f"{UNMARSHAL} array into Go value of type {META}",
    ),
    (raw(b'{"kind":'), f"{NO_VERSION}unexpected end of JSON input"),
    (
        raw(b'{"kind":1}'),
        f"{UNMARSHAL} number into Go struct field .kind of type string",
    ),
    (raw(b""), f"{CALL}0-length response with status code: 200 and content type: application/json"),
    (raw(b"{}"), f"{INVALID}webhook response was absent"),
    (raw(b'{"response":{"uid":"x"}}'), f'{INVALID}expected response.uid="UID", got "x"'),
    (
        lambda asked: raw(json.dumps({"response": {"uid": asked["request"]["uid"]}}).encode())(asked),
        f"{INVALID}expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
    ),
    (
        review({}, apiVersion="admission.k8s.io/v1beta1"),
        f"{CALL}converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
    ),
    (
        review({}, kind="Pod", apiVersion="v1"),
        f'{CALL}no kind "Pod" is registered for version "v1" in scheme "{SCHEME}"',
    ),
    (
        review({"allowed": "yes"}),
        f"{CALL}json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
    ),
    (review({"patch": "e30="}), f"{INVALID}validating webhook may not return response.patch"),
    (review({"patchType": "JSONPatch"}), f"{INVALID}validating webhook may not return response.patchType"),
    (review({"patch": "e30=!"}), f"{CALL}illegal base64 data at input byte 4"),
    (raw(b"no", 404, "text/plain"), f"{CALL}the server could not find the requested resource"),
    (raw(b"no", 403, "text/plain"), f"{CALL}no"),
    (
        raw(b"no", 418, "text/plain"),
        f"{CALL}the server responded with the status code 418 but did not return more information",
    ),
    (
        raw(b"boom", 500, "text/plain"),
        f'{CALL}an error on the server ("boom") has prevented the request from succeeding',
    ),
    (raw(b"boom", 502), f'{CALL}an error on the server ("unknown") has prevented the request from succeeding'),
    (
        raw(b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"tired","code":503}', 503),
        f"{CALL}tired",
    ),
]


@pytest.mark.parametrize(("answer", "message"), WRONG)
async def test_a_wrong_answer_refuses_the_request_unless_failures_are_ignored(
    api, hook, hooks, config_map, answer, message
):
    hook.answers["/v"] = answer
    await hooks.validating("/v")
    reply = await api.post(MAPS, config_map())
    uid = hook.requests("/v")[0]["uid"]
    assert (reply.code, reply.json["reason"], reply.message) == (500, "InternalError", message.replace("UID", uid))
    assert reply.json["details"]["causes"] == [{"message": reply.message.removeprefix("Internal error occurred: ")}]
    configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    ignoring = {"webhooks": [hooks.webhook("/v", failurePolicy="Ignore")]}
    assert (await api.patch(f"{configurations}/v", ignoring)).code == 200
    assert (await api.post(MAPS, config_map())).code == 201


PATCHES = [
    (
        [{"op": "add", "path": "/data/x/y", "value": 1}],
        'add operation does not apply: doc is missing path: "/data/x/y": missing value',
    ),
    (
        [{"op": "remove", "path": "/data"}],
        "error in remove for path: '/data': Unable to remove nonexistent key: data: missing value",
    ),
    ([{"op": "test", "path": "/metadata/name", "value": "z"}], "testing value /metadata/name failed: test failed"),
    ([{"op": "jump", "path": "/data"}], "Unexpected kind: jump"),
    ([{"op": "add", "path": "/data", "value": 7}], None),
]


@pytest.mark.parametrize(("operations", "message"), PATCHES)
async def test_a_patch_that_does_not_apply_is_an_error_whatever_the_failure_policy(
    api, hook, hooks, config_map, operations, message
):
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    hook.answers["/v"] = lambda _review: {"allowed": True, "patchType": "JSONPatch", "patch": patch}
    await hooks.mutating("/v", failurePolicy="Ignore")
    reply = await api.post(MAPS, config_map())
    assert (reply.code, reply.json["reason"]) == (500, "InternalError")
    if message is not None:
        assert reply.message == f"Internal error occurred: {message}"


UNDECODABLE = f"{FAILED}received undecodable patch in webhook response: "
MUTATING = [
    ({"patch": "e30="}, f"{INVALID}webhook returned response.patch but not response.patchType"),
    ({"patchType": "JSONPatch"}, f"{INVALID}webhook returned response.patchType but not response.patch"),
    ({"patchType": "", "patch": "e30="}, f'{INVALID}webhook returned invalid response.patchType of ""'),
    ({"patchType": "Merge", "patch": "W3t9XQ=="}, f'{FAILED}unsupported patch type "Merge"'),
    (
        {"patchType": "JSONPatch", "patch": "e30="},
        f"{UNDECODABLE}json: cannot unmarshal object into Go value of type jsonpatch.Patch",
    ),
    (
        {"patchType": "JSONPatch", "patch": "eA=="},
        f"{UNDECODABLE}invalid character 'x' looking for beginning of value",
    ),
]


@pytest.mark.parametrize(("response", "message"), MUTATING)
async def test_a_mutating_webhook_has_to_give_a_patch_with_its_type(api, hook, hooks, config_map, response, message):
    hook.answers["/v"] = review(response)
    await hooks.mutating("/v")
    assert (await api.post(MAPS, config_map())).message == message


async def test_a_webhook_that_never_answers_is_given_up_when_its_time_is_over(api, hook, hooks, config_map):
    never = asyncio.Event()
    hook.answers["/v"] = lambda _review: never.wait()
    await hooks.validating("/v", timeoutSeconds=1)
    message = f'{CALL}Post "{hook.url}/v?timeout=1s": context deadline exceeded'
    assert (await api.post(MAPS, config_map())).message == message


async def test_a_webhook_that_hangs_up_is_at_its_end_of_file(api, hook, hooks, config_map):
    hook.answers["/v"] = HANG_UP
    await hooks.validating("/v")
    assert (await api.post(MAPS, config_map())).message == f'{CALL}Post "{hook.url}/v?timeout=10s": EOF'


async def test_a_webhook_that_does_not_listen_is_refused_a_connection(api, hook, hooks, config_map):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    url = f"https://127.0.0.1:{port}/v"
    await hooks.validating("/v", clientConfig={"url": url, "caBundle": hook.ca_bundle})
    message = f'{CALL}Post "{url}?timeout=10s": dial tcp 127.0.0.1:{port}: connect: connection refused'
    assert (await api.post(MAPS, config_map())).message == message


async def test_a_redirect_is_followed_as_far_as_gos_client_follows_it(api, hook, hooks, config_map):
    hook.answers["/v"] = allow
    hook.answers["/old"] = lambda _review: web.Response(status=307, headers={"Location": "/v"})
    hook.answers["/loop"] = lambda _review: web.Response(status=308, headers={"Location": "/loop"})
    await hooks.validating("/old", name="v.example.com")
    assert (await api.post(MAPS, config_map())).code == 201
    await hooks.validating("/loop", name="v.example.com")
    message = f'{CALL}Post "{hook.url}/loop": stopped after 10 redirects'
    assert (await api.post(MAPS, config_map("b"))).message in (message, message.replace('/loop"', '/loop?timeout=10s"'))


async def test_an_answer_without_end_is_given_up(api, hook, hooks, config_map, monkeypatch):
    monkeypatch.setattr(client_module, "MAX_ANSWER", 1000)
    hook.answers["/v"] = raw(b"x" * 2000)
    await hooks.validating("/v")
    reply = await api.post(MAPS, config_map())
    assert reply.message == (
        f"{CALL}unexpected error when reading response body. Please retry. Original error: "
        "the response is larger than 1000 bytes"
    )


async def test_a_webhook_without_tls_is_named_so(api, hooks, config_map):
    async def greet(_reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v"
        await hooks.validating("/v", clientConfig={"url": url})
        message = f'{CALL}Post "{url}?timeout=10s": http: server gave HTTP response to HTTPS client'
        assert (await api.post(MAPS, config_map())).message == message


async def test_a_certificate_by_another_authority_or_for_another_name_is_refused(
    api, hook, hooks, config_map, tmp_path
):
    certificates(tmp_path / "other")
    other = base64.b64encode((tmp_path / "other" / "ca.crt").read_bytes()).decode()
    await hooks.validating("/v", clientConfig={"url": f"{hook.url}/v", "caBundle": other})
    unknown = (
        f'{CALL}Post "{hook.url}/v?timeout=10s": tls: failed to verify certificate: x509: certificate signed by '
        'unknown authority (possibly because of "x509: ECDSA verification failure" while trying to verify candidate '
        'authority certificate "mockube-ca")'
    )
    assert (await api.post(MAPS, config_map())).message == unknown
    async with hook_server(tmp_path / "named", names=("other.example.com",)) as named:
        await hooks.register(
            "validating",
            "a",
            hooks.webhook("/v", clientConfig={"url": f"{named.url}/v", "caBundle": named.ca_bundle}),
        )
        reply = await api.post(MAPS, config_map())
        assert reply.message == (
            f'{CALL}Post "{named.url}/v?timeout=10s": tls: failed to verify certificate: x509: cannot validate '
            "certificate for 127.0.0.1 because it doesn't contain any IP SANs"
        )


async def test_connections_are_kept_and_one_that_was_closed_meanwhile_is_replaced(
    api, hook_certificates, hooks, config_map
):
    async with hook_server(hook_certificates) as first:
        first.answers["/v"] = allow
        port = first.port
        await hooks.validating("/v", clientConfig={"url": f"{first.url}/v", "caBundle": first.ca_bundle})
        for name in ("a", "b", "c"):
            assert (await api.post(MAPS, config_map(name))).code == 201
        assert len(set(first.peers)) == 1
    async with hook_server(hook_certificates, port=port) as second:
        second.answers["/v"] = allow
        assert (await api.post(MAPS, config_map("d"))).code == 201
