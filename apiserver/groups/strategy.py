"""The strategy of a kind: how creation and updates prepare an object; and parts that most strategies share."""

from collections.abc import Callable
from dataclasses import dataclass

from apiserver.api.meta import Obj

Create = Callable[[Obj], None]
"""A function that prepares a new object in place, decoded and defaulted; it has uid and creationTimestamp."""

Update = Callable[[Obj, Obj], None]
"""A function of (new, old) that prepares new in place; it may share parts of old, which it leaves as it is."""


def nothing(_obj: Obj) -> None:
    """Leave the object as it is."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """The rules by which creation and updates change an object before validation (pkg/registry/*/*/strategy.go).

    Attributes:
        prepare_create: sets the initial status and generation.
        prepare_update: takes the status from the old object, and increments the generation with the spec.
        prepare_status_update: takes all but the status from the old object.
        has_status: creation discards the status that the client sent.
        allow_unconditional_update: an update may omit the resourceVersion.
        default_propagation: the propagation policy of deletions that name none.
        graceful: deletion gives the object a grace period.
        canonicalize: prepares an object once it is valid and has its name, generated or not.
        uses_name: prepare_create writes the object's name into it, so it runs again for each generated name.
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
    """Leave the updated object as it is."""


PLAIN = Strategy(nothing, unchanged, unchanged)

PINNED = Strategy(nothing, unchanged, unchanged, allow_unconditional_update=False)


def creation(*, status: Callable[[], Obj] | None = None, generation: bool = True) -> Create:
    """Return a Create that sets the status that the function returns, and generation 1."""

    def prepare(obj: Obj) -> None:
        if status is not None:
            obj["status"] = status()
        if generation:
            obj["metadata"]["generation"] = 1

    return prepare


def updating(*moving: str, status: bool = True) -> Update:
    """Return an Update that keeps the status, and increments the generation if one of these fields changes."""

    def prepare(new: Obj, old: Obj) -> None:
        if status:
            keep_field(new, old, "status")
        if any(new.get(field) != old.get(field) for field in moving):
            increment_generation(new, old)

    return prepare


COUNTED = Strategy(creation(), updating("spec", status=False), unchanged)

COUNTED_PINNED = Strategy(creation(), updating("spec", status=False), unchanged, allow_unconditional_update=False)

METADATA_OF_STATUS = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp", "generation")
"""The metadata that a status update keeps, for kinds that protect all metadata (metav1.ResetObjectMetaForStatus)."""


@dataclass(frozen=True, slots=True)
class StatusUpdate:
    """An Update of the status that keeps the spec and some fields of the metadata.

    Attributes:
        metadata: the names of these fields.
    """

    metadata: tuple[str, ...]

    def __call__(self, new: Obj, old: Obj) -> None:
        """Prepare a new object in place."""
        keep_field(new, old, "spec")
        for field in self.metadata:
            keep_field(new["metadata"], old["metadata"], field)


def status_updating(*metadata: str) -> Update:
    """Return an Update of the status that keeps the spec and these fields of the metadata."""
    return StatusUpdate(metadata)


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


def keep_field(new: Obj, old: Obj, field: str) -> None:
    """Restore a field of the old object, or remove it if the old object does not have it."""
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def increment_generation(new: Obj, old: Obj) -> None:
    """Increment the generation: the desired state has changed."""
    new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def differ(new: Obj, old: Obj) -> bool:
    """Return whether two objects differ in anything but their metadata."""
    return any(new.get(field) != old.get(field) for field in new.keys() | old.keys() if field != "metadata")
