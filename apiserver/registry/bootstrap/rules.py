"""Parses RBAC rules written as one line each: verbs, groups and resources, and optionally names of objects.

    get list watch : apps batch : daemonsets jobs
    get update : coordination.k8s.io : leases : kube-scheduler
    get : URLS : /healthz /version

The core group is written CORE. READ and WRITE stand for upstream's lists of verbs with these names.
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
"""The rule of everyone who writes events."""


def rule(line: str) -> Obj:
    """Return the rule that a line stands for, sorted as upstream sorts (rbacv1helpers.RuleOrDie)."""
    verbs, groups, resources, *names = (part.split() for part in line.split(" : "))
    all_verbs = sorted(expanded for verb in verbs for expanded in _VERBS.get(verb, (verb,)))
    if groups == [URLS]:
        return {"verbs": all_verbs, "nonResourceURLs": sorted(resources)}
    policy_rule: Obj = {
        "verbs": all_verbs,
        "apiGroups": sorted("" if group == CORE else group for group in groups),
        "resources": sorted(resources),
    }
    return policy_rule | ({"resourceNames": sorted(names[0])} if names else {})


def rules(lines: Iterable[str]) -> list[Obj]:
    """Return the rules that lines stand for."""
    return [rule(line) for line in lines]
