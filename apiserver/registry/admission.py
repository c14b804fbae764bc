"""The contract of admission plug-ins, and the chain that calls them in order (k8s.io/apiserver/pkg/admission)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.user import User
from apiserver.registry.options import Target

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]

OPTIONS: Mapping[Operation, str] = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
"""Operation → the kind of its options; a patch is an update, or a create, and has the options of those."""


@dataclass(slots=True)
class ReinvocationContext:
    """The state of mutating plug-ins that want the chain to run once more (admission.ReinvocationContext).

    Attributes:
        is_reinvoke: whether the chain runs for the second time.
        should_reinvoke: whether a plug-in asks for that.
        values: plug-in → its own state, from the first run for the second.
    """

    is_reinvoke: bool = False
    should_reinvoke: bool = False
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Attributes:
    """One write, as admission sees it (admission.Attributes).

    Attributes:
        obj: the new object, None for deletes. A mutating plug-in changes it in place; what it has of a patched object
            may be part of the stored one too, so whatever lies below its fields is copied before it is changed.
        old: the stored object, None for creates and connections.
        given_options: the options as the client gave them, without kind and apiVersion.
        warnings: texts for the Warning headers of the response; plug-ins append theirs.
        reinvocation: the state for a second run of the mutating plug-ins, None while none has asked for it.
    """

    operation: Operation
    target: Target
    user: User
    obj: Obj | None = None
    old: Obj | None = None
    dry_run: bool = False
    given_options: Mapping[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    reinvocation: ReinvocationContext | None = None

    @property
    def options(self) -> Obj:
        """The options of the operation as an object of meta.k8s.io/v1, {} for connections."""
        kind = OPTIONS.get(self.operation)
        return {"kind": kind, "apiVersion": "meta.k8s.io/v1", **self.given_options} if kind else {}

    def get_reinvocation(self) -> ReinvocationContext:
        """Return the reinvocation state, which the first call makes."""
        if self.reinvocation is None:
            self.reinvocation = ReinvocationContext()
        return self.reinvocation


def forbidden(attributes: Attributes, why: str, *, causes: Iterable[Obj] = ()) -> ApiError:
    """Return the 403 of a plug-in (admission.NewForbidden).

    An object whose name is yet to be generated is named by its generateName.
    """
    resource = attributes.target.resource
    return errors.forbidden(resource.group, resource.plural, name=object_name(attributes), why=why, causes=causes)


def object_name(attributes: Attributes) -> str:
    """Return the object's name as errors of admission have it (extractResourceName)."""
    meta = (attributes.obj or {}).get("metadata") or {}
    return attributes.target.name or meta.get("name") or meta.get("generateName") or "Unknown"


class Handles(NamedTuple):
    """Writes that a plug-in looks at; for all others it costs nothing.

    Attributes:
        operations: the operations.
        kinds: the (group, kind)s, None for all.
        subresources: the subresources, "" for the object itself; None for all.
    """

    operations: frozenset[Operation]
    kinds: frozenset[tuple[str, str]] | None = None
    subresources: frozenset[str] | None = frozenset(("",))

    def covers(self, operation: Operation, target: Target) -> bool:
        """Return whether these are such writes."""
        resource = target.resource
        return (
            operation in self.operations
            and (self.kinds is None or (resource.group, resource.kind) in self.kinds)
            and (self.subresources is None or target.subresource in self.subresources)
        )


CREATE: frozenset[Operation] = frozenset(("CREATE",))
UPDATE: frozenset[Operation] = frozenset(("UPDATE",))
WRITES: frozenset[Operation] = frozenset(("CREATE", "UPDATE"))
ALL: frozenset[Operation] = frozenset(("CREATE", "UPDATE", "DELETE", "CONNECT"))


@runtime_checkable
class Plugin(Protocol):
    """An admission plug-in; it is a MutatingPlugin, a ValidatingPlugin, or both."""

    @property
    def name(self) -> str:
        """The name in --enable-admission-plugins."""
        ...

    @property
    def handles(self) -> tuple[Handles, ...]:
        """The writes that it looks at."""
        ...


@runtime_checkable
class MutatingPlugin(Plugin, Protocol):
    """A plug-in that may change objects (admission.MutationInterface)."""

    async def admit(self, attributes: Attributes) -> None:
        """Let the write pass, changing its object first; before the object is validated.

        Raises:
            ApiError: the write is refused.
        """
        ...


@runtime_checkable
class ValidatingPlugin(Plugin, Protocol):
    """A plug-in that looks at objects as they will be stored (admission.ValidationInterface)."""

    async def validate(self, attributes: Attributes) -> None:
        """Let the write pass without changing anything.

        Raises:
            ApiError: the write is refused.
        """
        ...


Call = Callable[[Attributes], Any]
_Key = tuple[Operation, str, str, str]


class Chain:
    """Plug-ins in the order in which they are called; the first that raises refuses the write.

    Which of them look at a write is worked out once for each operation, kind and subresource.
    """

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self._mutating: dict[_Key, tuple[Call, ...]] = {}
        self._validating: dict[_Key, tuple[Call, ...]] = {}
        self.install(plugins)

    def install(self, plugins: Sequence[Plugin]) -> None:
        """Replace the plug-ins: those that need the verbs can be made only after the registry, which has the chain."""
        self.plugins = tuple(plugins)
        self._mutating.clear()
        self._validating.clear()

    async def admit(self, attributes: Attributes) -> None:
        """Call every mutating plug-in that looks at the write; once more if one of them asks for that.

        Raises:
            ApiError: the error of the plug-in that refuses.
        """
        resource = attributes.target.resource
        key = (attributes.operation, resource.group, resource.kind, attributes.target.subresource)
        calls = self._mutating.get(key)
        if calls is None:
            handling = self._handling(attributes)
            calls = self._mutating[key] = tuple(each.admit for each in handling if isinstance(each, MutatingPlugin))
        for call in calls:
            await call(attributes)
        reinvocation = attributes.reinvocation
        if reinvocation is not None and reinvocation.should_reinvoke:
            reinvocation.is_reinvoke = True
            for call in calls:
                await call(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Call every validating plug-in that looks at the write.

        Raises:
            ApiError: the error of the plug-in that refuses.
        """
        resource = attributes.target.resource
        key = (attributes.operation, resource.group, resource.kind, attributes.target.subresource)
        calls = self._validating.get(key)
        if calls is None:
            handling = self._handling(attributes)
            calls = self._validating[key] = tuple(
                each.validate for each in handling if isinstance(each, ValidatingPlugin)
            )
        for call in calls:
            await call(attributes)

    def _handling(self, attributes: Attributes) -> list[Plugin]:
        operation, target = attributes.operation, attributes.target
        return [each for each in self.plugins if any(writes.covers(operation, target) for writes in each.handles)]
