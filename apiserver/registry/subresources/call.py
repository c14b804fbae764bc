"""The contract of subresources: what one is asked, and what it answers."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from apiserver.api.meta import Obj
from apiserver.registry.context import Registry, Written
from apiserver.registry.decoding import Body
from apiserver.registry.operations import Patcher
from apiserver.registry.options import Target, WriteOptions


@dataclass(frozen=True, slots=True)
class Call:
    """One request for a subresource.

    Attributes:
        verb: "get", "create", "update", "patch" or "delete"; one that its row allows.
        query: the request's parameters.
        body: what was sent with a create or an update.
        patcher: what a patch does.
    """

    registry: Registry
    target: Target
    verb: str
    options: WriteOptions
    query: Mapping[str, str]
    body: Body | None = None
    patcher: Patcher | None = None

    @property
    def sent(self) -> Body:
        """The body of a verb that has one."""
        assert self.body is not None
        return self.body


Answer = Written | Obj
"""The parent object as it was written, or an object of the subresource's own kind."""

Part = Callable[[Call], Awaitable[Answer]]
