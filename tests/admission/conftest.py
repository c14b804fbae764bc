"""A store in memory and writes of objects, for the tests of single plug-ins."""

import orjson
import pytest

from apiserver.api.errors import ApiError
from apiserver.api.user import User
from apiserver.registry.admission import Attributes, Chain
from apiserver.registry.options import Target
from etcd.backends import open_store


@pytest.fixture
async def store():
    store = await open_store("memory://")
    yield store
    await store.close()


@pytest.fixture
def put(store):
    """put(key below /registry/, object): stores it."""

    async def run(key, obj):
        namespace, _, name = key.partition("/")[2].rpartition("/")
        meta = {"name": name} | ({"namespace": namespace} if namespace else {}) | obj.get("metadata", {})
        await store.put(f"/registry/{key}", orjson.dumps(obj | {"metadata": meta}))

    return run


@pytest.fixture
def write(rows):
    """write(plug-in, kind, object, ...): (the object after both phases, the warnings), or raises."""

    async def run(plugin, kind, obj, *, old=None, operation="", subresource="", user=None, name="x"):
        row = rows[kind]
        target = Target(row, "ns" if row.namespaced else "", name, subresource)
        attributes = Attributes(
            operation or ("CREATE" if old is None else "UPDATE"), target, user or User("u"), obj=obj, old=old
        )
        chain = Chain([plugin])
        await chain.admit(attributes)
        await chain.validate(attributes)
        return obj, attributes.warnings

    return run


@pytest.fixture
def refusal(write):
    """refusal(...): (code, reason why) of a write that is refused."""

    async def run(*arguments, **more):
        with pytest.raises(ApiError) as refused:
            await write(*arguments, **more)
        return refused.value.code, refused.value.message.partition(" is forbidden: ")[2] or refused.value.message

    return run
