"""Names: which of those that definitions ask for they get, and when their kinds are served.

Two controllers of upstream's share the work, each with a write of its own. The naming controller
(apiextensions-apiserver/pkg/controller/status) takes the names that no other definition of the group has; one worker
does this, one definition after the other, and who has a name keeps it. The establishing controller
(pkg/controller/establish) then says that the kind is served, and says so for good: names that are refused later
take nothing back. Names of built-in kinds are not looked at: a group is either built in or custom.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.api.meta import Obj, name_of
from apiserver.apiextensions.crds.ca_bundles import ca_bundle_problem
from apiserver.apiextensions.crds.conditions import condition, found, holds, same, with_condition

ESTABLISHED, NAMES_ACCEPTED = "Established", "NamesAccepted"

_NO_CONFLICTS = condition(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")
_REFUSED = condition(ESTABLISHED, "False", "NotAccepted", "not all names are accepted")
_INSTALLING = condition(ESTABLISHED, "False", "Installing", "the initial names have been accepted")
_SERVED = condition(ESTABLISHED, "True", "InitialNamesAccepted", "the initial names have been accepted")
_BAD_BUNDLE = condition(ESTABLISHED, "False", "InvalidCABundle", "The conversion webhook CABundle is invalid")


@dataclass(frozen=True, slots=True)
class Taken:
    """The names that definitions of a group have.

    Attributes:
        resources: plurals, singulars and short names.
        kinds: kinds and kinds of lists.
    """

    resources: frozenset[str]
    kinds: frozenset[str]


def accept_names(definition: Obj, definitions: Iterable[Obj], now: str) -> Obj | None:
    """The definition with the names that it gets and the conditions NamesAccepted and Established; None: no change.

    Whoever stores it calls `rivals` next, since a name may have become free.

    Args:
        definition: stays as it is.
        definitions: those that are there; of other groups too, and the definition itself.
        now: the time, as objects have it.
    """
    status = definition.get("status") or {}
    accepted = status.get("acceptedNames") or {}
    if _names(definition["spec"].get("names") or {}) == _names(accepted):
        return None
    taken = _taken(definition["spec"].get("group"), (definition, *definitions))
    names, verdict = _decide(definition["spec"].get("names") or {}, accepted, taken)
    if _names(names) == _names(accepted) and same(verdict, found(definition, NAMES_ACCEPTED)):
        return None
    established = found(definition, ESTABLISHED) or _REFUSED
    if established["status"] != "True" and verdict["status"] == "True":
        established = _INSTALLING
    named = with_condition(definition | {"status": status | {"acceptedNames": names}}, verdict, now)
    return with_condition(named, _complete(established), now)


def establish(definition: Obj, now: str) -> Obj | None:
    """The definition, once its names are accepted, with a condition Established that is true; None: no change.

    Args:
        definition: stays as it is.
        now: the time, as objects have it.
    """
    if not holds(definition, NAMES_ACCEPTED) or holds(definition, ESTABLISHED):
        return None
    webhook = (definition["spec"].get("conversion") or {}).get("webhook") or {}
    bundle = (webhook.get("clientConfig") or {}).get("caBundle") or ""
    wanted = _BAD_BUNDLE if ca_bundle_problem(bundle) else _SERVED
    return None if same(found(definition, ESTABLISHED), wanted) else with_condition(definition, wanted, now)


def rivals(name: str, definitions: Iterable[Obj]) -> list[str]:
    """The other definitions of a definition's group that want names which they have not, by name.

    They are those to look at again when it frees names or is gone.
    """
    group = name.partition(".")[2]
    return [
        other
        for each in definitions
        if each["spec"].get("group") == group and (other := name_of(each)) != name and _lacks_names(each)
    ]


def _lacks_names(definition: Obj) -> bool:
    wanted, accepted = definition["spec"].get("names"), (definition.get("status") or {}).get("acceptedNames")
    return wanted != accepted and _names(wanted or {}) != _names(accepted or {})


def _taken(group: str | None, definitions: Iterable[Obj]) -> Taken:
    resources: set[str] = set()
    kinds: set[str] = set()
    for definition in definitions:
        if definition["spec"].get("group") == group:
            names = (definition.get("status") or {}).get("acceptedNames") or {}
            resources.update((names.get("plural") or "", names.get("singular") or "", *(names.get("shortNames") or ())))
            kinds.update((names.get("kind") or "", names.get("listKind") or ""))
    return Taken(frozenset(resources), frozenset(kinds))


def _decide(wanted: Obj, accepted: Obj, taken: Taken) -> tuple[Obj, Obj]:
    """The names that a definition has from now on, and NamesAccepted, which tells of the last conflict."""
    names, verdict = dict(accepted), _NO_CONFLICTS
    for name, reason, used in (
        ("plural", "PluralConflict", taken.resources),
        ("singular", "SingularConflict", taken.resources),
        ("shortNames", "ShortNamesConflict", taken.resources),
        ("kind", "KindConflict", taken.kinds),
        ("listKind", "ListKindConflict", taken.kinds),
    ):
        if problem := _problem(wanted.get(name), accepted.get(name), used):
            verdict = condition(NAMES_ACCEPTED, "False", reason, problem)
        else:
            names[name] = wanted.get(name)
    names["categories"] = wanted.get("categories")
    return _complete_names(names), verdict


def _problem(wanted: str | list[str] | None, accepted: str | list[str] | None, used: frozenset[str]) -> str:
    """Which of the names somebody else has, "" where none is refused. Short names are accepted all or none."""
    known = {accepted or ""} if isinstance(accepted, str | None) else set(accepted)
    asked = [wanted or ""] if isinstance(wanted, str | None) else wanted
    told = list(dict.fromkeys(f'"{name}" is already in use' for name in asked if name not in known and name in used))
    return f"[{', '.join(told)}]" if len(told) > 1 else "".join(told)


def _names(names: Obj) -> Obj:
    """The names that there are, by what they are."""
    return {what: name for what, name in names.items() if name}


def _complete_names(names: Obj) -> Obj:
    """The names in the order and form of the wire: what is required is there, what is empty is not."""
    order = ("plural", "singular", "shortNames", "kind", "listKind", "categories")
    return {what: names.get(what) or "" for what in order if names.get(what) or what in {"plural", "kind"}}


def _complete(given: Obj) -> Obj:
    return {"reason": "", "message": ""} | given
