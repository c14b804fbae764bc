"""A server's admission of OpenKruise's sets, over a store that has nothing but pods."""

import orjson
import pytest
from kruise_admission import refusal, row
from set_specs import ALL

from apiserver.admission.kruise_sets import KruiseSets
from apiserver.api.schema import Schema, available_versions, load_definitions
from apiserver.api.user import User
from apiserver.registry.admission import Attributes, Chain, Operation
from apiserver.registry.options import Target
from etcd.store import KeyValue

ROWS = {each: row(*each) for each in ALL}


class Pods:
    """A store that has nothing but pods of the namespace "ns"."""

    def __init__(self, **pods):
        self._pods = pods

    def get(self, key):
        meta = self._pods.get(key.removeprefix("/registry/pods/ns/"))
        return None if meta is None else KeyValue(key, orjson.dumps({"metadata": meta}), 1, 1, None)


@pytest.fixture(scope="module")
def schema():
    """The types of the newest release."""
    version = available_versions()[-1]
    return Schema(load_definitions(version), version)


@pytest.fixture
def store_of():
    """store_of(name=metadata, ...): a store with those pods."""
    return Pods


@pytest.fixture
def admitted(schema):
    """admitted((kind, version), spec, old spec): the spec that is stored, or raises."""

    async def admit(row, spec, old=None, *, subresource="", pods=None):
        meta = {"name": "web", "uid": "of-web"}
        obj, stored = ({"metadata": meta, "spec": each} if each is not None else None for each in (spec, old))
        chain, target = Chain([KruiseSets(schema, pods or Pods())]), Target(ROWS[row], "ns", "web", subresource)
        operation: Operation = "CREATE" if old is None else "UPDATE"
        await chain.admit(Attributes(operation, target, User("u"), obj=obj, old=stored))
        assert obj is not None
        return obj["spec"]

    return admit


@pytest.fixture
def admitted_whole(schema):
    """admitted_whole((kind, version), object, old object): the object that is stored, metadata apart."""

    async def admit(row, obj, old=None):
        plugin, target = KruiseSets(schema, Pods()), Target(ROWS[row], "ns", "web", "")
        await plugin.admit(Attributes("CREATE" if old is None else "UPDATE", target, User("u"), obj=obj, old=old))
        return obj

    return admit


@pytest.fixture
def refused(admitted):
    """refused((kind, version), spec, old spec): the fields that are wrong, with why."""

    async def refuse(row, spec, old=None, **more):
        return await refusal(admitted(row, spec, old, **more), old)

    return refuse
