"""Pods of one template share the parts of their specs: a change of one pod must not show in another."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import pytest

from apiserver.api.meta import Obj
from apiserver.api.user import User
from apiserver.app import serving
from apiserver.config import Config
from apiserver.registry import spec_cache
from apiserver.registry.decoding import Body
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.rest.create import create
from apiserver.registry.rest.update import update
from apiserver.registry.spec_cache import MAX_SPEC_BYTES, MAX_SPECS, CachedSpec, SpecCache

CONTAINER = {"name": "c", "image": "nginx:1.25", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
INIT = CONTAINER | {"name": "i"}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["color"]}
PROFILE = "container.apparmor.security.beta.kubernetes.io/c"


class FrozenDict(dict[str, Any]):
    """A mapping that must stay as it is."""

    def _refuse(self, *_args: Any, **_named: Any) -> Any:
        raise AssertionError("what a mould has below its fields is shared")

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {key: deepcopy(value, memo) for key, value in self.items()}

    __setitem__ = __delitem__ = setdefault = pop = popitem = update = clear = __ior__ = _refuse


def frozen(value: Any) -> Any:
    """Return an immutable copy of a value: lists have become tuples."""
    if isinstance(value, dict):
        return FrozenDict({key: frozen(inner) for key, inner in value.items()})
    return tuple(map(frozen, value)) if isinstance(value, list) else value


async def stored(registry, spec, **meta):
    """Create a pod with a spec and some metadata, and return the stored object."""
    raw = orjson.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    target = Target(registry.table.find("", "v1", "pods"), "default")
    written = await create(registry, target, Body(orjson.loads(raw), raw), WriteOptions(User("u"), manager="m"))
    return orjson.loads(written.kv.value)


@pytest.fixture
async def make():
    """Creates pods at a server that freezes each cached spec once it is made; from the third pod on there is one."""
    async with serving(Config(secure_port=0)) as running:
        spec_caches = running.registry.decoder.spec_caches["", "v1", "Pod"]

        async def made(spec, **meta):
            pod = await stored(running.registry, spec, **meta)
            _freeze(spec_caches)
            return pod

        yield made
        assert spec_caches._specs


def _freeze(spec_caches: SpecCache) -> None:
    for key, cached_spec in list(spec_caches._specs.items()):
        below = {field: frozen(value) for field, value in cached_spec.spec.items()}
        spec_caches._specs[key] = cached_spec._replace(spec=below)


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [CONTAINER]},
        {"containers": [CONTAINER | {"securityContext": {"privileged": False}}], "initContainers": [INIT]},
        {"containers": [CONTAINER], "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}}]},
        {
            "containers": [CONTAINER],
            "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}},
        },
    ],
)
async def test_the_fourth_pod_of_a_template_is_what_the_first_would_be(make, spec):
    for name, color in (("b", "red"), ("c", "green"), ("d", "blue"), ("e", "red")):
        await make(spec, name=name, labels={"color": color})
    labels, annotations = {"color": "black"}, {PROFILE: "runtime/default"}
    moulded = await make(spec, name="f", labels=labels, annotations=annotations)
    async with serving(Config(secure_port=0)) as running:
        first = await stored(running.registry, spec, name="f", labels=labels, annotations=annotations)
    assert moulded["spec"] == first["spec"]
    assert moulded["status"] == first["status"]
    assert _owned(moulded) == _owned(first)
    plain = await make(spec, name="g", labels=labels)
    assert plain["spec"]["containers"][0].get("securityContext") == spec["containers"][0].get("securityContext")


async def test_fields_that_were_owned_before_are_owned_as_those_of_any_pod(make):
    entry = {"manager": "before", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    fields: Obj = {"f:spec": {"f:dnsPolicy": {}, "f:nodeName": {}}}
    for name in "abc":
        made = await make({"containers": [CONTAINER]}, name=name, managedFields=[entry | {"fieldsV1": fields}])
        assert {entry["manager"]: entry["fieldsV1"]["f:spec"].get("f:dnsPolicy") for entry in _entries(made)} == {
            "m": {},
            "before": None,
        }
        await make({"containers": [CONTAINER]}, name=f"{name}-plain")


async def test_a_status_of_a_pod_of_a_mould_has_its_defaults():
    async with serving(Config(secure_port=0)) as running:
        registry = running.registry
        for name in "abc":
            await stored(registry, {"containers": [CONTAINER]}, name=name)
        pods = registry.table.find("", "v1", "pods")
        assert pods is not None
        target = Target(pods, "default", "c", "status")
        sent = {"metadata": {"name": "c"}, "spec": {"containers": [CONTAINER]}, "status": {"podIP": "10.0.0.1"}}
        written = await update(registry, target, Body(sent), WriteOptions(User("u")))
    assert orjson.loads(written.kv.value)["status"]["podIPs"] == [{"ip": "10.0.0.1"}]


async def test_only_objects_that_are_created_come_into_the_cache():
    async with serving(Config(secure_port=0)) as running:
        registry = running.registry
        pod = await stored(registry, {"containers": [CONTAINER]}, name="a")
        pods = registry.table.find("", "v1", "pods")
        assert pods is not None
        target = Target(pods, "default", "a")
        for color in ("red", "green", "blue"):
            pod["metadata"]["labels"] = {"color": color}
            await update(registry, target, Body(pod), WriteOptions(User("u")))
        cache = registry.decoder.spec_caches["", "v1", "Pod"]
        assert not cache._specs
        assert len(cache._seen_hashes) == 1


def test_only_the_decoder_knows_of_the_cache():
    sources = Path(spec_cache.__file__).parents[1]
    knowing = [path.name for path in sources.rglob("*.py") if "spec_cache" in path.read_text()]
    assert sorted(knowing) == ["decoding.py", "spec_cache.py"]


def spec_named(name):
    return {"containers": [{"name": str(name)}]}


def keeping(spec_caches, spec):
    """Send a spec twice, so that it is cached the second time."""
    spec_caches.find(spec)
    key, _ = spec_caches.find(spec)
    spec_caches.keep(key, CachedSpec.of(orjson.dumps(spec), key, {}))


def test_a_spec_gets_a_mould_when_it_comes_for_the_second_time():
    spec_caches, spec = SpecCache(), spec_named("a")
    assert spec_caches.find(spec) == (b"", None)
    key, cached_spec = spec_caches.find(spec)
    assert (key, cached_spec) == (orjson.dumps(spec), None)
    spec_caches.keep(key, made := CachedSpec.of(key, key, {}))
    assert spec_caches.find(spec) == (b"", made)
    assert spec_caches.find(spec_named("b")) == (b"", None)


def test_of_too_many_specs_the_oldest_are_forgotten():
    spec_caches = SpecCache()
    for name in range(MAX_SPECS + 2):
        keeping(spec_caches, spec_named(name))
    kept = [name for name in range(MAX_SPECS + 2) if spec_caches.find(spec_named(name))[1]]
    assert kept == list(range(2, MAX_SPECS + 2))


def test_a_spec_that_came_once_is_forgotten_after_as_many_others_as_are_kept():
    spec_caches = SpecCache()
    for name in range(MAX_SPECS + 1):
        spec_caches.find(spec_named(name))
    assert spec_caches.find(spec_named(1)) == (orjson.dumps(spec_named(1)), None)
    assert spec_caches.find(spec_named(0)) == (b"", None)


@pytest.mark.parametrize(("beyond", "kept"), [(0, True), (1, False)])
def test_a_large_spec_is_not_kept(beyond, kept):
    spec_caches = SpecCache()
    spec = spec_named("x" * (MAX_SPEC_BYTES - len(orjson.dumps(spec_named(""))) + beyond))
    spec_caches.find(spec)
    assert bool(spec_caches.find(spec)[0]) == kept


def _entries(pod):
    return pod["metadata"]["managedFields"]


def _owned(pod):
    return [entry["fieldsV1"] for entry in _entries(pod)]


def test_a_spec_that_is_nested_too_deeply_is_left_to_the_decoder():
    spec: dict[str, Any] = {}
    for _ in range(300):
        spec = {"a": spec}
    assert SpecCache().find(spec) == (b"", None)
