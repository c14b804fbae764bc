"""Odd requests, thousands of them: each has a well-formed answer, nothing is logged as an error, and the server lives.

They are the same in every run. `FUZZ_SEED=N pytest tests/fuzz` tries others, and a failure tells the smallest request.
"""

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import given as drawn
from hypothesis import strategies as st

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.release import load_release

SEED = int(os.environ.get("FUZZ_SEED", "2"))
TOKEN = b"Bearer secret"
RELEASE = load_release("1.37")
ROWS = RELEASE.rows
SAMPLES = yaml.safe_load((Path(__file__).parents[1] / "server" / "minimal.yaml").read_text())
TEXTS = (b"text/plain", b"application/json", b"application/yaml")

odd_requests = settings(
    max_examples=int(os.environ.get("FUZZ_REQUESTS", "5000")),
    database=None,
    deadline=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)

# Values

STRINGS = (
    "", " ", "a", "x", "A", "a.b", "a/b", "a/b/c", "-", "a-", "0", "-1", "1", "1.5", "1e400", "NaN", "80", "65536", "%", "50%", "150%",
    "\0", "\n", "é", "😀", "\ud800", "a" * 64, "a" * 254, "..", ".", "*", "true", "null", "10.0.0.1", "::1", "10.0.0.0/8", "1Gi", "-1Gi",
    "1Q", "100m", "0.0000000001", "99999999999999999999Ei", "TCP", "UDP", "ClusterIP", "None", "Never", "Always", "ExternalName",
    "LoadBalancer", "Recreate", "Delete", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456Z", "9999-99-99T00:00:00Z", "now",
    "example.com/a", "kubernetes.io/tls", "{}", "[", '{"a":1}', "$(a)", "/a", "../a", "/a:b", "http://a/", "* * * * *", "@every 1s", "Opaque",
    "In", "Exists", "Equals", "Gt", "hostname", "Pod", "v1", "apps/v1",
)  # fmt: skip
NUMBERS = (
    0,
    1,
    -1,
    2,
    7,
    80,
    65535,
    65536,
    2**31 - 1,
    2**31,
    -(2**31) - 1,
    2**53,
    2**63 - 1,
    2**63,
    -(2**63),
    2**64,
    10**30,
    0.5,
    -0.0,
    1e300,
)
LEAVES = st.sampled_from((None, True, False, [], {}, [None], {"a": None}, *NUMBERS, *STRINGS))
JUNK = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(STRINGS), inner, max_size=3),
    max_leaves=6,
)
TYPED = {
    "string": st.sampled_from(STRINGS),
    "integer": st.sampled_from([n for n in NUMBERS if isinstance(n, int)]),
    "number": st.sampled_from(NUMBERS),
    "boolean": st.booleans(),
}


@st.composite
def like(draw: Any, schema: Obj, depth: int = 7) -> Any:
    """A value that mostly has the schema's types, and hardly ever its sense."""
    if draw(st.integers(0, 30)) == 17:
        return draw(JUNK)
    if "$ref" in schema:
        schema = RELEASE.definitions[schema["$ref"].rpartition("/")[2]]
    if properties := schema.get("properties"):
        wanted = [*schema.get("required", ()), *draw(st.lists(st.sampled_from(sorted(properties)), max_size=4))]
        return {name: draw(like(properties[name], depth - 1)) for name in wanted} if depth else {}
    kind = schema.get("type", "")
    kind = kind if isinstance(kind, str) else kind[0]
    if kind == "array":
        return [draw(like(schema["items"], depth - 1)) for _ in range(draw(st.integers(0, 2)))] if depth else []
    if isinstance(schema.get("additionalProperties"), dict):
        names = draw(st.lists(st.sampled_from(STRINGS), max_size=2))
        return {name: draw(like(schema["additionalProperties"], depth - 1)) for name in names}
    return draw(st.sampled_from(schema["enum"]) if "enum" in schema else TYPED.get(kind, LEAVES))


def sample(row: Resource) -> Obj:
    kind = SAMPLES.get(f"{row.plural}.{row.group}", {})
    body = SAMPLES.get(f"{row.plural}.{row.version}.{row.group}", kind)
    found: Obj = {"kind": row.kind, "apiVersion": row.api_version, "metadata": {"name": "x"}} | body
    return found


@st.composite
def mutated(draw: Any, value: Any, schema: Obj) -> Any:
    """The value with something in it replaced by what is like its schema, or by junk; or one more field."""
    if "$ref" in schema:
        schema = RELEASE.definitions[schema["$ref"].rpartition("/")[2]]
    if isinstance(value, dict):
        known = schema.get("properties") or {}
        names = sorted({*value, *known}, key=str)
        if names and draw(st.integers(0, 9)):
            name = draw(st.sampled_from(names))
            inner = known.get(name) or schema.get("additionalProperties") or {}
            inner = inner if isinstance(inner, dict) else {}
            return value | {name: draw(mutated(value[name], inner) if name in value else like(inner))}
    if isinstance(value, list) and value and draw(st.integers(0, 4)):
        place = draw(st.integers(0, len(value) - 1))
        return [
            *value[:place],
            draw(mutated(value[place], schema.get("items", {}))),
            *value[place + draw(st.integers(0, 1)) :],
        ]
    return draw(like(schema) if draw(st.integers(0, 5)) else JUNK)


@st.composite
def objects(draw: Any, row: Resource) -> Any:
    """An object that is not quite one of the kind."""
    definition = RELEASE.definitions[row.definition]
    obj = draw(like(definition)) if draw(st.integers(0, 3)) == 3 else sample(row)
    for _ in range(draw(st.integers(0, 3))):
        obj = draw(mutated(obj, definition))
    if isinstance(obj, dict) and draw(st.integers(0, 9)):
        meta = obj.get("metadata")
        name = {"name": draw(NAMES)} if draw(st.integers(0, 5)) else {"generateName": draw(NAMES)}
        return obj | {
            "kind": row.kind,
            "apiVersion": row.api_version,
            "metadata": (meta if isinstance(meta, dict) else {}) | name,
        }
    return obj


NAMES = st.sampled_from((*"abcdefgh", "x", "a-", "default", "kubernetes", *STRINGS[:12]))
JSON_TEXTS = (
    b"", b" ", b"null", b"[]", b"7", b'"a"', b"{", b'{"a":', b'{"a":1}x', b'{"metadata":{"name":"x","name":"y"}}', b'{"spec":{},"spec":7}',
    b'{"metadata":{"name":"\xff"}}', b'{"metadata":{"name":"\x00"}}', b'{"metadata":{"name":"\\u0000"}}', b'{"metadata":{"name":"\\ud800"}}',
    b"\xef\xbb\xbf{}", b"[" * 20000, b'{"a":' * 20000, b'{"spec":' * 3000 + b"1" + b"}" * 3000, b'{"data":' + b"[" * 500 + b"]" * 500 + b"}",
    b'{"metadata":{"generation":1e999}}', b'{"metadata":{"generation":' + b"9" * 5000 + b"}}", b"{}" * 2, b'{"kind":7}', b'{"kind":[],"apiVersion":{}}',
    b"\x00\x01", b"k8s\x00", b"k8s\x00\x0a\x04\x0a\x02v1", b"k8s\x00" + b"\xff" * 40, b"k8s\x00\x0a\xff\xff\xff\xff\x0f",
)  # fmt: skip
YAML_TEXTS = (
    b"a: &a [x]\nb: *a", b"&a [*a]", b"a: &a\n  b: *a", b"- a", b"a: !!python/object:os.system x", b"? [a]\n: b", b"---\n---\n", b"{a: b",
    b"\t", b"a: 2026-01-01", b"a: .nan", b"a: .inf", b"1: 2", b"a: 1\na: 2", b"%YAML 9.9\n---\na: 1", b"a: !!binary Zm9v", b"a: !!set {a, b}",
    b"a: 0o17\nb: 0x1f\nc: 1_000\nd: 1:30", b"<<: {a: 1}", b"<<: 7", b"a: &x {b: 1}\nc:\n  <<: [*x, 7]", b"!!null", b"a: !local b",
    b"\n".join([b"a: &a [x,x,x,x,x,x,x,x,x]", *(b"%c: &%c [%b]" % (c + 1, c + 1, b",".join([b"*%c" % c] * 9)) for c in range(97, 106))]),
)  # fmt: skip


def text_of(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()


# Requests


def base(row: Resource) -> str:
    return f"/apis/{row.group}/{row.version}" if row.group else f"/api/{row.version}"


MEDIA = st.sampled_from(
    (
        "application/json", "application/json", "application/json", "application/yaml", "text/plain", "", "application/vnd.kubernetes.protobuf",
        "application/json; charset=utf-8", "application/merge-patch+json", "a", ";", "\xff", "application/cbor", "multipart/form-data",
    )
)  # fmt: skip
PATCH_MEDIA = st.sampled_from(
    (
        "application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json",
        "application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json",
        "application/apply-patch+yaml", "application/json", "",
    )
)  # fmt: skip
META = ";g=meta.k8s.io;v=v1"
ACCEPT = st.sampled_from(
    (
        "", "", "", "*/*", "application/json", "application/yaml", f"application/json;as=Table{META}", f"application/json;as=PartialObjectMetadata{META}",
        f"application/json;as=PartialObjectMetadataList{META}", f"application/yaml;as=Table{META}", "application/json;as=Table;g=a;v=b",
        "application/json;as=X", "application/vnd.kubernetes.protobuf", "text/html", "application/*", "a/b;q=x, application/json;q=0", ";;;,,,", "\xff",
        "application/json;stream=watch", "application/json;pretty=1", "application/json;q=nan", "application/json;q=-1,*/*;q=1e999",
        "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
    )
)  # fmt: skip
VALUES = (
    *STRINGS,
    "true",
    "false",
    "All",
    "None",
    "Strict",
    "Warn",
    "Ignore",
    "Foreground",
    "Orphan",
    "Background",
    "Exact",
    "NotOlderThan",
    "Object",
)
SELECTORS = (
    "a=b", "a==b", "a!=b", "!a", "a in (b,c)", "a notin ()", "a in", "=", ",", "a,,b", "a>1", "a<x", "((", "a=b=c", "é=b", "metadata.name=x",
    "metadata.name!=x", "spec.nodeName=", "status.phase=Running", "metadata.namespace=default", "\\,=a", "a\\", "metadata.name=a\\,b", "type=Opaque",
)  # fmt: skip
TOKENS = (
    "a", "é", "====", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYSJ9",
    "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTk5OTk5OTk5OTk5LCJzdGFydCI6ImEifQ", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi8uLi9hIn0",
    "bnVsbA", "W10", "e30", "eyJ2IjoxLCJydiI6dHJ1ZSwic3RhcnQiOltdfQ", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6dHJ1ZSwic3RhcnQiOiJhIn0",
    "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJcdWQ4MDAifQ",
)  # fmt: skip
PAST = (
    "",
    "0",
    "1",
    "2",
    "-1",
    "a",
    "00",
    "1.5",
    " 1",
    "+1",
    "1_0",
    "0x1",
    "\u0661",
)  # the future is waited for: see below
PARAMETERS = {
    **dict.fromkeys(
        (
            "pretty",
            "dryRun",
            "fieldManager",
            "fieldValidation",
            "propagationPolicy",
            "includeObject",
            "orphanDependents",
        ),
        VALUES,
    ),
    **dict.fromkeys(
        (
            "allowWatchBookmarks",
            "sendInitialEvents",
            "resourceVersionMatch",
            "a",
            "container",
            "follow",
            "verbose",
            "hash",
        ),
        VALUES,
    ),
    **dict.fromkeys(
        ("gracePeriodSeconds", "limit", "tailLines", "ignoreStoreReadErrorWithClusterBreakingPotential"),
        (*map(str, NUMBERS), "x", ""),
    ),
    **dict.fromkeys(("labelSelector", "fieldSelector"), (*SELECTORS, *STRINGS)),
    "continue": (*TOKENS, ""),
    "resourceVersion": PAST,
    "timeoutSeconds": ("1", "0", "-1", "x", ""),
    "watch": ("true", "false", "0", "", "x"),
}


@st.composite
def queries(draw: Any) -> str:
    names = draw(st.lists(st.sampled_from(sorted(PARAMETERS)), max_size=3))
    pairs = ((name, draw(st.sampled_from(PARAMETERS[name]))) for name in names)
    found = "&".join(f"{name}={quote(value.encode(errors='surrogatepass'), safe='')}" for name, value in pairs)
    return draw(
        st.sampled_from((found, found, found, found, f"{found}&&=&%zz&;a", f"{found}&a=%ff%00", found.replace("=", "")))
    )


SEGMENTS = st.sampled_from(
    ("api", "apis", "v1", "v2", "apps", "namespaces", "default", "pods", "x", "status", "scale", "log", "exec", "proxy", "watch", "", ".", "..", "%", "%2e%2e",
     "%2f", "%00", "%ff", "%C3%A9", "a%20b", "\xff", "a" * 300, "healthz", "openapi", "v3", "metrics", "version", "finalize", "binding", "eviction", "token", ";a", "*")
)  # fmt: skip


@st.composite
def places(draw: Any, row: Resource, *, item: bool | None = None) -> str:
    """A path of the resource, or one much like it."""
    path = base(row)
    if row.namespaced and draw(st.integers(0, 9)):
        path += (
            f"/namespaces/{draw(st.sampled_from(('default', 'default', 'default', 'kube-system', 'none', '%41', '-')))}"
        )
    path += f"/{row.plural}"
    if item or (item is None and draw(st.booleans())):
        path += "/" + quote(draw(NAMES).encode(errors="surrogatepass"))
        if draw(st.integers(0, 3)) == 3:
            path += "/" + draw(st.sampled_from((*row.subresources, "status", "x")))
    return path


def asked(bare: Any, complaints: Any, method: str, path: str, *, body: bytes = b"", **headers: str) -> Any:
    """The answer, which is well-formed."""
    sent = {"Authorization": TOKEN} | {k.replace("_", "-"): v.encode("latin-1") for k, v in headers.items() if v}
    answer = bare.send(method, path=path.encode("latin-1"), headers=sent, body=body)
    assert complaints.take() == []
    well_formed(answer, path)
    return answer


def well_formed(answer: Any, path: str) -> None:
    media = answer.headers.get("content-type", "").partition(";")[0]
    if answer.code in (204, 304) or "transfer-encoding" in answer.headers or not answer.body:
        assert answer.code < 300 or answer.code == 304 or answer.headers.get("content-length")
        return
    if media == "text/plain" and (answer.code in (200, 400, 404) or path.startswith(("/healthz", "/livez", "/readyz"))):
        return
    assert media in ("application/json", "application/yaml", "application/jwk-set+json"), answer
    told = json.loads(answer.body) if media != "application/yaml" else yaml.load(answer.body, yaml.CSafeLoader)
    assert isinstance(told, dict)
    if answer.code >= 400:
        assert (told["kind"], told["status"], told["code"]) == ("Status", "Failure", answer.code), answer
        assert told.get("message") or told.get("reason")
        assert os.environ.get("FUZZ_EXPLORE") or "could not be served" not in told.get("message", ""), answer


def still_readable(bare: Any, complaints: Any, row: Resource) -> None:
    """What was written can be listed in every form, in every version."""
    for version in {other.version for other in ROWS if (other.group, other.plural) == (row.group, row.plural)}:
        path = f"{base(row).rpartition('/')[0]}/{version}/{row.plural}"
        for accept in (
            "application/json",
            f"application/json;as=Table{META}",
            f"application/json;as=PartialObjectMetadataList{META}",
        ):
            assert asked(bare, complaints, "GET", path, Accept=accept).code == 200


BY_NAME = {f"{row.plural}.{row.version}.{row.group}": row for row in ROWS}
KIND = st.sampled_from([*BY_NAME])


@pytest.mark.slow
@seed(SEED)
@odd_requests
@drawn(data=st.data())
def test_odd_objects(bare: Any, complaints: Any, data: st.DataObject) -> None:
    row = BY_NAME[data.draw(KIND)]
    method = data.draw(st.sampled_from(("POST", "POST", "POST", "PUT")))
    path = data.draw(places(row, item=method == "PUT"))
    query = data.draw(
        st.sampled_from(
            (
                "",
                "?dryRun=All",
                "?dryRun=All&fieldValidation=Ignore",
                "?fieldValidation=Strict",
                "?fieldValidation=Ignore",
            )
        )
    )
    body = text_of(data.draw(objects(row)))
    answer = asked(
        bare, complaints, method, path + query, body=body, Content_Type="application/json", Accept=data.draw(ACCEPT)
    )
    if answer.code in (200, 201) and "dryRun" not in query and "list" in row.verbs:
        still_readable(bare, complaints, row)


JSON_POINTERS = ("", "/", "/metadata", "/metadata/name", "/metadata/labels", "/metadata/labels/a", "/metadata/labels/a~1b", "/spec", "/spec/a", "/kind", "a", "/~2",
                 "/spec/containers/0", "/spec/containers/-", "/spec/containers/01", "/spec/containers/9", "/spec/containers/-1", "/spec/containers/0/image",
                 "/metadata/annotations", "/status", "/metadata/resourceVersion", "/metadata/finalizers/-", "/metadata/managedFields", "/" + "a/" * 200)  # fmt: skip


@st.composite
def json_patches(draw: Any) -> Any:
    operation = st.fixed_dictionaries(
        {
            "op": st.sampled_from(("add", "replace", "remove", "test", "move", "copy", "", "x", None, 7)),
            "path": st.sampled_from(JSON_POINTERS) | LEAVES,
        },
        optional={"value": JUNK, "from": st.sampled_from(JSON_POINTERS) | LEAVES},
    )
    return draw(st.lists(operation, max_size=4) | JUNK)


@st.composite
def merges(draw: Any, row: Resource) -> Any:
    """Part of an object, with the directives of a strategic merge here and there."""
    found = draw(mutated({}, RELEASE.definitions[row.definition]))
    for _ in range(draw(st.integers(0, 2))):
        found = draw(mutated(found, RELEASE.definitions[row.definition]))
    if not isinstance(found, dict) or draw(st.integers(0, 2)):
        return found
    inner = draw(st.sampled_from(sorted(found, key=str))) if found else ""
    marks = (
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$deleteFromPrimitiveList/finalizers",
        "$setElementOrder",
        "$deleteFromPrimitiveList/a",
        "$a",
    )
    marked = {draw(st.sampled_from(marks)): draw(st.sampled_from(("delete", "replace", "merge", "x")) | JUNK)}
    return (
        found | marked
        if not isinstance(found.get(inner), dict) or draw(st.booleans())
        else found | {inner: found[inner] | marked}
    )


@pytest.mark.slow
@seed(SEED)
@odd_requests
@drawn(data=st.data())
def test_odd_patches(bare: Any, complaints: Any, data: st.DataObject) -> None:
    row, media = BY_NAME[data.draw(KIND)], data.draw(PATCH_MEDIA)
    path = base(row) + ("/namespaces/default" if row.namespaced else "") + f"/{row.plural}"
    subresource = data.draw(st.sampled_from(("", "", "", "", "/status", "/scale", "/x")))
    asked(bare, complaints, "POST", path, body=text_of(sample(row)))  # mostly it is there already
    patch = data.draw(json_patches() if "json-patch" in media else merges(row))
    name = sample(row)["metadata"]["name"]
    query = data.draw(
        st.sampled_from(("", "", "?dryRun=All", "?fieldValidation=Strict", "?force=true", "?fieldManager=%00"))
    )
    answer = asked(
        bare, complaints, "PATCH", f"{path}/{name}{subresource}{query}", body=text_of(patch), Content_Type=media
    )
    if answer.code == 200 and "dryRun" not in query:
        still_readable(bare, complaints, row)


@pytest.mark.slow
@seed(SEED)
@odd_requests
@drawn(data=st.data())
def test_odd_bytes(bare: Any, complaints: Any, data: st.DataObject) -> None:
    row, method = (
        BY_NAME[data.draw(KIND)],
        data.draw(st.sampled_from(("POST", "PUT", "PATCH", "DELETE", "POST", "GET", "HEAD", "OPTIONS", "TRACE", "A"))),
    )
    media = data.draw(PATCH_MEDIA if method == "PATCH" else MEDIA)
    whole = text_of(sample(row))
    cut = data.draw(st.integers(0, len(whole)))
    texts = (
        *JSON_TEXTS,
        *YAML_TEXTS,
        whole,
        whole[:cut],
        whole[:cut] + b"\0" + whole[cut:],
        whole[:cut] + b"\xff" + whole[cut + 1 :],
    )
    body = data.draw(st.sampled_from(texts) | st.binary(max_size=20))
    asked(bare, complaints, method, data.draw(places(row)), body=body, Content_Type=media, Accept=data.draw(ACCEPT))


@pytest.mark.slow
@seed(SEED)
@odd_requests
@drawn(data=st.data())
def test_odd_paths_and_parameters(bare: Any, complaints: Any, data: st.DataObject) -> None:
    row = BY_NAME[data.draw(KIND)]
    known = st.sampled_from(
        (
            "/",
            "/api",
            "/apis",
            "/openapi/v2",
            "/openapi/v3",
            "/healthz",
            "/version",
            "/metrics",
            "/readyz/x",
            base(row),
            f"/openapi/v3{base(row)}",
        )
    )
    anything = st.lists(SEGMENTS, max_size=7).map(lambda parts: "/" + "/".join(parts))
    path = data.draw(st.one_of(places(row), places(row), places(row), places(row), anything, anything, known))
    method = data.draw(
        st.sampled_from(("GET", "GET", "GET", "GET", "HEAD", "DELETE", "POST", "PUT", "PATCH", "OPTIONS", "CONNECT"))
    )
    headers = {"Accept": data.draw(ACCEPT)}
    if not data.draw(st.integers(0, 9)):
        headers[
            data.draw(
                st.sampled_from(
                    ("Authorization", "Accept_Encoding", "If_None_Match", "Range", "Upgrade", "Expect", "Cookie")
                )
            )
        ] = data.draw(
            st.sampled_from(
                (
                    "Bearer",
                    "Bearer ",
                    "Bearer a.b.c",
                    "Bearer e30.e30.e30",
                    "Basic !",
                    "\xff",
                    "gzip;q=x",
                    "*",
                    "websocket",
                    "100-continue",
                    "bytes=1-",
                )
            )
        )
    asked(bare, complaints, method, f"{path}?{data.draw(queries())}", **headers)


def test_afterwards_the_server_is_ready_and_serves(bare: Any, complaints: Any) -> None:
    assert asked(bare, complaints, "GET", "/readyz").body == b"ok"
    body = text_of({"metadata": {"name": "afterwards"}, "data": {"a": "b"}})
    assert asked(bare, complaints, "POST", "/api/v1/namespaces/default/configmaps", body=body).code == 201
    found = json.loads(asked(bare, complaints, "GET", "/api/v1/namespaces/default/configmaps/afterwards").body)
    assert found["data"] == {"a": "b"}
