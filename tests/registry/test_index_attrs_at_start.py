"""A start reads the stored objects without parsing them: labels and fields are read when a selector asks for them."""

import orjson
import pytest

from apiserver.api.user import User
from apiserver.app import serving
from apiserver.config import Config, ConfigError
from apiserver.registry.context import ComputeIndexAttrs
from apiserver.registry.custom_resources import CustomKinds
from apiserver.registry.decoding import Body
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.rest.create import create
from apiserver.registry.storage import key_of

PODS = 20
KEY = "/registry/pods/default/a"


def target(registry):
    return Target(registry.table.find("", "v1", "pods"), "default")


async def stored(config):
    """Stores pods, each second one labelled, as a server does, and stops the server."""
    async with serving(config) as running:
        for number in range(PODS):
            meta = {"name": f"pod-{number}", "labels": {"even": str(number % 2 == 0)}}
            spec = {"containers": [{"name": "c", "image": "nginx"}], "nodeName": f"node-{number % 2}"}
            await create(running.registry, target(running.registry), Body({"metadata": meta, "spec": spec}), USER)


USER = WriteOptions(User("u"))


@pytest.fixture
def config(tmp_path):
    return Config(secure_port=0, store=f"sqlite://{tmp_path}/data")


@pytest.fixture
def parsed(monkeypatch):
    """The pods that have been parsed, as bytes."""
    pods, loads = [], orjson.loads

    def counted(value):
        if isinstance(value, bytes) and value.startswith(b'{"kind":"Pod"'):
            pods.append(value)
        return loads(value)

    monkeypatch.setattr(orjson, "loads", counted)
    return pods


async def test_a_start_parses_no_pod_and_the_first_selector_each_pod_once(config, parsed):
    await stored(config)
    parsed.clear()
    async with serving(config) as running:
        assert parsed == []
        pods = running.registry.storage.store.range("/registry/pods/").items
        assert [kv.index_attrs.is_read for kv in pods] == [False] * PODS
        for _ in range(2):
            even = [kv for kv in pods if kv.index_attrs.labels["even"] == "True"]
            first = [kv for kv in pods if kv.index_attrs.fields["spec.nodeName"] == "node-0"]
            assert len(even) == PODS // 2
            assert even == first
        assert sorted(parsed) == sorted(kv.value for kv in pods)
        assert all(kv.index_attrs.is_read for kv in pods)


async def test_what_is_read_late_is_what_the_write_had_kept(config):
    await stored(config)
    async with serving(config) as running:
        registry = running.registry
        resource = target(registry).resource
        stored_pod = registry.storage.store.get(key_of(resource, "default", "pod-1"))
        assert stored_pod is not None
        kept = stored_pod.index_attrs
        meta = {"name": "pod-1", "namespace": "default", "labels": {"even": "False"}}
        assert kept.labels == meta["labels"]
        spec = {"containers": [{"name": "c", "image": "nginx"}], "nodeName": "node-1"}
        pod = {"metadata": meta | {"name": "other"}, "spec": spec}
        written = await create(registry, target(registry), Body(pod), USER)
        assert kept.fields == written.kv.index_attrs.fields | {"metadata.name": "pod-1"}
        assert kept.schema_generation is written.kv.index_attrs.schema_generation is None


@pytest.fixture
async def attach():
    async with serving(Config(secure_port=0)) as running:
        yield ComputeIndexAttrs(running.registry.table, CustomKinds(running.registry.table), verified=True)


@pytest.mark.parametrize(
    "value",
    [
        b'{"metadata":{"name":"a","labels":{"b":"c"}},"kind":"Pod","apiVersion":"v1","spec":{}}',
        b' {"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":{"b":"c"}},"spec":{}}',
        b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"b":"c"}},"spec":{}}',
    ],
)
async def test_an_object_in_a_form_that_others_write_is_parsed_at_once(attach, value):
    attrs = attach(KEY, value)
    assert attrs.is_read
    assert (attrs.labels, attrs.fields["metadata.name"]) == ({"b": "c"}, "a")


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"[]",
        b"k8s\x00\n",
        b'{"metadata":{}}',
        b'{"kind":"Pod","apiVersion":"v1","metadata":{}}',
        b'{"kind":"Pod","apiVersion":"v1","metadata":[]}',
        b'{"kind":"Pod"',
        b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"nodeName":"',
    ],
)
async def test_a_value_that_is_no_object_is_refused_at_the_start(config, value):
    async with serving(config) as running:
        await running.registry.storage.store.put(KEY, value, index_attrs=None)
    with pytest.raises(ConfigError, match=f"has something under '{KEY}' at revision"):
        async with serving(config):
            raise AssertionError("it starts on what it cannot read")
