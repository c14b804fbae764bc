"""The contract of subresources, and of resources that are not stored: what one is asked, and what it answers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from apiserver.api.meta import Obj
from apiserver.api.parameters import Parameters
from apiserver.api.resources import Resource
from apiserver.registry.context import Registry, WriteResult
from apiserver.registry.decoding import Body
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.rest.patch_body import Patch
from apiserver.registry.storage import ListPage


@dataclass(frozen=True, slots=True)
class Location:
    """What is asked of a kubelet.

    Attributes:
        path: of the kubelet's, as it goes over the wire, with its query.
        upgrades: whether the connection becomes one of another protocol; else the answer is read to its end.
        verified: whether the kubelet has to show that it is one.
    """

    host: str
    port: int
    path: str
    upgrades: bool
    verified: bool = True

    @property
    def authority(self) -> str:
        """HOST:PORT, as a URL has it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Call:
    """One request for a subresource, or for a resource that is not stored.

    Attributes:
        verb: "get", "list", "create", "update", "patch" or "delete"; one that its row allows.
        query: the request's parameters.
        body: what was sent with a create or an update.
        patch: what was sent with a patch.
    """

    registry: Registry
    target: Target
    verb: str
    options: WriteOptions
    query: Parameters
    body: Body | None = None
    patch: Patch | None = None

    @property
    def sent(self) -> Body:
        """The body of a verb that has one."""
        assert self.body is not None
        return self.body


class Warned(NamedTuple):
    """An object of another kind, with what its writer is warned of.

    Attributes:
        obj: the object, such as a Scale.
        warnings: the texts.
    """

    obj: Obj
    warnings: tuple[str, ...]


Answer = WriteResult | ListPage | Location | Warned | Obj | None
"""The parent object as it was written, a list, who answers instead, an object of another kind, or nothing (204)."""

Part = Callable[[Call], Awaitable[Answer]]

SUCCESS: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
"""What tells that something was done that leaves no object of its own."""


def core(registry: Registry, plural: str) -> Resource:
    """Return the row of a core resource, which every release serves."""
    resource = registry.table.find("", "v1", plural)
    assert resource is not None
    return resource


async def read(call: Call) -> Obj:
    """Return the object that the subresource belongs to.

    Raises:
        ApiError: 404.
    """
    target = call.target
    kv = await call.registry.storage.get(target.resource, target.namespace, target.name)
    return call.registry.codecs.of(target.resource).decode(kv)
