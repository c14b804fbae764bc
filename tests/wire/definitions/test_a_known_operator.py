"""The definitions of an operator that others wrote: Dask's, as the Python package of its project ships them.

They are served whole, and the examples beside them are validated. Three of them hold the types of pods and services.
"""

import asyncio
from collections.abc import Iterator
from copy import deepcopy
from importlib.metadata import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from patience import SECONDS

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "kubernetes.dask.org"
HERE = f"/apis/{GROUP}/v1/namespaces/default"
KINDS = {
    "daskautoscalers": "DaskAutoscaler",
    "daskclusters": "DaskCluster",
    "daskjobs": "DaskJob",
    "daskworkergroups": "DaskWorkerGroup",
}
PLURALS = {kind: plural for plural, kind in KINDS.items()}
SHIPPED = [Path(each.locate()) for each in files("dask-kubernetes") or ()]
DEFINITIONS = [path for path in SHIPPED if path.suffix == ".yaml" and path.parent.name == "crds"]
EXAMPLES = {path.stem: path for path in SHIPPED if path.suffix == ".yaml" and path.parent.name == "resources"}
YAML = {"Content_Type": "application/yaml"}
INT_OR_STRING = '299 - "unrecognized format \\"int-or-string\\""'
"""A warning that a real server gives as well: the format means nothing to it."""


def example(name: str) -> dict[str, Any]:
    """An object that the package brings; of autoscalers it has none, so that its documentation's stands here."""
    if name != "autoscaler":
        return dict(yaml.safe_load(EXAMPLES[name].read_text()))
    spec = {"cluster": "simple", "minimum": 1, "maximum": 10}
    return {"apiVersion": f"{GROUP}/v1", "kind": "DaskAutoscaler", "metadata": {"name": "simple"}, "spec": spec}


NAMES = [*EXAMPLES, "autoscaler"]


@pytest.fixture
async def dask(api, customs):
    """A server with the operator's definitions, each posted as its file has it."""
    for path in DEFINITIONS:
        reply = await api.post(CRDS, path.read_bytes(), **YAML)
        assert reply.code == 201, reply.text
        assert set(reply.headers.getall("Warning", ())) <= {INT_OR_STRING}
    for plural in KINDS:
        await customs.established(f"{plural}.{GROUP}")
    return api


def test_the_package_brings_what_is_tested_here():
    assert len(DEFINITIONS) == len(KINDS)
    assert {example(name)["kind"] for name in NAMES} == {*KINDS.values()}


async def test_each_definition_is_stored_as_it_was_written(dask):
    for path in DEFINITIONS:
        written = yaml.safe_load(path.read_text())
        stored = (await dask.get(f"{CRDS}/{written['metadata']['name']}")).json
        assert stored["spec"]["versions"] == written["spec"]["versions"]
        assert [each["type"] for each in stored["status"]["conditions"]] == ["NamesAccepted", "Established"]
        assert stored["status"]["storedVersions"] == ["v1"]


async def test_discovery_and_openapi_tell_of_all_kinds(dask):
    listed = (await dask.get(f"/apis/{GROUP}/v1")).json["resources"]
    assert {each["name"]: each["kind"] for each in listed if "/" not in each["name"]} == KINDS
    assert "daskclusters/scale" in [each["name"] for each in listed]
    document = (await dask.get(f"/openapi/v3/apis/{GROUP}/v1")).json["components"]["schemas"]
    spec = document["org.dask.kubernetes.v1.DaskCluster"]["properties"]["spec"]
    containers = spec["properties"]["worker"]["properties"]["spec"]["properties"]["containers"]
    assert containers["items"]["required"] == ["name"]
    assert "org.dask.kubernetes.v1.DaskCluster" in (await dask.get("/openapi/v2")).json["definitions"]


@pytest.mark.parametrize("name", NAMES)
async def test_its_examples_are_good(dask, name):
    given = example(name)
    path = f"{HERE}/{PLURALS[given['kind']]}"
    made = await dask.post(f"{path}?fieldValidation=Strict", given)
    assert made.code == 201, made.text
    assert (await dask.get(f"{path}/{given['metadata']['name']}")).json == made.json
    assert {*differences(given["spec"], made.json["spec"])} == {*FILLED_IN.get(name, ())}


def differences(given: Any, stored: Any, path: str = "spec") -> Iterator[tuple[str, Any]]:
    """Where what was stored is not what was given, and what stands there."""
    if isinstance(given, dict) and isinstance(stored, dict):
        for key in {*given, *stored}:
            yield from differences(given.get(key), stored.get(key), f"{path}.{key}")
    elif isinstance(given, list) and isinstance(stored, list) and len(given) == len(stored):
        for index, (one, other) in enumerate(zip(given, stored, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif given != stored or type(given) is not type(stored):
        yield path, stored


FILLED_IN: dict[str, list[tuple[str, Any]]] = {
    "simplecluster": [("spec.idleTimeout", 0)],
    "simplejob": [("spec.cluster.spec.idleTimeout", 0), ("spec.job.spec.restartPolicy", "OnFailure")],
    "failedjob": [("spec.cluster.spec.idleTimeout", 0)],
}
"""The fields that the definitions' defaults add to the examples."""

ABSENT = object()
WORKER = ("spec", "worker")
CONTAINER = (*WORKER, "spec", "containers", 0)
SCHEDULER = ("spec", "cluster", "spec", "scheduler", "spec", "containers", 0)


def mistyped(path: str, kind: str, given: str) -> str:
    """Return the error for a value of another type."""
    return f'{path}: Invalid value: "{given}": {path} in body must be of type {kind}: "{given}"'


PORT = "spec.cluster.spec.scheduler.spec.containers[0].readinessProbe.httpGet.port"
MISSING = "[spec.cluster: Required value, spec.minimum: Required value, spec.maximum: Required value]"
TWICE = 'Duplicate value: {"containerPort":80,"protocol":"TCP"}'
PORTS = [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]
BROKEN = [
    ("autoscaler", ("spec", "minimum"), ABSENT, "spec.minimum: Required value"),
    ("autoscaler", ("spec", "maximum"), "10", mistyped("spec.maximum", "integer", "string")),
    ("autoscaler", ("spec",), {}, MISSING),
    ("simplecluster", WORKER, ABSENT, "spec.worker: Required value"),
    ("simplecluster", (*WORKER, "replicas"), -1, ".spec.worker.replicas: Invalid value: -1: should be a non-negative "),
    ("simplecluster", (*CONTAINER, "name"), ABSENT, "spec.worker.spec.containers[0].name: Required value"),
    ("simplecluster", (*CONTAINER, "args"), "x", mistyped("spec.worker.spec.containers[0].args", "array", "string")),
    ("simplecluster", (*CONTAINER, "ports"), PORTS, f"spec.worker.spec.containers[0].ports[1]: {TWICE}"),
    ("simpleworkergroup", (*WORKER, "replicas"), "2", "[" + mistyped("spec.worker.replicas", "integer", "string")),
    ("simplejob", (*SCHEDULER, "readinessProbe", "httpGet", "port"), True, mistyped(PORT, "string", "boolean")),
]


@pytest.mark.parametrize(("name", "field", "value", "message"), BROKEN)
async def test_an_example_that_is_broken_is_refused_at_the_right_place(dask, name, field, value, message):
    broken = changed(example(name), field, value)
    path = f"{HERE}/{PLURALS[broken['kind']]}"
    refused = await dask.post(path, broken)
    assert (refused.code, refused.json["reason"]) == (422, "Invalid")
    words = f'{broken["kind"]}.{GROUP} "{broken["metadata"]["name"]}" is invalid: '
    assert refused.message.startswith(words + message)
    assert (await dask.get(path)).json["items"] == []
    made = await dask.post(path, example(name))
    broken["metadata"]["resourceVersion"] = made.version
    assert (await dask.put(f"{path}/{broken['metadata']['name']}", broken)).message == refused.message


def changed(obj: dict[str, Any], steps: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """The object with another value at a place, or without one there."""
    made: Any = deepcopy(obj)
    *way, last = steps
    inner = made
    for part in way:
        inner = inner[part]
    if value is ABSENT:
        del inner[last]
    else:
        inner[last] = value
    return dict(made)


@pytest.mark.parametrize(
    ("field", "path"),
    [
        (("spec", "workers"), "spec.workers"),
        ((*CONTAINER, "imagePullPolicies"), "spec.worker.spec.containers[0].imagePullPolicies"),
        ((*WORKER, "spec", "affinity"), "spec.worker.spec.affinity.podAffinities"),
    ],
)
async def test_a_field_that_nobody_knows_is_reported_and_left_out(dask, field, path):
    given = changed(example("simplecluster"), field, {"podAffinities": {}})
    refused = await dask.post(f"{HERE}/daskclusters?fieldValidation=Strict", given)
    assert refused.code == 400
    assert refused.message.endswith(f'strict decoding error: unknown field "{path}"')
    made = await dask.post(f"{HERE}/daskclusters?fieldValidation=Warn", given)
    assert made.headers["Warning"] == f'299 - "unknown field \\"{path}\\""'
    assert "podAffinities" not in made.text


async def test_the_operator_scales_a_worker_group_and_tells_its_status(dask):
    await dask.post(f"{HERE}/daskworkergroups", example("simpleworkergroup"))
    path = f"{HERE}/daskworkergroups/simple-additional"
    scaled = await dask.patch(f"{path}/scale", {"spec": {"replicas": 4}})
    assert (scaled.code, scaled.json["spec"]) == (200, {"replicas": 4})
    await dask.patch(path, {"status": {"phase": "Running"}})
    body = (await dask.get(path)).json
    assert body["spec"]["worker"]["replicas"] == 4
    assert body["metadata"]["generation"] == 3


async def test_columns_are_those_of_the_operator(dask):
    await dask.post(f"{HERE}/daskclusters", example("simplecluster"))
    await dask.patch(f"{HERE}/daskclusters/simple", {"status": {"phase": "Running"}})
    table = (await dask.get(f"{HERE}/daskclusters", Accept="application/json;as=Table;g=meta.k8s.io;v=v1")).json
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Workers", "Status", "Age"]
    assert table["rows"][0]["cells"][:3] == ["simple", 2, "Running"]


async def test_all_of_it_goes_with_its_definitions(dask):
    for name in NAMES:
        given = example(name)
        await dask.post(f"{HERE}/{PLURALS[given['kind']]}", given)
    await dask.delete(CRDS)
    async with asyncio.timeout(SECONDS):
        while (await dask.get(f"/apis/{GROUP}/v1")).code != 404:
            pass
    assert (await dask.get(CRDS)).json["items"] == []
