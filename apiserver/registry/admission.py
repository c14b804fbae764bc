"""The contract of admission plug-ins, and the chain that calls them in order."""

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
    """Return the 403 of a plug-in (admission.NewForbidden).

    An object whose name is yet to be generated is named by its generateName.
    """
    resource, meta = attributes.target.resource, (attributes.obj or {}).get("metadata") or {}
    name = attributes.target.name or meta.get("name") or meta.get("generateName") or "Unknown"
    return errors.forbidden(resource.group, resource.plural, name=name, why=why, causes=causes)


class Plugin(Protocol):
    """An admission plug-in: it lets a write pass, changes its object or refuses it.

    Attributes:
        kinds: the (group, kind)s that it handles, None for all.
    """

    name: str
    kinds: frozenset[tuple[str, str]] | None

    async def admit(self, attributes: Attributes) -> None:
        """Let the write pass, changing its object first if the plug-in mutates.

        Raises:
            ApiError: the write is refused.
        """
        ...


class Chain:
    """Plug-ins in the order in which they are called; the first that raises refuses the write."""

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self._plugins = tuple(plugins)
        self._by_kind: dict[tuple[str, str], tuple[Plugin, ...]] = {}

    async def admit(self, attributes: Attributes) -> None:
        """Call every plug-in that handles the kind.

        Raises:
            ApiError: the error of the plug-in that refuses.
        """
        resource = attributes.target.resource
        kind = (resource.group, resource.kind)
        plugins = self._by_kind.get(kind)
        if plugins is None:
            plugins = tuple(plugin for plugin in self._plugins if plugin.kinds is None or kind in plugin.kinds)
            self._by_kind[kind] = plugins
        for plugin in plugins:
            await plugin.admit(attributes)
