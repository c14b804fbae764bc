"""Names: which of the names that definitions ask for they get, and when their kinds are served.

Two controllers of upstream's share the work, each with a write of its own. The naming controller
(apiextensions-apiserver/pkg/controller/status) accepts the names that no other definition of the group has; one worker
does this, one definition after the other, and a definition that has a name keeps it. The establishing controller
(pkg/controller/establish) then sets Established for good: names that are refused later do not revoke it. Names of
built-in kinds are not compared: a group is either built in or custom.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.api.meta import Obj, name_of
from apiserver.apiextensions.crds.ca_bundles import ca_bundle_problem
from apiserver.apiextensions.crds.conditions import (
    condition,
    find_condition,
    is_condition_true,
    is_equivalent,
    with_condition,
)

ESTABLISHED, NAMES_ACCEPTED = "Established", "NamesAccepted"

_NO_CONFLICTS = condition(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")
_NOT_ACCEPTED = condition(ESTABLISHED, "False", "NotAccepted", "not all names are accepted")
_INSTALLING = condition(ESTABLISHED, "False", "Installing", "the initial names have been accepted")
_ESTABLISHED = condition(ESTABLISHED, "True", "InitialNamesAccepted", "the initial names have been accepted")
_BAD_BUNDLE = condition(ESTABLISHED, "False", "InvalidCABundle", "The conversion webhook CABundle is invalid")


@dataclass(frozen=True, slots=True)
class UsedNames:
    """The accepted names of all definitions of a group.

    Attributes:
        resources: plurals, singulars and short names.
        kinds: kinds and list kinds.
    """

    resources: frozenset[str]
    kinds: frozenset[str]


def accept_names(definition: Obj, definitions: Iterable[Obj], now: str) -> Obj | None:
    """Return the definition with its accepted names and the conditions NamesAccepted and Established; None: no change.

    The caller that stores it calls `definitions_lacking_names` next, since a name may have become free.

    Args:
        definition: it is not changed.
        definitions: all existing definitions; those of other groups, and this one, may be among them.
        now: the current time, in the format of objects.
    """
    status = definition.get("status") or {}
    accepted = status.get("acceptedNames") or {}
    if _names(definition["spec"].get("names") or {}) == _names(accepted):
        return None
    taken = _used_names(definition["spec"].get("group"), (definition, *definitions))
    names, verdict = _calculate_names(definition["spec"].get("names") or {}, accepted, taken)
    if _names(names) == _names(accepted) and is_equivalent(verdict, find_condition(definition, NAMES_ACCEPTED)):
        return None
    established = find_condition(definition, ESTABLISHED) or _NOT_ACCEPTED
    if established["status"] != "True" and verdict["status"] == "True":
        established = _INSTALLING
    named = with_condition(definition | {"status": status | {"acceptedNames": names}}, verdict, now)
    return with_condition(named, _complete(established), now)


def establish(definition: Obj, now: str) -> Obj | None:
    """Return the definition with Established set to true if its names are accepted; None: no change.

    Args:
        definition: it is not changed.
        now: the current time, in the format of objects.
    """
    if not is_condition_true(definition, NAMES_ACCEPTED) or is_condition_true(definition, ESTABLISHED):
        return None
    webhook = (definition["spec"].get("conversion") or {}).get("webhook") or {}
    bundle = (webhook.get("clientConfig") or {}).get("caBundle") or ""
    desired = _BAD_BUNDLE if ca_bundle_problem(bundle) else _ESTABLISHED
    return (
        None
        if is_equivalent(find_condition(definition, ESTABLISHED), desired)
        else with_condition(definition, desired, now)
    )


def definitions_lacking_names(name: str, definitions: Iterable[Obj]) -> list[str]:
    """Return the names of the other definitions of a definition's group that lack names which they ask for.

    They are to be synced again when the definition frees names or is deleted.
    """
    group = name.partition(".")[2]
    return [
        other
        for definition in definitions
        if definition["spec"].get("group") == group
        and (other := name_of(definition)) != name
        and _lacks_names(definition)
    ]


def _lacks_names(definition: Obj) -> bool:
    requested, accepted = definition["spec"].get("names"), (definition.get("status") or {}).get("acceptedNames")
    return requested != accepted and _names(requested or {}) != _names(accepted or {})


def _used_names(group: str | None, definitions: Iterable[Obj]) -> UsedNames:
    resources: set[str] = set()
    kinds: set[str] = set()
    for definition in definitions:
        if definition["spec"].get("group") == group:
            names = (definition.get("status") or {}).get("acceptedNames") or {}
            resources.update((names.get("plural") or "", names.get("singular") or "", *(names.get("shortNames") or ())))
            kinds.update((names.get("kind") or "", names.get("listKind") or ""))
    return UsedNames(frozenset(resources), frozenset(kinds))


def _calculate_names(requested: Obj, accepted: Obj, taken: UsedNames) -> tuple[Obj, Obj]:
    """Return the names that a definition has from now on, and NamesAccepted, which reports the last conflict."""
    names, verdict = dict(accepted), _NO_CONFLICTS
    for name, reason, used in (
        ("plural", "PluralConflict", taken.resources),
        ("singular", "SingularConflict", taken.resources),
        ("shortNames", "ShortNamesConflict", taken.resources),
        ("kind", "KindConflict", taken.kinds),
        ("listKind", "ListKindConflict", taken.kinds),
    ):
        if problem := _problem(requested.get(name), accepted.get(name), used):
            verdict = condition(NAMES_ACCEPTED, "False", reason, problem)
        else:
            names[name] = requested.get(name)
    names["categories"] = requested.get("categories")
    return _complete_names(names), verdict


def _problem(requested: str | list[str] | None, accepted: str | list[str] | None, used: frozenset[str]) -> str:
    """Return which names another definition has, "" if none is refused. Short names are accepted all or none."""
    kept = {accepted or ""} if isinstance(accepted, str | None) else set(accepted)
    names = [requested or ""] if isinstance(requested, str | None) else requested
    messages = list(dict.fromkeys(f'"{name}" is already in use' for name in names if name not in kept and name in used))
    return f"[{', '.join(messages)}]" if len(messages) > 1 else "".join(messages)


def _names(names: Obj) -> Obj:
    """Return the names that are not empty, by their field."""
    return {field: name for field, name in names.items() if name}


def _complete_names(names: Obj) -> Obj:
    """Return the names in the order of the wire: required names are present, empty optional ones absent."""
    order = ("plural", "singular", "shortNames", "kind", "listKind", "categories")
    return {field: names.get(field) or "" for field in order if names.get(field) or field in {"plural", "kind"}}


def _complete(incomplete: Obj) -> Obj:
    return {"reason": "", "message": ""} | incomplete
