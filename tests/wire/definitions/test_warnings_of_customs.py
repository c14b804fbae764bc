"""The warnings that users of custom kinds get: finalizers of odd names, and deprecated versions."""

import pytest

from apiserver.config import Config

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HERE = "/apis/example.com/v1/namespaces/default/widgets"
OLD = {"deprecated": True, "deprecationWarning": "widgets have had their day"}
GOES = '299 - "widgets have had their day"'
OTHERS = "to avoid accidental conflicts with other finalizer writers"


def widget(*finalizers, name="a", **more):
    meta = {"name": name, "finalizers": [*finalizers]}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta, "spec": {"size": 1}} | more


def warned(finalizer, path=""):
    return f'299 - "metadata.finalizers: \\"{finalizer}\\": prefer a domain-qualified finalizer name {path}{OTHERS}"'


def warnings_of(reply):
    return reply.headers.getall("Warning", [])


async def test_finalizers_without_a_domain_are_warned_of_when_they_come(api, customs):
    await customs.define()
    made = await api.post(HERE, widget("foo", "example.com", "orphan", "example.com/good"))
    path = "including a path (/) "
    assert (made.code, warnings_of(made)) == (201, [warned("example.com", path), warned("foo")])
    assert warnings_of(await api.patch(f"{HERE}/a", {"spec": {"size": 2}})) == [], "they are there already"
    body = (await api.get(f"{HERE}/a")).json
    body["metadata"]["finalizers"].append("bar")
    assert warnings_of(await api.put(f"{HERE}/a", body)) == [warned("bar")]
    added = {"metadata": {"finalizers": [*body["metadata"]["finalizers"], "baz"]}}
    assert warnings_of(await api.patch(f"{HERE}/a", added)) == [warned("baz")]


async def test_the_writer_of_a_status_is_not_warned(api, customs):
    await customs.define(version={"subresources": {"status": {}}})
    made = await api.post(HERE, widget())
    body = made.json
    body["metadata"]["finalizers"] = ["foo"]
    assert warnings_of(await api.put(f"{HERE}/a/status", body)) == []


async def test_a_refused_object_warns_of_nothing(api, customs):
    await customs.define()
    refused = await api.post(HERE, widget("foo", spec={"size": "large"}))
    assert (refused.code, warnings_of(refused)) == (422, [])


@pytest.mark.parametrize(
    ("release", "expected"),
    [("1.28", []), ("1.29", [warned("a.b")]), ("1.32", [warned("a.b", "including a path (/) ")])],
)
async def test_releases_warn_as_they_did(opened, definition, release, expected):
    async with opened(Config(kubernetes_version=release)) as api:
        assert (await api.post(CRDS, definition())).code == 201
        while (made := await api.post(HERE, widget("a.b"))).code == 404:
            pass
        assert (made.code, warnings_of(made)) == (201, expected)


async def test_every_user_of_a_deprecated_version_is_told_whatever_comes_of_it(api, customs):
    await customs.define(version=OLD)
    made = await api.post(HERE, widget("foo"))
    assert warnings_of(made) == [GOES, warned("foo")], "first, as upstream knows it first"
    for method, path, code in (("GET", HERE, 200), ("GET", f"{HERE}/none", 404), ("DELETE", f"{HERE}/none", 404)):
        reply = await api.ask(method, path)
        assert (reply.code, warnings_of(reply)) == (code, [GOES])


async def test_a_watch_of_a_deprecated_version_tells_it(api, customs):
    await customs.define(version=OLD)
    for path in (f"{HERE}?watch=1", "/apis/example.com/v1/watch/widgets"):
        async with api.watch(path) as watched:
            assert watched.response.headers.getall("Warning") == [GOES]
    refused = await api.get(f"{HERE}?watch=1&resourceVersion=x")
    assert (refused.code, warnings_of(refused)) == (400, [GOES])


async def test_a_watch_of_a_deprecated_kind_of_the_release_tells_it(api):
    words = '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'
    async with api.watch("/api/v1/endpoints?watch=1") as watched:
        assert watched.response.headers.getall("Warning") == [words]
    async with api.watch("/api/v1/configmaps?watch=1") as watched:
        assert "Warning" not in watched.response.headers
