"""Definitions of custom kinds, and helpers that create them on a running server."""

import asyncio
from copy import deepcopy
from types import SimpleNamespace

import pytest
from patience import SECONDS

from apiserver.api.meta import Obj

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}, "colour": {"type": "string"}}},
        "status": {"type": "object", "properties": {"size": {"type": "integer"}}},
    },
}
WIDGETS: Obj = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}],
    },
}


@pytest.fixture
def definition():
    """Return a function that makes a definition of widgets, with given fields in its spec and in its only version."""

    def make(*, plural="widgets", kind="Widget", names=None, version=None, **spec):
        made = deepcopy(WIDGETS)
        made["metadata"]["name"] = f"{plural}.{spec.get('group', 'example.com')}"
        made["spec"] |= spec
        made["spec"]["names"] |= {"plural": plural, "kind": kind} | (names or {})
        if "versions" not in spec:
            made["spec"]["versions"][0] |= version or {}
        return made

    return make


@pytest.fixture
def customs(api, definition):
    """Helpers for definitions and custom objects on the server."""

    async def until(name, is_so):
        async with asyncio.timeout(SECONDS):
            while not is_so(reply := await api.get(f"{CRDS}/{name}")):
                pass
        return reply.json

    async def established(name):
        return await until(name, lambda reply: condition(reply.json, "Established").get("status") == "True")

    async def define(**changes):
        """Create a definition, and wait until it is served."""
        made = definition(**changes)
        reply = await api.post(CRDS, made)
        assert reply.code == 201, reply.text
        return await established(made["metadata"]["name"])

    return SimpleNamespace(until=until, established=established, define=define, condition=condition)


def condition(definition, kind):
    """Return a condition of a definition, {} if it has none of that type."""
    conditions = definition.get("status", {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == kind), {})
