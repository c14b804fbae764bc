"""The shape of a strategy, and the parts that most strategies are made of."""

from collections.abc import Callable
from dataclasses import dataclass

from apiserver.api.meta import Obj

Create = Callable[[Obj], None]
"""Prepares a new object in place, decoded and defaulted; its metadata has uid and creationTimestamp."""

Update = Callable[[Obj, Obj], None]
"""Prepares (new, old): changes new in place, shares parts of old with it and leaves old alone."""


def nothing(_obj: Obj) -> None:
    """Leaves the object as it is."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """What creation and updates do to an object of a kind before it is validated (pkg/registry/*/*/strategy.go).

    Attributes:
        prepare_create: sets the initial status and generation.
        prepare_update: takes the status from the old object, and moves the generation with the spec.
        prepare_status_update: takes all but the status from the old object.
        has_status: creation discards the status that the client sent.
        allow_unconditional_update: an update need not name the resourceVersion.
        default_propagation: what becomes of dependents when a deletion does not say.
        graceful: deletion gives the object time to end.
        canonicalize: what a write adds once the object is valid and has its name, generated or not.
        uses_name: prepare_create writes the object's name into it, so each generated name needs an object of its own.
    """

    prepare_create: Create
    prepare_update: Update
    prepare_status_update: Update
    has_status: bool = False
    allow_unconditional_update: bool = True
    default_propagation: str = "Background"
    graceful: bool = False
    canonicalize: Create = nothing
    uses_name: bool = False


def unchanged(_new: Obj, _old: Obj) -> None:
    """An update leaves the object as it is."""


PLAIN = Strategy(nothing, unchanged, unchanged)

PINNED = Strategy(nothing, unchanged, unchanged, allow_unconditional_update=False)


def creation(*, status: Callable[[], Obj] | None = None, generation: bool = True) -> Create:
    """A Create that sets the status that the function makes, and generation 1."""

    def prepare(obj: Obj) -> None:
        if status is not None:
            obj["status"] = status()
        if generation:
            obj["metadata"]["generation"] = 1

    return prepare


def updating(*moving: str, status: bool = True) -> Update:
    """An Update that keeps the status, and moves the generation when one of these top-level fields changes."""

    def prepare(new: Obj, old: Obj) -> None:
        if status:
            keep(new, old, "status")
        if any(new.get(field) != old.get(field) for field in moving):
            move_generation(new, old)

    return prepare


COUNTED = Strategy(creation(), updating("spec", status=False), unchanged)

COUNTED_PINNED = Strategy(creation(), updating("spec", status=False), unchanged, allow_unconditional_update=False)

METADATA_OF_STATUS = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp", "generation")
"""What a status update leaves as it was, for the kinds that guard all metadata (metav1.ResetObjectMetaForStatus)."""


def status_updating(*metadata: str) -> Update:
    """An Update of the status that keeps the spec and these fields of the metadata."""

    def prepare(new: Obj, old: Obj) -> None:
        keep(new, old, "spec")
        for field in metadata:
            keep(new["metadata"], old["metadata"], field)

    return prepare


GUARDED_STATUS = Strategy(
    creation(status=dict, generation=False), updating(), status_updating(*METADATA_OF_STATUS), has_status=True
)

COUNTED_STATUS = Strategy(
    creation(status=dict), updating("spec"), status_updating(*METADATA_OF_STATUS), has_status=True
)

COUNTED_STATUS_PINNED = Strategy(
    creation(status=dict),
    updating("spec"),
    status_updating(*METADATA_OF_STATUS),
    has_status=True,
    allow_unconditional_update=False,
)


def keep(new: Obj, old: Obj, field: str) -> None:
    """Sets a field as it was, or absent as it was."""
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def move_generation(new: Obj, old: Obj) -> None:
    """Notes that the desired state has changed."""
    new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def differ(new: Obj, old: Obj) -> bool:
    """Return whether two objects differ beside their metadata."""
    return any(new.get(field) != old.get(field) for field in new.keys() | old.keys() if field != "metadata")
