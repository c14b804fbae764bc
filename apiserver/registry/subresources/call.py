"""The contract of subresources, and of resources that are not stored: the call and its possible answers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from apiserver.api.meta import Obj
from apiserver.api.parameters import Parameters
from apiserver.api.resources import Resource
from apiserver.registry.admission import Attributes, Operation
from apiserver.registry.context import Registry, WriteResult
from apiserver.registry.decoding import Body
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.rest.patch_body import ApplyPatch, Patch
from apiserver.registry.storage import ListPage


@dataclass(frozen=True, slots=True)
class KubeletLocation:
    """A request to a kubelet.

    Attributes:
        host: the kubelet's host name or address.
        port: the kubelet's port.
        path: the path on the kubelet as sent, with its query.
        upgrades: whether the connection is upgraded to another protocol; else the response is read to its end.
        verified: whether the kubelet's certificate is verified.
    """

    host: str
    port: int
    path: str
    is_upgrade: bool
    verify_tls: bool = True

    @property
    def authority(self) -> str:
        """HOST:PORT, as a URL has it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class SubresourceRequest:
    """One request for a subresource, or for a resource that is not stored.

    Attributes:
        verb: "get", "list", "create", "update", "patch" or "delete"; one that its row allows.
        query: the request's parameters.
        body: the body of a create or an update.
        patch: the body of a patch.
        warnings: texts for the Warning headers of the response.
    """

    registry: Registry
    target: Target
    verb: str
    options: WriteOptions
    query: Parameters
    body: Body | None = None
    patch: Patch | ApplyPatch | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def required_body(self) -> Body:
        """The body of a verb that has one."""
        assert self.body is not None
        return self.body


class ObjectWithWarnings(NamedTuple):
    """An object of another kind, with warnings for its writer.

    Attributes:
        obj: the object, such as a Scale.
        warnings: the texts of the warnings.
    """

    obj: Obj
    warnings: tuple[str, ...]


Answer = WriteResult | ListPage | KubeletLocation | ObjectWithWarnings | Obj | None
"""The parent object as it was written, a list, the kubelet to ask, an object of another kind, or nothing (204)."""

Handler = Callable[[SubresourceRequest], Awaitable[Answer]]

SUCCESS: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
"""The answer to a call that succeeded and has no object to return."""


def core_resource(registry: Registry, plural: str) -> Resource:
    """Return the row of a core resource, which every release serves."""
    resource = registry.table.find("", "v1", plural)
    assert resource is not None
    return resource


async def admit(call: SubresourceRequest, obj: Obj, operation: Operation = "CREATE") -> None:
    """Run both phases of admission on a request whose object is not stored, such as an Eviction.

    Args:
        call: the request.
        obj: the object of its body; for connections its parameters as an object, such as PodExecOptions.
        operation: CREATE, or CONNECT for connections.

    Raises:
        ApiError: the error of the plug-in that refuses.
    """
    options, admission = call.options, call.registry.admission
    attributes = Attributes(
        operation, call.target, options.user, obj, None, options.dry_run, options.given, warnings=call.warnings
    )
    await admission.admit(attributes)
    await admission.validate(attributes)


async def read_parent(call: SubresourceRequest) -> Obj:
    """Return the object that the subresource belongs to.

    Raises:
        ApiError: 404.
    """
    target = call.target
    kv = await call.registry.storage.get(target.resource, target.namespace, target.name)
    return await call.registry.decode(target.resource, kv)
