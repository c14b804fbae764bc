"""The status conditions of a terminating namespace, which show what its deletion waits for.

The messages are those of pkg/controller/namespace/deletion/status_condition_utils.go.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from apiserver.api.meta import Obj


@dataclass(slots=True)
class RemainingContent:
    """The remaining content of a namespace.

    Attributes:
        kinds: "resource.group" → the number of objects.
        finalizers: finalizer → the number of objects that wait for it.
        failures: messages about resources that could not be deleted.
        undiscovered: "group/version" → why its resources are unknown.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    finalizers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    undiscovered: Mapping[str, str] = field(default_factory=dict)


def update_conditions(before: Iterable[Obj], remaining: RemainingContent, now: str) -> list[Obj]:
    """Return the conditions of a namespace; their time is that of the last change of status.

    Args:
        before: its current conditions; those of other types stay.
        remaining: the remaining content.
        now: the current time in the wire format.
    """
    conditions = {condition["type"]: condition for condition in before}
    for condition in _conditions(remaining):
        previous = conditions.get(condition["type"], {})
        since = previous.get("lastTransitionTime") if previous.get("status") == condition["status"] else None
        conditions[condition["type"]] = condition | {"lastTransitionTime": since or now}
    return list(conditions.values())


@dataclass(frozen=True, slots=True)
class _ConditionText:
    """A condition's reason and message if all is well, and its reason if not."""

    reason: str
    message: str
    unwell: str


_CONDITION_TEXTS: Mapping[str, _ConditionText] = {
    "NamespaceDeletionDiscoveryFailure": _ConditionText(
        "ResourcesDiscovered", "All resources successfully discovered", "DiscoveryFailed"
    ),
    "NamespaceDeletionGroupVersionParsingFailure": _ConditionText(
        "ParsedGroupVersions", "All legacy kube types successfully parsed", "GroupVersionParsingFailed"
    ),
    "NamespaceDeletionContentFailure": _ConditionText(
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
        "ContentDeletionFailed",
    ),
    "NamespaceContentRemaining": _ConditionText(
        "ContentRemoved", "All content successfully removed", "SomeResourcesRemain"
    ),
    "NamespaceFinalizersRemaining": _ConditionText(
        "ContentHasNoFinalizers", "All content-preserving finalizers finished", "SomeFinalizersRemain"
    ),
}


def _conditions(remaining: RemainingContent) -> Iterator[Obj]:
    yield _condition("NamespaceDeletionDiscoveryFailure", _undiscovered(remaining.undiscovered))
    yield _condition("NamespaceDeletionGroupVersionParsingFailure", "")
    failures = sorted(remaining.failures)
    failed = f"Failed to delete all resource types, {len(failures)} remaining: {', '.join(failures)}"
    yield _condition("NamespaceDeletionContentFailure", failed if failures else "")
    kinds = f"Some resources are remaining: {_count_text(remaining.kinds, 'has')}"
    yield _condition("NamespaceContentRemaining", kinds if remaining.kinds else "")
    finalizers = f"Some content in the namespace has finalizers remaining: {_count_text(remaining.finalizers, 'in')}"
    yield _condition("NamespaceFinalizersRemaining", finalizers if remaining.finalizers else "")


def _condition(kind: str, message: str) -> Obj:
    words = _CONDITION_TEXTS[kind]
    if not message:
        return {"type": kind, "status": "False", "reason": words.reason, "message": words.message}
    return {"type": kind, "status": "True", "reason": words.unwell, "message": message}


def _undiscovered(failures: Mapping[str, str]) -> str:
    """Return the message as discovery.ErrGroupDiscoveryFailed has it, or "" if all groups were discovered."""
    if not failures:
        return ""
    group_errors = ", ".join(f"{version}: {failures[version]}" for version in sorted(failures))
    return (
        f"Discovery failed for some groups, {len(failures)} failing: "
        f"unable to retrieve the complete list of server APIs: {group_errors}"
    )


def _count_text(counts: Mapping[str, int], word: str) -> str:
    return ", ".join(f"{name} {word} {counts[name]} resource instances" for name in sorted(counts))
