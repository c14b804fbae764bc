"""wire.md, section 2: what is sent and taken, in which form."""

import gzip
import json

import pytest
import yaml

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


# Bodies.


async def test_a_body_may_be_yaml(api) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  day: 2020-01-01\n  yes: 'y'\n"
    reply = await api.post(CONFIG_MAPS, text, Content_Type="application/yaml")
    assert (reply.code, reply.json["data"]) == (201, {"day": "2020-01-01", "true": "y"})


async def test_a_body_without_a_type_is_json(api) -> None:
    assert (await api.post(CONFIG_MAPS, b'{"metadata":{"name":"a"}}', Content_Type="")).code == 201


@pytest.mark.parametrize("media", ["text/plain", "application/xml", "application/x-www-form-urlencoded", "nonsense"])
async def test_a_body_of_another_type_is_415(api, media: str) -> None:
    reply = await api.post(CONFIG_MAPS, b'{"metadata":{"name":"a"}}', Content_Type=media)
    assert (reply.code, reply.json["reason"]) == (415, "UnsupportedMediaType")


@pytest.mark.parametrize("media", ["application/json", "application/strategic+json", "text/plain", ""])
async def test_a_patch_of_an_unknown_type_is_415(api, media: str) -> None:
    await api.make("a")
    reply = await api.ask("PATCH", f"{CONFIG_MAPS}/a", b"{}", Content_Type=media)
    assert (reply.code, reply.json["reason"]) == (415, "UnsupportedMediaType")


# Answers.


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("application/yaml", "application/yaml"),
        ("application/yaml, application/json", "application/yaml"),
        ("application/json;q=0.5, application/yaml", "application/yaml"),
        ("application/vnd.kubernetes.protobuf, application/json", "application/json"),
        ("application/vnd.kubernetes.protobuf, */*", "application/json"),
        ("text/html, */*;q=0.1", "application/json"),
        ("application/json;as=Table;g=meta.k8s.io;v=v9, application/json", "application/json"),
        ("application/json;as=Nonsense;g=meta.k8s.io;v=v1, application/yaml", "application/yaml"),
    ],
)
async def test_the_first_form_that_can_be_had_is_taken(api, accept: str, media: str) -> None:
    await api.make("a")
    reply = await api.get(f"{CONFIG_MAPS}/a", Accept=accept)
    assert (reply.code, reply.headers["Content-Type"]) == (200, media)
    assert yaml.safe_load(reply.raw)["kind"] == "ConfigMap"


@pytest.mark.parametrize(
    "accept",
    ["application/vnd.kubernetes.protobuf", "text/html", "image/png", f"{TABLE.replace('v=v1', 'v=v9')}"],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_nothing_acceptable_is_406_and_nothing_is_done(api, accept: str, method: str) -> None:
    body = {"metadata": {"name": "a"}} if method == "POST" else None
    reply = await api.ask(method, CONFIG_MAPS, body, Accept=accept)
    assert reply.code == 406
    assert b"NotAcceptable" in reply.raw
    assert (await api.get(CONFIG_MAPS)).json["items"] == []


async def test_yaml_has_its_keys_in_order_and_errors_are_yaml_too(api) -> None:
    await api.make("a", data={"b": "1", "a": "2"})
    reply = await api.get(f"{CONFIG_MAPS}/a", Accept="application/yaml")
    assert reply.text.startswith("apiVersion: v1\ndata:\n  a: '2'\n  b: '1'\nkind: ConfigMap\nmetadata:\n")
    missing = await api.get(f"{CONFIG_MAPS}/b", Accept="application/yaml")
    assert (missing.code, missing.headers["Content-Type"]) == (404, "application/yaml")
    assert yaml.safe_load(missing.raw)["reason"] == "NotFound"


async def test_a_list_as_table(api) -> None:
    await api.make("a", data={"x": "y"})
    table = (await api.get(CONFIG_MAPS, Accept=TABLE)).json
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert table["metadata"] == {"resourceVersion": str(api.now)}
    (row,) = table["rows"]
    assert row["cells"][:2] == ["a", 1]
    assert row["object"]["kind"] == "PartialObjectMetadata"


@pytest.mark.parametrize(
    ("include", "kind"), [("None", None), ("Metadata", "PartialObjectMetadata"), ("Object", "ConfigMap")]
)
async def test_what_rows_carry_of_their_objects(api, include: str, kind: str | None) -> None:
    await api.make("a")
    for path in (CONFIG_MAPS, f"{CONFIG_MAPS}/a"):
        (row,) = (await api.get(f"{path}?includeObject={include}", Accept=TABLE)).json["rows"]
        assert (row["object"] or {}).get("kind") == kind


async def test_rows_cannot_carry_anything_else(api) -> None:
    reply = await api.get(f"{CONFIG_MAPS}?includeObject=All", Accept=TABLE)
    assert reply.code == 400
    assert "must be 'Metadata', 'Object', 'None', or empty" in reply.message


async def test_metadata_alone_of_one_and_of_many(api) -> None:
    await api.make("a", data={"x": "y"})
    one = (await api.get(f"{CONFIG_MAPS}/a", Accept=PARTIAL)).json
    assert one.keys() == {"kind", "apiVersion", "metadata"}
    many = (await api.get(CONFIG_MAPS, Accept=PARTIAL_LIST)).json
    assert many["kind"] == "PartialObjectMetadataList"
    assert many["items"] == [one]


@pytest.mark.parametrize(("path", "accept"), [(CONFIG_MAPS, PARTIAL), (f"{CONFIG_MAPS}/a", PARTIAL_LIST)])
async def test_one_is_not_many(api, path: str, accept: str) -> None:
    await api.make("a")
    assert (await api.get(path, Accept=accept)).code == 406


async def test_writes_answer_in_the_form_asked_for(api) -> None:
    made = await api.post(CONFIG_MAPS, {"metadata": {"name": "a"}}, Accept=TABLE)
    assert (made.code, made.json["kind"], made.json["rows"][0]["cells"][0]) == (201, "Table", "a")
    deleted = await api.delete(f"{CONFIG_MAPS}/a", Accept=TABLE)
    assert deleted.code == 200


async def test_a_dry_run_as_table_shows_what_would_be_and_leaves_tables_as_they_are(api) -> None:
    await api.make("a", data={"x": "y"})
    change = b'{"data":{"z":"z"}}'
    merge = {"Content_Type": "application/merge-patch+json", "Accept": TABLE}
    dry = await api.ask("PATCH", f"{CONFIG_MAPS}/a?dryRun=All", change, **merge)
    assert dry.json["rows"][0]["cells"][1] == 2
    assert (await api.get(CONFIG_MAPS, Accept=TABLE)).json["rows"][0]["cells"][1] == 1
    again = await api.ask("PATCH", f"{CONFIG_MAPS}/a?dryRun=All", change, **merge)
    assert again.json["rows"][0]["cells"][1] == 2


@pytest.mark.parametrize(
    ("query", "headers", "pretty"),
    [
        ("", {}, False),
        ("?pretty=true", {}, True),
        ("?pretty=1", {}, True),
        ("?pretty=false", {"User_Agent": "curl/8"}, False),
        ("", {"User_Agent": "curl/8"}, True),
        ("", {"User_Agent": "Mozilla/5.0"}, True),
        ("", {"User_Agent": "kubectl/v1.33"}, False),
        ("", {"Accept": "application/json;pretty=1"}, True),
    ],
)
async def test_who_reads_it_with_their_eyes_gets_line_breaks(
    api, *, query: str, headers: dict[str, str], pretty: bool
) -> None:
    await api.make("a")
    for path in (CONFIG_MAPS, f"{CONFIG_MAPS}/a", "/api", "/apis/apps/v1"):
        reply = await api.get(path + query, **headers)
        assert (b"\n  " in reply.raw) is pretty, path
        assert reply.json["kind"]


@pytest.mark.parametrize(
    ("accepted", "zipped"),
    [("gzip", True), ("deflate, gzip", True), ("", False), ("identity", False), ("gzip;q=0", False), ("x-gzip", False)],
)
async def test_a_large_answer_is_zipped_for_who_wants_it(api, *, accepted: str, zipped: bool) -> None:
    await api.make("a", data={"x": "x" * 200_000})
    # a client of its own reads the bytes as they come
    async with api.session.get(
        f"{api.url}{CONFIG_MAPS}/a", headers={"Accept-Encoding": accepted}, auto_decompress=False
    ) as response:
        raw = await response.read()
    assert (response.headers.get("Content-Encoding") == "gzip") is zipped
    assert ("Accept-Encoding" in response.headers.get("Vary", "")) is zipped
    assert int(response.headers["Content-Length"]) == len(raw)
    assert json.loads(gzip.decompress(raw) if zipped else raw)["metadata"]["name"] == "a"


async def test_a_small_answer_is_not_zipped(api) -> None:
    reply = await api.get(CONFIG_MAPS, Accept_Encoding="gzip")
    assert "Content-Encoding" not in reply.headers


async def test_every_answer_has_its_headers(api) -> None:
    seen = set()
    for path in (CONFIG_MAPS, f"{CONFIG_MAPS}/none", "/nowhere", "/api", "/healthz"):
        reply = await api.get(path)
        assert reply.headers["Cache-Control"] == "no-cache, private"
        assert "Date" in reply.headers
        seen.add(reply.headers["Audit-Id"])
    assert len(seen) == 5


async def test_a_client_may_name_the_audit_id(api) -> None:
    assert (await api.get(CONFIG_MAPS, Audit_Id="mine")).headers["Audit-Id"] == "mine"


async def test_warnings_are_quoted(api) -> None:
    reply = await api.post(CONFIG_MAPS, {"metadata": {"name": "a"}, "nonsense": 1})
    assert reply.code == 201
    assert reply.headers["Warning"] == '299 - "unknown field \\"nonsense\\""'


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/apis", "/openapi/v3"])
async def test_head_answers_as_get_does_without_a_body(api, path: str) -> None:
    got, head = await api.get(path), await api.ask("HEAD", path)
    assert (head.code, head.raw) == (200, b"")
    if path != "/metrics":  # which has changed between the two
        assert head.headers["Content-Length"] == str(len(got.raw))


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PUT"])
async def test_a_method_that_a_path_does_not_take_is_405(api, method: str) -> None:
    reply = await api.ask(method, CONFIG_MAPS)
    assert reply.code == 405
    assert reply.raw == b"" if method == "HEAD" else reply.json["reason"] == "MethodNotAllowed"


@pytest.mark.parametrize(
    "path", ["/nowhere", "/api/v2", "/apis/none.example.com/v1", "/api/v1/nones", "/apis/apps/v9/deployments"]
)
async def test_an_unknown_path_is_404(api, path: str) -> None:
    assert (await api.get(path)).code == 404


async def test_flow_schemas_stand_in_a_table_by_precedence(api) -> None:
    path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
    table = (await api.get(path, Accept=TABLE)).json
    names = [column["name"] for column in table["columnDefinitions"]]
    precedence = [row["cells"][names.index("MatchingPrecedence")] for row in table["rows"]]
    assert precedence == sorted(precedence)
    assert len(precedence) > 5


async def test_a_large_yaml_body_is_read_beside_other_requests(api) -> None:
    text = "metadata: {name: large}\ndata:\n" + "".join(f"  k{i}: v{i}\n" for i in range(20_000))
    reply = await api.post(CONFIG_MAPS, text.encode(), Content_Type="application/yaml")
    assert (reply.code, len(reply.json["data"])) == (201, 20_000)
