"""Methods on paths of custom resources: the server derives a verb, and knows no routes."""

import asyncio
import json

import pytest

GROUP = "example.com"
ALL = f"/apis/{GROUP}/v1/widgets"
HERE = f"/apis/{GROUP}/v1/namespaces/default/widgets"
ONE = f"{HERE}/a"
CLUSTER = f"/apis/{GROUP}/v1/depots"
MERGE = "application/merge-patch+json"


def widget(name="a"):
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}}


@pytest.fixture
async def widgets(api, customs):
    """A kind with status and scale in namespaces, one without namespaces, and an object."""
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    await customs.define(version={"subresources": {"status": {}, "scale": scale}})
    await customs.define(plural="depots", kind="Depot", scope="Cluster", names={"shortNames": []})
    assert (await api.post(HERE, widget() | {"spec": {"size": 1}})).code == 201
    return api


def unsupported(verb):
    return f'{verb} is not supported on resources of kind "widgets.{GROUP}"'


@pytest.mark.parametrize(
    ("method", "path", "verb"),
    [
        ("OPTIONS", HERE, ""),
        ("OPTIONS", ONE, ""),
        ("TRACE", ONE, ""),
        ("POST", f"{ONE}/status", "create"),
        ("DELETE", f"{ONE}/status", "delete"),
        ("OPTIONS", f"{ONE}/status", ""),
        ("POST", f"{ONE}/scale", "create"),
        ("DELETE", f"{ONE}/scale", "delete"),
        ("GET", f"/apis/{GROUP}/v1/watch/namespaces/default/widgets/a/status", "watch"),
    ],
)
async def test_a_verb_that_a_path_does_not_have_is_named(widgets, method, path, verb):
    refused = await widgets.ask(method, path)
    assert (refused.code, refused.json["reason"], refused.message) == (405, "MethodNotAllowed", unsupported(verb))
    assert refused.json["details"] == {"group": GROUP, "kind": "widgets"}
    assert refused.text.endswith("}\n")


@pytest.mark.parametrize("path", [HERE, CLUSTER])
@pytest.mark.parametrize(("method", "media"), [("PUT", "application/json"), ("PATCH", MERGE)])
async def test_a_collection_cannot_be_changed_since_no_name_is_provided(widgets, method, media, path):
    refused = await widgets.ask(method, path, widget(), Content_Type=media)
    assert (refused.code, refused.json["reason"], refused.message) == (400, "BadRequest", "name must be provided")


async def test_the_type_of_a_patch_is_looked_at_before_its_name(widgets):
    refused = await widgets.ask("PATCH", HERE, {}, Content_Type="application/json")
    assert refused.code == 415


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", ALL),
        ("PUT", ALL),
        ("DELETE", ALL),
        ("OPTIONS", ALL),
        ("GET", f"{ALL}/a"),
        ("GET", f"/apis/{GROUP}/v1/namespaces/default/depots"),
        ("POST", f"/apis/{GROUP}/v1/namespaces/default/depots"),
    ],
)
async def test_what_needs_a_namespace_or_has_none_is_not_found_without_or_with_one(widgets, method, path):
    reply = await widgets.ask(method, path)
    assert (reply.code, reply.text) == (404, "404 page not found\n")
    assert reply.headers["Content-Type"].startswith("text/plain")


async def test_a_head_of_an_object_or_list_is_a_get_without_its_body(widgets):
    for path in (ONE, HERE, ALL, f"{ONE}/status", f"{ONE}/scale"):
        head, whole = await widgets.ask("HEAD", path), await widgets.get(path)
        assert (head.code, head.raw, head.headers["Content-Type"]) == (200, b"", "application/json"), path
        assert head.headers["Content-Length"] == str(len(whole.raw))
    assert (await widgets.ask("HEAD", f"{HERE}/none")).code == 404


async def test_a_post_to_an_object_makes_the_one_of_its_body(widgets):
    taken = await widgets.post(ONE, widget())
    assert (taken.code, taken.message) == (409, f'widgets.{GROUP} "a" already exists')
    made = await widgets.post(ONE, widget("b"))
    assert (made.code, made.json["metadata"]["name"]) == (201, "b")


async def test_what_follows_a_subresource_is_ignored(widgets):
    assert (await widgets.get(f"{ONE}/status/more/of/it")).json["metadata"]["name"] == "a"


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
async def test_the_path_of_a_watch_takes_any_method(widgets, method):
    path = f"{widgets.url}/apis/{GROUP}/v1/watch/namespaces/default/widgets?timeoutSeconds=1"
    async with widgets.session.request(method, path) as answer:
        event = json.loads(await answer.content.readline())
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")


async def test_an_object_is_not_watched_by_its_path_but_read(widgets):
    reply = await widgets.get(f"{ONE}?watch=true")
    assert reply.raw == (await widgets.get(ONE)).raw
    assert reply.text.endswith("}\n")


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH", "OPTIONS"])
async def test_documents_of_discovery_take_any_method(widgets, method):
    for path in ("/apis", "/apis/apps", f"/apis/{GROUP}", f"/apis/{GROUP}/v1"):
        reply = await widgets.ask(method, path)
        assert (reply.code, reply.raw) == (200, (await widgets.get(path)).raw), path


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "OPTIONS", "HEAD"])
async def test_those_behind_routes_take_no_method_but_get(api, method):
    for path in ("/api", "/api/v1", "/apis/apps/v1", "/apis/apiregistration.k8s.io", "/version"):
        assert (await api.ask(method, path)).code == 405, path


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (ONE, unsupported("")),
        (f"/apis/{GROUP}/v1/nothings", f' is not supported on resources of kind "nothings.{GROUP}"'),
        ("/apis/apps/v1/namespaces/default/deployments", "the server does not allow this method"),
        ("/api/v1/pods", "the server does not allow this method"),
        ("/version", "the server does not allow this method"),
    ],
)
async def test_a_method_that_http_does_not_know_is_answered_as_the_path_says(api, path, words):
    host, _, port = api.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"FOO {path}?a=b HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    answer = (await asyncio.wait_for(reader.read(), 20)).decode()
    writer.close()
    assert " 405 " in answer.partition("\r\n")[0]
    assert words in json.loads(answer.partition("\r\n\r\n")[2])["message"]


# -- what is accepted


@pytest.mark.parametrize("accept", ["application/*", "*/*", "*", "text/html, */*;q=0.1", "application/json;q=0"])
async def test_any_clause_that_json_matches_will_do(widgets, accept):
    assert (await widgets.get(ONE, Accept=accept)).headers["Content-Type"] == "application/json"


ACCEPTED = (
    "only the following media types are accepted: application/json, application/yaml, "
    "application/vnd.kubernetes.protobuf"
)


@pytest.mark.parametrize("path", [ONE, HERE, f"{HERE}?watch=1", "/apis", "/apis/apps", f"/apis/{GROUP}/v1"])
@pytest.mark.parametrize("accept", ["text/html", "application/cbor", "nonsense", "application/json;stream=other"])
async def test_nothing_acceptable_names_what_would_be_to_people(widgets, path, accept):
    refused = await widgets.get(path, Accept=accept)
    assert (refused.code, refused.json["reason"], refused.message) == (406, "NotAcceptable", ACCEPTED)
    assert "details" not in refused.json
    assert refused.text.startswith('{\n  "kind": "Status",')


@pytest.mark.parametrize(
    ("path", "streams"),
    [
        ("/api/v1/namespaces/default/configmaps/a", ""),
        ("/api/v1", ""),
        (
            "/api/v1/namespaces/default/configmaps",
            ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
        ),
    ],
)
async def test_routes_say_so_before_anything_else_is_looked_at(api, path, streams):
    refused = await api.get(path, Accept="application/*")
    available = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    assert refused.code == 406
    assert refused.message == f"406: Not Acceptable\n\nAvailable representations: {available}{streams}"
    assert refused.json["details"] == {}


async def test_who_would_rather_have_protobuf_gets_errors_in_it(widgets):
    refused = await widgets.get(f"{HERE}/none", Accept="application/vnd.kubernetes.protobuf, application/json")
    assert (refused.code, refused.headers["Content-Type"]) == (404, "application/vnd.kubernetes.protobuf")
    assert refused.raw.startswith(b"k8s\x00\n\x0c\n\x02v1\x12\x06Status")
    assert f'widgets.{GROUP} "none" not found'.encode() in refused.raw
    reply = await widgets.get(ONE, Accept="application/vnd.kubernetes.protobuf, application/json")
    assert reply.json["kind"] == "Widget"


# -- metadata alone


PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


async def test_metadata_of_a_list_and_a_list_of_one_are_refused_in_go_s_words(widgets):
    of_list = await widgets.get(HERE, Accept=PARTIAL)
    message = "you requested PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)"
    assert (of_list.code, of_list.message) == (406, message)
    of_one = await widgets.get(ONE, Accept=PARTIAL.replace("Metadata;", "MetadataList;"))
    assert (of_one.code, of_one.message, of_one.json.get("reason")) == (500, "content is not a list", None)


async def test_a_scale_has_metadata_too(widgets):
    partial = (await widgets.get(f"{ONE}/scale", Accept=PARTIAL)).json
    assert partial.keys() == {"kind", "apiVersion", "metadata"}
    assert (partial["kind"], partial["metadata"]["name"]) == ("PartialObjectMetadata", "a")
    refused = await widgets.get(f"{ONE}/scale", Accept=PARTIAL.replace("Metadata;", "MetadataList;"))
    assert refused.message.endswith("the requested object is not a list (*v1.Scale)")


# -- what a body is

UNREADABLE = "couldn't get version/kind; json parse error: json: "


@pytest.mark.parametrize(
    ("body", "media", "why"),
    [
        (b"null", "application/json", "Object 'Kind' is missing in 'null' (6e756c6c)"),
        (b"", "application/yaml", "Object 'Kind' is missing in '' (<empty>)"),
        (b"a: b\n", "application/yaml", "Object 'Kind' is missing in 'a: b\n' (613a20620a)"),
        (b"{}", "application/json", "Object 'Kind' is missing in '{}' ({})"),
        (
            b'{"apiVersion": "a/b/c", "metadata": {}}',
            "application/json",
            'unexpected GroupVersion string: a/b/c ({"apiVersion": "a/b/c", "metad ...)',
        ),
        (
            b'{"kind": 1}',
            "application/json",
            f'{UNREADABLE}cannot unmarshal number into Go struct field .kind of type string ({{"kind": 1}})',
        ),
    ],
)
async def test_a_body_of_no_kind_is_told_by_its_first_bytes(widgets, body, media, why):
    refused = await widgets.post(HERE, body, Content_Type=media)
    message = f"the object provided is unrecognized (must be of type Widget): {why}"
    assert (refused.code, refused.message) == (400, message)


async def test_built_in_kinds_tell_the_bytes_of_such_bodies_too(api):
    refused = await api.post("/api/v1/namespaces/default/configmaps", {"apiVersion": "a/b/c"})
    assert refused.message.endswith('unexpected GroupVersion string: a/b/c ({"apiVersion": "a/b/c"})')


# -- the odd ones


async def test_a_deletion_that_a_client_claims_is_nobody_s(widgets):
    made = await widgets.post(
        HERE, widget("c") | {"metadata": {"name": "c", "deletionTimestamp": "2020-01-01T00:00:00Z"}}
    )
    assert made.code == 201
    assert made.json["metadata"].keys().isdisjoint({"deletionTimestamp", "managedFields"})


async def test_a_watch_of_tables_ends_its_beginning_with_a_row_of_nothing(widgets):
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    table = "application/json;as=Table;g=meta.k8s.io;v=v1"
    async with widgets.watch(f"{HERE}?{query}&includeObject=None", Accept=table) as watched:
        first, end = (event["object"] for event in await watched.take(2))
    assert first["columnDefinitions"][0]["name"] == "Name"
    assert (end["columnDefinitions"], end["metadata"]) == (None, {"resourceVersion": str(widgets.now)})
    (row,) = end["rows"]
    meta = {"resourceVersion": str(widgets.now), "annotations": {"k8s.io/initial-events-end": "true"}}
    assert row["cells"] == ["", None]
    assert row["object"] == {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": meta}
    async with widgets.watch(f"{HERE}?{query}&labelSelector=none", Accept=table) as watched:
        (only,) = await watched.take(1)
    assert only["object"]["columnDefinitions"] == first["columnDefinitions"]
