"""What exists from the start: the system's namespaces and the objects that clients rely on in them."""

from collections.abc import Iterator

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.registry.context import Registry
from apiserver.registry.decoding import Body
from apiserver.registry.operations import create
from apiserver.api.user import User
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.storage import key_of

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
SYSTEM = User("system:apiserver", groups=("system:masters",))


async def bootstrap(registry: Registry) -> None:
    """Make what is missing; what is there stays as it is."""
    options = WriteOptions(SYSTEM, manager="kube-apiserver", validation="Ignore")
    for obj in _objects():
        target = _target(registry, obj)
        if registry.storage.store.get(key_of(target.resource, target.namespace, obj["metadata"]["name"])) is None:
            try:
                await create(registry, target, Body(obj), options)
            except ApiError as error:
                if error.code != 409:  # another server was faster
                    raise


def _objects() -> Iterator[Obj]:
    for name in NAMESPACES:
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _target(registry: Registry, obj: Obj) -> Target:
    group, _, version = obj["apiVersion"].rpartition("/")
    resource = next(r for r in registry.table if (r.group, r.version, r.kind) == (group, version, obj["kind"]))
    return Target(resource, obj["metadata"].get("namespace", ""))
