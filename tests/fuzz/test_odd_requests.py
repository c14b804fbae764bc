"""Odd bytes as bodies, odd paths, headers and parameters, by the thousand: each has a well-formed answer.

They are the same in every run. `FUZZ_SEED=N pytest tests/fuzz` tries others; a failure tells the smallest of its kind.
"""

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given as drawn
from hypothesis import seed, settings
from hypothesis import strategies as st

from apiserver.api.resources import Resource
from apiserver.release import load_release

SEED = int(os.environ.get("FUZZ_SEED", "2"))
REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "6000"))
ROWS = load_release("1.37").rows
Ask = Callable[..., Any]
odd_requests = settings(settings.get_profile("odd requests"), max_examples=REQUESTS)

STRINGS = tuple(json.loads(Path(__file__).with_name("strings.json").read_text()))
NUMBERS = (0, 1, -1, 2, 7, 500, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30, 0.5, 1e300)
JSON_TEXTS = (
    b"", b" ", b"null", b"[]", b"7", b'"a"', b"{", b'{"a":', b'{"a":1}x', b'{"metadata":{"name":"x","name":"y"}}',
    b'{"spec":{},"spec":7}', b'{"metadata":{"name":"\xff"}}', b'{"metadata":{"name":"\x00"}}',
    b'{"metadata":{"name":"\\u0000"}}', b'{"metadata":{"name":"\\ud800"}}', b"\xef\xbb\xbf{}", b"[" * 20000,
    b'{"a":' * 20000, b'{"spec":' * 3000 + b"1" + b"}" * 3000, b'{"data":' + b"[" * 500 + b"]" * 500 + b"}",
    b'{"metadata":{"generation":1e999}}', b'{"metadata":{"generation":' + b"9" * 5000 + b"}}", b"{}" * 2,
    b'{"kind":7}', b'{"kind":[],"apiVersion":{}}', b"\x00\x01", b"k8s\x00", b"k8s\x00\x0a\x04\x0a\x02v1",
    b"k8s\x00" + b"\xff" * 40, b"k8s\x00\x0a\xff\xff\xff\xff\x0f",
)  # fmt: skip
YAML_TEXTS = (
    b"a: &a [x]\nb: *a", b"&a [*a]", b"a: &a\n  b: *a", b"- a", b"a: !!python/object:os.system x", b"? [a]\n: b",
    b"---\n---\n", b"{a: b", b"\t", b"a: 2026-01-01", b"a: .nan", b"a: .inf", b"1: 2", b"a: 1\na: 2",
    b"%YAML 9.9\n---\na: 1", b"a: !!binary Zm9v", b"a: !!set {a, b}", b"a: 0o17\nb: 0x1f\nc: 1_000\nd: 1:30",
    b"<<: {a: 1}", b"<<: 7", b"a: &x {b: 1}\nc:\n  <<: [*x, 7]", b"!!null", b"a: !local b",
    b"\n".join([b"a: &a [x,x,x,x,x,x,x,x,x]", *(b"%c: &%c [%b]" % (c + 1, c + 1,
    b",".join([b"*%c" % c] * 9)) for c in range(97, 106))]),
)  # fmt: skip


def base(row: Resource) -> str:
    return f"/apis/{row.group}/{row.version}" if row.group else f"/api/{row.version}"


JSON, META = "application/json", ";g=meta.k8s.io;v=v1"
MEDIA = st.sampled_from(
    (
        *[JSON] * 6, *["application/yaml"] * 3, *["application/vnd.kubernetes.protobuf"] * 2, f"{JSON}; charset=utf-8",
        "", "application/cbor", "text/plain", "multipart/form-data", "a", ";", "\xff",
    )
)  # fmt: skip
PATCH_MEDIA = st.sampled_from(
    (
        *["application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json"] * 3,
        "application/apply-patch+yaml", JSON, "",
    )
)  # fmt: skip
ACCEPT = st.sampled_from(
    (
        *[""] * 8, "*/*", JSON, "application/yaml", f"{JSON};as=Table{META}", f"{JSON};as=PartialObjectMetadata{META}",
        f"{JSON};as=PartialObjectMetadataList{META}", f"application/yaml;as=Table{META}", f"{JSON};as=Table;g=a;v=b",
        f"{JSON};as=X", "application/vnd.kubernetes.protobuf", "text/html", "application/*", f"{JSON};q=nan", "\xff",
        f"a/b;q=x, {JSON};q=0", ";;;,,,", f"{JSON};stream=watch", f"{JSON};pretty=1", f"{JSON};q=-1,*/*;q=1e999",
        f"{JSON};as=Table;v=v1beta1;g=meta.k8s.io,{JSON}",
    )
)  # fmt: skip
VALUES = (
    *STRINGS, "true", "false", "All", "None", "Strict", "Warn", "Ignore", "Foreground", "Orphan", "Background", "Exact",
    "NotOlderThan", "Object",
)  # fmt: skip
SELECTORS = (
    "a=b", "a==b", "a!=b", "!a", "a in (b,c)", "a notin ()", "a in", "=", ",", "a,,b", "a>1", "a<x", "((", "a=b=c",
    "é=b", "metadata.name=x", "metadata.name!=x", "spec.nodeName=", "status.phase=Running",
    "metadata.namespace=default", "type=Opaque", "\\,=a", "a\\", "metadata.name=a\\,b",
)  # fmt: skip


def token(content: str) -> str:
    return base64.urlsafe_b64encode(content.encode()).rstrip(b"=").decode()


OURS = '{"v":"meta.k8s.io/v1","rv":%s,"start":%s}'
TOKENS = (
    "", "a", "é", "====", *map(token, ("null", "[]", "{}", '{"v":1,"rv":true,"start":[]}')),
    *(token(OURS % (revision, '"a"')) for revision in ("1", "-1", "true", "1e30", "99999999999", str(2**64))),
    *(token(OURS % ("1", start)) for start in ('"a\\u0000"', '"../../a"', '""', "7", '"\\ud800"')),
)  # fmt: skip
PAST = ("", "0", "1", "2", "-1", "a", "00", "1.5", " 1", "+1", "1_0", "0x1", "\u0661")  # the future is waited for
PARAMETERS = {
    **dict.fromkeys(
        ("pretty", "dryRun", "fieldManager", "fieldValidation", "propagationPolicy", "includeObject"), VALUES
    ),
    **dict.fromkeys(("allowWatchBookmarks", "sendInitialEvents", "resourceVersionMatch", "orphanDependents"), VALUES),
    **dict.fromkeys(("a", "container", "follow", "verbose", "hash"), VALUES),
    **dict.fromkeys(("gracePeriodSeconds", "limit", "tailLines"), (*map(str, NUMBERS), "x", "")),
    **dict.fromkeys(("labelSelector", "fieldSelector"), (*SELECTORS, *STRINGS)),
    "continue": TOKENS,
    "resourceVersion": PAST,
    "timeoutSeconds": ("1", "0", "-1", "x", ""),
    "watch": ("true", "false", "0", "", "x"),
}
PAIRS = st.sampled_from(
    [f"{name}={quote(value.encode(errors='surrogatepass'))}" for name, values in PARAMETERS.items() for value in values]
)
QUERIES = st.lists(PAIRS | st.sampled_from(("", "=", "a", "%zz", "a=%ff%00", ";")), max_size=4).map("&".join)
SEGMENTS = st.sampled_from(
    (
        "api", "apis", "v1", "v2", "apps", "namespaces", "default", "pods", "x", "status", "scale", "log", "exec",
        "proxy", "watch", "", ".", "..", "%", "%2e%2e", "%2f", "%00", "%ff", "%C3%A9", "a%20b", "\xff", "a" * 300,
        "healthz", "openapi", "v3", "version", "finalize", "binding", "eviction", "token", ";a", "*",
    )
)  # fmt: skip
ANYTHING = st.lists(SEGMENTS, max_size=7).map(lambda parts: "/" + "/".join(parts))
KNOWN = st.sampled_from(("/", "/api", "/apis", "/openapi/v3", "/healthz", "/version", "/readyz/x", "/livez/etcd"))
NAMESPACES = st.sampled_from((*["default"] * 6, "kube-system", "none", "%41", "-"))
NAMES = st.sampled_from(
    [quote(name.encode(errors="surrogatepass")) for name in ("x", "x", "x", "kubernetes", *STRINGS)]
)


@st.composite
def places(draw: Any) -> str:
    """A path of some resource, or one much like it."""
    row = draw(ROW)
    path = base(row)
    if row.namespaced and draw(st.integers(0, 9)):
        path += f"/namespaces/{draw(NAMESPACES)}"
    path += f"/{row.plural}"
    depth = draw(st.sampled_from((0, 0, 0, 1, 1, 1, 2)))
    if depth > 0:
        path += f"/{draw(NAMES)}"
    if depth > 1:
        path += f"/{draw(st.sampled_from((*row.subresources, 'status', 'x')))}"
    return path


ROW = st.sampled_from([*ROWS])
PATHS = places() | places() | places() | ANYTHING | KNOWN
OTHERS = st.sampled_from((*["POST"] * 4, *["PUT"] * 3, *["DELETE"] * 3, "HEAD", "OPTIONS", "TRACE", "A"))
WRITES = st.tuples(OTHERS, MEDIA) | st.tuples(OTHERS, MEDIA) | st.tuples(st.just("PATCH"), PATCH_MEDIA)
READS = st.sampled_from((*["GET"] * 12, *["DELETE"] * 4, "HEAD", "HEAD", "POST", "PUT", "PATCH", "OPTIONS", "CONNECT"))
WHOLE = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","labels":{"a":"b"}},"data":{"c":"d"}}'
DAMAGED = st.integers(0, len(WHOLE)).flatmap(
    lambda at: st.sampled_from(
        [WHOLE[:at] + more + WHOLE[at:] for more in (b"\0", b"\xff", b"{", b'"', b",")] + [WHOLE[:at]]
    )
)
BODIES = st.one_of(st.sampled_from((WHOLE, *JSON_TEXTS)), st.sampled_from(YAML_TEXTS), DAMAGED, st.binary(max_size=20))
HEADERS = st.sampled_from(
    [
        *[("Accept", "")] * 60,
        *(("Authorization", value) for value in ("Bearer", "Bearer ", "Bearer a.b.c", "Bearer e30.e30.e30", "\xff")),
        *(("Accept_Encoding", value) for value in ("gzip", "gzip;q=x", "*", "br, gzip;q=0")),
        ("If_None_Match", "*"), ("Range", "bytes=1-"), ("Upgrade", "websocket"), ("Cookie", "\xff"),
        ("Audit_Id", "\xff"), ("Impersonate_User", "a"), ("Content_Encoding", "gzip"),
    ]
)  # fmt: skip


@pytest.mark.slow
@seed(SEED)
@odd_requests
@drawn(head=WRITES, path=places(), body=BODIES, accept=ACCEPT)
def test_odd_bodies(ask: Ask, head: tuple[str, str], path: str, body: bytes, accept: str) -> None:
    method, media = head
    ask(method, path, body=body, Content_Type=media, Accept=accept)


@pytest.mark.slow
@seed(SEED)
@odd_requests
@drawn(method=READS, path=PATHS, query=QUERIES, accept=ACCEPT, header=HEADERS)
def test_odd_paths_and_parameters(
    ask: Ask, method: str, path: str, query: str, accept: str, header: tuple[str, str]
) -> None:
    ask(method, f"{path}?{query}" if query else path, **({"Accept": accept} | dict([header])))
