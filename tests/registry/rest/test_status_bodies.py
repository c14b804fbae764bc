"""A status update whose spec equals the stored one, or is empty, has the same result as one that is validated."""

from dataclasses import replace
from functools import partial

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.api.errors import ApiError
from apiserver.api.user import User
from apiserver.app import serving
from apiserver.config import Config
from apiserver.groups.core.pods.strategy import prepare_status_update
from apiserver.registry.decoding import Body
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.rest.create import create
from apiserver.registry.rest.update import rewrite, update

SPEC = {
    "containers": [
        {
            "name": "c",
            "image": "nginx",
            "ports": [{"containerPort": 1, "name": "http"}],
            "resources": {"limits": {"cpu": "1"}},
            "securityContext": {"privileged": True, "runAsUser": 0},
        }
    ],
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "nodeName": "node-1",
}
STATUS = {
    "phase": "Running",
    "conditions": [{"type": "Ready", "status": "True", "lastProbeTime": None}],
    "podIPs": [{"ip": "10.0.0.1"}],
}
NEAR = ((True, 1), (1, 1.0), (0, False), (30, "30"))
"""Values, and others that are equal to them in Python or look alike."""


@pytest.fixture
async def registry():
    async with serving(Config(secure_port=0)) as running:
        yield running.registry


@pytest.fixture
async def stored(registry):
    """A function that decodes a stored pod afresh at each call."""
    pods = registry.table.find("", "v1", "pods")
    sent = Body({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": SPEC})
    written = await create(registry, Target(pods, "default"), sent, WriteOptions(User("u")))
    return partial(registry.codecs.codec_of(pods).decode, written.kv)


def leaves(value, path=()):
    """The paths of all plain values."""
    if not isinstance(value, dict | list):
        yield path
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(inner, (*path, key))


def with_leaf(value, path, change):
    """A copy with another value at a path."""
    if not path:
        return change(value)
    key, *below = path
    if isinstance(value, dict):
        return value | {key: with_leaf(value[key], below, change)}
    return [with_leaf(inner, below, change) if index == key else inner for index, inner in enumerate(value)]


def turned(value):
    """The same with its fields the other way round."""
    if isinstance(value, list):
        return [turned(inner) for inner in value]
    return {key: turned(value[key]) for key in reversed(value)} if isinstance(value, dict) else value


def near(value):
    """Return another value that this one might be mistaken for."""
    return next((other for one, other in NEAR if type(one) is type(value) and one == value), value)


@st.composite
def bodies(draw, stored):
    """Draw a pod as a kubelet may send it: its spec as it is, in another order, a little off, or not at all."""
    pod = stored()
    pod["status"] = draw(st.sampled_from([STATUS, {"podIP": "10.0.0.2"}, {}, None, STATUS | {"unknown": 1}]))
    spec = pod["spec"]
    path = draw(st.sampled_from(sorted(leaves(spec), key=str)))
    off = with_leaf(spec, path, near)
    pod["spec"] = draw(st.sampled_from([spec, turned(spec), off, spec | {"unknown": 1}, spec | {"priority": 7}]))
    if draw(st.booleans()):
        pod = turned(pod)
    if draw(st.booleans()):
        del pod["spec"]
    raw = orjson.dumps(pod)
    return raw.replace(b'"nodeName":', b'"nodeName":"other","nodeName":') if draw(st.booleans()) else raw


def outcome(registry, raw, stored, *, validation, stored_spec):
    """Return the object that a status update stores, or the error that it gets instead."""
    resource, old = registry.table.find("", "v1", "pods"), stored()
    try:
        decoded = registry.decoder.decode(
            resource, Body(orjson.loads(raw), raw), validation=validation, stored_spec=stored_spec
        )
    except ApiError as error:
        return error.status()
    prepare_status_update(decoded.obj, old)
    fields = (
        {name: decoded.obj[name] for name in sorted(decoded.obj)} if "spec" not in orjson.loads(raw) else decoded.obj
    )
    return registry.codecs.codec_of(resource).encode(fields), decoded.warnings


async def test_a_body_that_repeats_the_stored_spec_comes_to_the_same_as_one_that_is_worked_out(registry, stored):
    slow = replace(registry, decoder=replace(registry.decoder, spec_caches={}))

    @given(bodies(stored), st.sampled_from(["Strict", "Warn", "Ignore"]))
    @settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
    def agree(raw, validation):
        known = outcome(registry, raw, stored, validation=validation, stored_spec=stored()["spec"])
        assert known == outcome(slow, raw, stored, validation=validation, stored_spec=None)

    agree()


async def test_a_status_is_written_over_the_newest_spec_whatever_the_body_repeats(registry, stored):
    target = Target(registry.table.find("", "v1", "pods"), "default", "p", "status")
    sent = stored() | {"status": STATUS}
    del sent["metadata"]["resourceVersion"]

    def move(pod):
        return pod | {"metadata": dict(pod["metadata"]), "spec": pod["spec"] | {"nodeName": "node-2"}}

    await rewrite(registry, target, move, WriteOptions(User("u")))
    written = await update(registry, target, Body(sent), WriteOptions(User("u")))
    written_obj = orjson.loads(written.kv.value)
    assert written_obj["spec"]["nodeName"] == "node-2"
    assert written_obj["status"]["phase"] == "Running"


async def test_a_status_without_a_spec_is_stored_with_it_in_its_place(registry, stored):
    target = Target(registry.table.find("", "v1", "pods"), "default", "p", "status")
    sent = {name: value for name, value in (stored() | {"status": STATUS}).items() if name != "spec"}
    written = await update(registry, target, Body(sent, orjson.dumps(sent)), WriteOptions(User("u")))
    written_obj = orjson.loads(written.kv.value)
    assert written_obj["spec"] == stored()["spec"]
    assert list(written_obj) == ["kind", "apiVersion", "metadata", "spec", "status"]
    assert written.warnings == ()


async def test_a_status_that_is_there_already_is_not_written_again(registry, stored):
    target = Target(registry.table.find("", "v1", "pods"), "default", "p", "status")
    first = await update(registry, target, Body(stored() | {"status": STATUS}), WriteOptions(User("u")))
    sent = registry.codecs.codec_of(target.resource).decode(first.kv)
    again = await update(registry, target, Body(sent), WriteOptions(User("u")))
    assert again.kv is first.kv


async def test_a_change_that_reaches_into_the_old_object_is_written_all_the_same(registry, stored):
    target = Target(registry.table.find("", "v1", "pods"), "default", "p")

    def careless(pod):
        pod["spec"]["nodeName"] = "node-3"
        return pod | {"metadata": dict(pod["metadata"])}

    written = await rewrite(registry, target, careless, WriteOptions(User("u")))
    assert orjson.loads(written.kv.value)["spec"]["nodeName"] == "node-3"
    assert stored()["spec"]["nodeName"] == "node-1"
