"""The contract of admission plug-ins, and the chain that asks them in order."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, Protocol

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.user import User
from apiserver.registry.options import Target

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class Attributes(NamedTuple):
    """One write, as admission sees it.

    Attributes:
        obj: the new object, which a plug-in may change; None for deletes.
        old: the stored object, None for creates.
    """

    operation: Operation
    target: Target
    user: User
    obj: Obj | None = None
    old: Obj | None = None
    dry_run: bool = False


def forbidden(attributes: Attributes, why: str, *, causes: Iterable[Obj] = ()) -> ApiError:
    """The refusal of a plug-in; a name that is still to be made is told by its beginning (admission.NewForbidden)."""
    resource, meta = attributes.target.resource, (attributes.obj or {}).get("metadata") or {}
    name = attributes.target.name or meta.get("name") or meta.get("generateName") or "Unknown"
    return errors.forbidden(resource.group, resource.plural, name=name, why=why, causes=causes)


class Plugin(Protocol):
    """Decides on writes.

    Attributes:
        kinds: the (group, kind)s that it looks at, None for all.
    """

    name: str
    kinds: frozenset[tuple[str, str]] | None

    async def admit(self, attributes: Attributes) -> None:
        """Let the write pass, after changing its object where that is the plug-in's work.

        Raises:
            ApiError: the write is refused.
        """
        ...


class Chain:
    """Plug-ins in the order in which they are asked; the first that raises refuses the write."""

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self._plugins = tuple(plugins)
        self._by_kind: dict[tuple[str, str], tuple[Plugin, ...]] = {}

    async def admit(self, attributes: Attributes) -> None:
        """Ask every plug-in that looks at the kind.

        Raises:
            ApiError: of the plug-in that refuses.
        """
        resource = attributes.target.resource
        kind = (resource.group, resource.kind)
        asked = self._by_kind.get(kind)
        if asked is None:
            asked = tuple(plugin for plugin in self._plugins if plugin.kinds is None or kind in plugin.kinds)
            self._by_kind[kind] = asked
        for plugin in asked:
            await plugin.admit(attributes)
