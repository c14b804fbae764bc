"""RBAC rules as one line each: verbs, groups and resources, and perhaps names of objects.

    get list watch : apps batch : daemonsets jobs
    get update : coordination.k8s.io : leases : kube-scheduler
    get : URLS : /healthz /version

The core group is written CORE. READ and WRITE stand for the verbs that upstream calls so.
"""

from collections.abc import Iterable

from apiserver.api.meta import Obj

CORE, URLS = "CORE", "URLS"
_VERBS = {
    "READ": ("get", "list", "watch"),
    "WRITE": ("create", "update", "patch", "delete", "deletecollection"),
    "ALL": ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"),
    "EDIT": ("get", "list", "watch", "update", "patch"),
}
EVENTS = "create update patch : CORE events.k8s.io : events"
"""What everybody needs who writes events."""


def rule(line: str) -> Obj:
    """Return the rule that a line stands for, sorted as upstream sorts (rbacv1helpers.RuleOrDie)."""
    verbs, groups, resources, *names = (part.split() for part in line.split(" : "))
    every = sorted(found for verb in verbs for found in _VERBS.get(verb, (verb,)))
    if groups == [URLS]:
        return {"verbs": every, "nonResourceURLs": sorted(resources)}
    found: Obj = {
        "verbs": every,
        "apiGroups": sorted("" if group == CORE else group for group in groups),
        "resources": sorted(resources),
    }
    return found | ({"resourceNames": sorted(names[0])} if names else {})


def rules(lines: Iterable[str]) -> list[Obj]:
    """Return the rules of lines."""
    return [rule(line) for line in lines]
