"""A pod is the same to the byte whether its spec was in the cache of specs or not, whatever filled the cache."""

import json
from dataclasses import replace

import orjson
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.user import User
from apiserver.app import serving
from apiserver.config import Config
from apiserver.registry.clock import RandomIds
from apiserver.registry.decoding import Body
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.rest.create import create
from apiserver.registry.spec_cache import spec_caches_by_kind

CLAIM = {"metadata": {}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
CONTAINER = {"name": "c", "image": "registry.local:5000/nginx:1.25"}
CONTAINERS = (
    CONTAINER,
    CONTAINER | {"resources": {"limits": {"cpu": "1000m", "memory": "1Gi"}}, "ports": [{"containerPort": 80}]},
    CONTAINER | {"securityContext": {"privileged": False}, "env": [{"name": "A", "value": "a:b"}]},
    CONTAINER | {"livenessProbe": {"httpGet": {"path": "/", "port": 80}}, "terminationMessagePath": ""},
    CONTAINER | {"unknown": {"a": 1}},
    CONTAINER | {"image": 7},
    {"image": "nginx"},
)
TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["a"]}
PARTS = {
    "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": CLAIM}}],
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
            "matchLabelKeys": ["a"],
        }
    ],
    "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}},
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "securityContext": {"runAsUser": 0},
    "restartPolicy": "",
    "dnsPolicy": None,
    "nodeSelector": {},
    "hostNetwork": True,
    "initContainers": [],
    "nodeName": "node-1",
    "shareProcesses": True,
}
ENTRY = {"manager": "before", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
TRACKED: list[Obj] = [
    ENTRY | {"fieldsV1": {"f:spec": {"f:dnsPolicy": {}, "f:nodeName": {}}}},
    ENTRY | {"fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}}, "manager": "labels"},
    ENTRY | {"fieldsV1": {"f:spec": {"f:containers": {}}}, "manager": "m"},
    ENTRY | {"fieldsV1": {"f:spec": 7}},
]
METADATA = {
    "annotations": {"container.apparmor.security.beta.kubernetes.io/c": "runtime/default"},
    "finalizers": ["example.com/wait"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "u"}] * 2,
    "unknown": 1,
}
VALIDATIONS = ("Strict", "Warn", "Ignore")


class SteadyIds(RandomIds):
    def uid(self):
        return "11111111-1111-4111-a111-111111111111"


class SteadyClock:
    def now(self):
        return 1_800_000_000.0


@pytest.fixture
async def registry():
    async with serving(Config(secure_port=0), clock=SteadyClock(), ids=SteadyIds()) as running:
        yield running.registry


def some_of(parts):
    """Strategy for mappings with some of the fields of another."""
    return st.lists(st.sampled_from(sorted(parts)), unique=True, max_size=3).map(
        lambda names: {name: parts[name] for name in names}
    )


specs = st.builds(
    lambda containers, more: {"containers": containers} | more,
    st.lists(st.sampled_from(CONTAINERS), max_size=2),
    some_of(PARTS),
)
metadata = st.builds(
    lambda more, tracked: {"name": "p"} | more | ({"managedFields": tracked} if tracked is not None else {}),
    some_of(METADATA),
    st.none() | st.lists(st.sampled_from(TRACKED), max_size=2, unique_by=lambda entry: entry["manager"]),
)
colors = st.sampled_from([{}, {"labels": {"a": "red"}}, {"labels": {"a": "blue"}}])


def paths(value, path=()):
    """Return the paths of all fields, those of fields of fields as well."""
    if isinstance(value, list):
        return [each for index, inner in enumerate(value) for each in paths(inner, (*path, index))]
    if not isinstance(value, dict):
        return []
    return [each for key, inner in value.items() for each in [(*path, key), *paths(inner, (*path, key))]]


def written(value, repeated, path=()):
    """Return the value as JSON, with the field at a path written twice."""
    if isinstance(value, list):
        return f"[{','.join(written(inner, repeated, (*path, index)) for index, inner in enumerate(value))}]"
    if not isinstance(value, dict):
        return json.dumps(value)
    pairs = [
        f"{json.dumps(key)}:{written(inner, repeated, (*path, key))}"
        for key, inner in value.items()
        for _ in range(2 if (*path, key) == repeated else 1)
    ]
    return f"{{{', '.join(pairs)}}}"


def with_escapes(text, count):
    """Return JSON in which some colons within strings are written as escapes."""
    return text.replace("local:", "local\\u003a", count)


@st.composite
def requests(draw, spec):
    """Strategy for a body with a spec, and the fieldValidation that it is sent with."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": draw(metadata) | draw(colors), "spec": spec}
    if draw(st.booleans()):
        pod["status"] = {"phase": "Running"}
    if draw(st.booleans()):
        pod = dict(reversed(pod.items()))
    repeated = draw(st.none() | st.sampled_from(paths(pod)))
    raw = with_escapes(written(pod, repeated), draw(st.sampled_from([0, 0, 1, 2]))).encode()
    body = Body(orjson.loads(raw), raw)
    if draw(st.sampled_from([False, False, True])):  # a body in YAML, whose repeated fields its parser has found
        warnings = (f'line 1: key "{repeated[-1]}" already set in map',) if repeated else ()
        body = Body(pod, repeated=warnings)
    return body, draw(st.sampled_from(VALIDATIONS))


histories = specs.flatmap(lambda spec: st.lists(requests(spec), min_size=3, max_size=6))


def sent(spec, text=None, validation="Warn", repeated=(), **meta):
    """A request that makes a pod, for histories that are written out."""
    raw = (text or json.dumps({"metadata": {"name": "p"} | meta, "spec": spec})).encode()
    return Body(orjson.loads(raw), b"" if repeated else raw, repeated), validation


PLAIN = {"containers": [CONTAINER]}
ODD = PLAIN | {"unknown": 1}
SPREAD = PLAIN | {"topologySpreadConstraints": PARTS["topologySpreadConstraints"]}
DOUBLED = written({"metadata": {"name": "p"}, "spec": PLAIN}, ("spec", "containers", 0, "name"))


def outcome(registry, body, validation):
    """Return what is stored of a pod, and the warnings; or the error. A dry run waits for nothing."""
    options = WriteOptions(User("u"), dry_run=True, manager="m", validation=validation)
    body = Body(orjson.loads(orjson.dumps(body.obj)), body.raw, body.repeated)
    try:
        create(registry, Target(registry.table.find("", "v1", "pods"), "default"), body, options).send(None)
    except ApiError as error:
        return error.status()
    except StopIteration as made:
        return made.value.kv.value, made.value.kv.index_attrs, made.value.warnings
    raise AssertionError("a dry run waits")


async def test_pods_come_to_the_same_with_the_cache_of_specs_and_without(registry):
    cold = replace(registry, decoder=replace(registry.decoder, spec_caches={}))
    cached = []

    @settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(histories)
    @example([sent(PLAIN), sent(PLAIN, managedFields=TRACKED[:1]), sent(PLAIN), sent(PLAIN)])
    @example([sent(PLAIN), sent(PLAIN), sent(PLAIN, DOUBLED, "Strict")])
    @example([sent(PLAIN), sent(PLAIN), sent(PLAIN, DOUBLED, "Warn")])
    @example([sent(PLAIN), sent(PLAIN), sent(PLAIN, with_escapes(DOUBLED, 1), "Strict")])
    @example([sent(PLAIN), sent(PLAIN), sent(PLAIN, repeated=('line 1: key "name" already set in map',))])
    @example([sent(ODD, validation=each) for each in ("Ignore", "Ignore", "Warn", "Strict")])
    @example([sent(ODD, validation=each) for each in ("Warn", "Warn", "Warn", "Strict")])
    @example([sent(SPREAD, labels={"a": color}) for color in ("red", "red", "red", "blue", "red")])
    def compare(history):
        decoder = replace(registry.decoder, spec_caches=spec_caches_by_kind())
        warm = replace(registry, decoder=decoder)
        for body, validation in history:
            assert outcome(warm, body, validation) == outcome(cold, body, validation)
        cached.append(bool(decoder.spec_caches["", "v1", "Pod"]._specs))

    compare()
    assert sum(cached) > len(cached) / 5, "few specs came into the cache, so that this says little"
