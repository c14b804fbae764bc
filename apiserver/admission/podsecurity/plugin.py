"""PodSecurity: refuses pods that violate the level of their namespace, and warns of templates that would."""

from collections.abc import Iterable, Mapping

import orjson

from apiserver.admission.latest import ParsedObjects
from apiserver.admission.podsecurity.checks import Violation, detail_of, reason_of, violations
from apiserver.admission.podsecurity.levels import PREFIX, STRICTNESS, LevelVersion, Policy, policy_of
from apiserver.api import errors
from apiserver.api.meta import Obj
from apiserver.registry.admission import WRITES, Attributes, Handles, forbidden
from etcd.store import KeyValue, Store

MAX_PODS = 3000
"""The pods that are checked when a namespace gets a stricter level (defaultNamespaceMaxPodsToCheck)."""
NEWEST_CHECK = 37
"""The minor release of the newest check; "latest" and later ones mean this one."""

NAMESPACE, POD = ("", "Namespace"), ("", "Pod")
TEMPLATES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "PodTemplate"): ("template",),
    ("", "ReplicationController"): ("spec", "template"),
    ("apps", "DaemonSet"): ("spec", "template"),
    ("apps", "Deployment"): ("spec", "template"),
    ("apps", "ReplicaSet"): ("spec", "template"),
    ("apps", "StatefulSet"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
    ("batch", "Job"): ("spec", "template"),
}
"""(group, kind) → where it has its pod template (DefaultPodSpecExtractor)."""


class PodSecurity:
    """The plug-in of that name (plugin/pkg/admission/security/podsecurity).

    Args:
        store: the store that has namespaces and pods.
        minor: the minor number of the release that the server plays.
    """

    name = "PodSecurity"
    handles = (
        Handles(WRITES, frozenset((NAMESPACE, *TEMPLATES))),
        Handles(WRITES, frozenset((POD,)), frozenset(("", "ephemeralcontainers", "resize"))),
    )

    def __init__(self, store: Store, minor: int) -> None:
        self._store = store
        self._newest = min(minor, NEWEST_CHECK)
        self._policies = ParsedObjects(_policy)

    async def validate(self, attributes: Attributes) -> None:
        """Hold a namespace's labels, a pod or a template against the levels.

        Raises:
            ApiError: 403, the pod violates the enforced level; 422, the labels of the namespace are invalid.
        """
        resource = attributes.target.resource
        if resource.kind == "Namespace":
            self._validate_namespace(attributes)
        elif resource.kind == "Pod" and not resource.group:
            self._validate_pod(attributes)
        else:
            self._validate_template(attributes, TEMPLATES[resource.group, resource.kind])

    def _violations(self, level_version: LevelVersion, pod: Obj) -> list[Violation]:
        return violations(level_version, pod.get("metadata") or {}, pod.get("spec") or {}, newest=self._newest)

    # -- pods ---------------------------------------------------------------------------------------------------------

    def _validate_pod(self, attributes: Attributes) -> None:
        policy = self._policy(attributes.target.namespace)
        if policy == _PRIVILEGED:
            return
        pod, old = attributes.obj, attributes.old
        assert pod is not None
        if old is not None and not _is_significant(pod, old):
            return
        if forbidden_parts := self._violations(policy.enforce, pod):
            raise forbidden(attributes, f'violates PodSecurity "{policy.enforce}": {detail_of(forbidden_parts)}')
        self._warn(attributes, policy.warn, pod)

    def _validate_template(self, attributes: Attributes, path: tuple[str, ...]) -> None:
        policy = self._policy(attributes.target.namespace)
        template = attributes.obj
        if policy.warn.level == "privileged":
            return
        for name in path:
            template = (template or {}).get(name)
        if template is not None:
            self._warn(attributes, policy.warn, template)

    def _warn(self, attributes: Attributes, level_version: LevelVersion, pod: Obj) -> None:
        if forbidden_parts := self._violations(level_version, pod):
            attributes.warnings.append(f'would violate PodSecurity "{level_version}": {detail_of(forbidden_parts)}')

    def _policy(self, namespace: str) -> Policy:
        kv = self._store.get(f"/registry/namespaces/{namespace}")
        return _PRIVILEGED if kv is None else self._policies.get(kv)  # None: deleted since NamespaceLifecycle looked

    # -- namespaces ---------------------------------------------------------------------------------------------------

    def _validate_namespace(self, attributes: Attributes) -> None:
        """Refuse invalid labels that are new, and warn of pods that violate a stricter level (ValidateNamespace)."""
        namespace, old = attributes.obj, attributes.old
        assert namespace is not None
        name, labels = namespace["metadata"]["name"], namespace["metadata"].get("labels") or {}
        if old is None and not any(label.startswith(PREFIX) for label in labels):
            return
        policy, invalid = policy_of(labels)
        former, former_invalid = policy_of((old or {"metadata": {}})["metadata"].get("labels") or {})
        if invalid and invalid != former_invalid:
            raise errors.invalid("", "Namespace", name=name, errors=invalid)
        if old is not None and _is_stricter(policy.enforce, former.enforce):
            attributes.warnings += self._warnings_of_pods(name, policy.enforce)

    def _warnings_of_pods(self, namespace: str, enforce: LevelVersion) -> list[str]:
        """Return warnings of the pods that a new level would have refused (EvaluatePodsInNamespace)."""
        pods = _prioritized(orjson.loads(kv.value) for kv in self._store.range(f"/registry/pods/{namespace}/").items)
        names: dict[str, list[str]] = {}
        for pod in pods[:MAX_PODS]:
            if forbidden_parts := self._violations(enforce, pod):
                names.setdefault(reason_of(forbidden_parts), []).append(pod["metadata"]["name"])
        warnings = []
        if len(pods) > MAX_PODS:
            checked = f"checked against the first {MAX_PODS} of {len(pods)} existing pods"
            warnings.append(f"new PodSecurity enforce level only {checked}")
        if names:
            violate = f'violate the new PodSecurity enforce level "{enforce}"'
            warnings.append(f'existing pods in namespace "{namespace}" {violate}')
        return warnings + sorted(f"{_counted(each)}: {reason}" for reason, each in names.items())


_PRIVILEGED = Policy()


def _policy(namespace: KeyValue) -> Policy:
    return policy_of(namespace.index_attrs.labels)[0]


def _is_stricter(new: LevelVersion, old: LevelVersion) -> bool:
    """Return whether pods that the old level let pass may violate the new one."""
    if new == old or new.level == "privileged":
        return False
    return new.minor != old.minor or STRICTNESS[new.level] > STRICTNESS[old.level]


def _prioritized(pods: Iterable[Obj]) -> list[Obj]:
    """Return pods with one of each controller first (prioritizePods)."""
    first: list[Obj] = []
    others: list[Obj] = []
    seen: set[str] = set()
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        controller = next((owner["uid"] for owner in owners if owner.get("controller")), "")
        (others if controller in seen else first).append(pod)
        if controller:
            seen.add(controller)
    return first + others


def _counted(names: list[str]) -> str:
    """Return such as "a (and 2 other pods)" (decoratePodWarnings)."""
    others = len(names) - 1
    return f"{min(names)} (and {others} other {'pod' if others == 1 else 'pods'})" if others else names[0]


def _is_significant(pod: Obj, old: Obj) -> bool:
    """Return whether an update of a pod changes what the levels look at (isSignificantPodUpdate)."""
    spec, former = pod["spec"], old["spec"]
    for field in ("containers", "initContainers"):
        now, then = spec.get(field) or (), former.get(field) or ()
        if len(now) != len(then) or any(a.get("image") != b.get("image") for a, b in zip(now, then, strict=True)):
            return True
    images = {each["name"]: each.get("image") for each in former.get("ephemeralContainers") or ()}
    return any(
        each["name"] not in images or each.get("image") != images[each["name"]]
        for each in spec.get("ephemeralContainers") or ()
    )
