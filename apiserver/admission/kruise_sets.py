"""Defaults and validation of OpenKruise's webhooks for CloneSets and Advanced StatefulSets, beyond their schemas."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import orjson

from apiserver.admission.shapes import SELECTOR, SHARE, ensure_spec, has_shape
from apiserver.api import errors, field
from apiserver.api.errors import ApiError
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.schema import DecodeError, Schema
from apiserver.api.united_deployments import GROUP
from apiserver.api.validation.combinators import at, deeply_equal
from apiserver.groups.kruise.clonesets import clone_set, old_clone_set
from apiserver.groups.kruise.defaults import (
    default_advanced_stateful_set,
    default_clone_set,
    default_old_advanced_stateful_set,
    default_old_clone_set,
    default_set_claims,
    default_set_template,
)
from apiserver.groups.kruise.statefulsets import advanced_stateful_set
from apiserver.registry.admission import WRITES, Attributes, Handles
from etcd.store import KeyValue

_POD_TEMPLATE = "io.k8s.api.core.v1.PodTemplateSpec"
_CLAIM = "io.k8s.api.core.v1.PersistentVolumeClaim"
_PODS = "/registry/pods"


class Reader(Protocol):
    """The part of a store that the plug-in uses."""

    def get(self, key: str) -> KeyValue | None:
        """Return the newest state of a key."""
        ...


class SetRules(NamedTuple):
    """The functions for a kind in one version; specs are well-formed, and their templates typed.

    Attributes:
        default: sets defaults outside the templates, in place.
        validate: (spec, former spec or None) → errors.
        looks_for_pods: whether scaleStrategy.podsToDelete may name only pods of the set.
    """

    default: Callable[[Obj], None]
    validate: Callable[[Obj, Obj | None], list[FieldError]]
    looks_for_pods: bool = False


_STATEFUL = advanced_stateful_set
_RULES: Mapping[tuple[str, str], SetRules] = {
    ("CloneSet", "v1beta1"): SetRules(default_clone_set, clone_set),
    ("CloneSet", "v1alpha1"): SetRules(default_old_clone_set, old_clone_set, looks_for_pods=True),
    ("StatefulSet", "v1beta1"): SetRules(default_advanced_stateful_set, _STATEFUL),
    ("StatefulSet", "v1alpha1"): SetRules(default_old_advanced_stateful_set, _STATEFUL),
}
"""(kind, version) → its functions."""


class KruiseSets:
    """Sets the defaults of CloneSets and Advanced StatefulSets, and refuses invalid ones.

    (openkruise/kruise pkg/webhook/cloneset, pkg/webhook/statefulset)

    Args:
        schema: the types of the release, for pods and claims in templates.
        store: the store that has the pods.
    """

    name = "KruiseSets"
    handles = (Handles(WRITES, frozenset((GROUP, kind) for kind, _ in _RULES)),)

    def __init__(self, schema: Schema, store: Reader) -> None:
        self._schema = schema
        self._store = store

    async def admit(self, attributes: Attributes) -> None:
        """Default and validate a set that is created or updated.

        Raises:
            ApiError: 422 with the invalid fields, or 400 for malformed templates.
        """
        obj, old, resource = attributes.obj, attributes.old, attributes.target.resource
        rules = _RULES.get((resource.kind, resource.version))
        if obj is None or rules is None:
            return
        ensure_spec(obj, old)
        if not _is_well_formed(obj.get("spec")):
            return  # the schema will report it
        spec = obj["spec"] = orjson.loads(
            orjson.dumps(obj["spec"])
        )  # a patched object shares parts with the stored one
        former: Obj = (old or {}).get("spec") or {}
        keeps = old is not None and deeply_equal(spec["template"], former.get("template"))
        rules.default(spec)
        typed = self._typed(resource.kind, spec)
        if not keeps:
            spec.update({name: typed[name] for name in ("template", "volumeClaimTemplates") if name in typed})
        former_typed = self._typed_former(resource.kind, former, rules) if _is_well_formed(former) else None
        problems = rules.validate(typed, former_typed)
        if rules.looks_for_pods:
            problems += at("scaleStrategy.podsToDelete", self._pod_errors(attributes, spec, former))
        if problems:
            name = (obj.get("metadata") or {}).get("name") or ""
            raise errors.invalid(GROUP, resource.kind, name=name, errors=[*at("spec", problems)])

    def _typed(self, kind: str, spec: Obj) -> Obj:
        """Return the spec with its templates typed and defaulted.

        Raises:
            ApiError: 400, the templates are malformed.
        """
        try:
            template = self._decoded(_POD_TEMPLATE, spec["template"])
            claims = [self._decoded(_CLAIM, each) for each in spec.get("volumeClaimTemplates") or ()]
        except DecodeError as error:
            raise errors.bad_request(f"{kind} cannot be handled as a {kind}: {error}") from error
        default_set_template(template)
        default_set_claims(claims)
        return spec | {"template": template} | ({"volumeClaimTemplates": claims} if claims else {})

    def _typed_former(self, kind: str, stored: Obj, rules: SetRules) -> Obj:
        """Do the same with the stored spec; malformed templates that were stored unchecked stay as they are."""
        spec: Obj = orjson.loads(orjson.dumps(stored))
        rules.default(spec)
        try:
            return self._typed(kind, spec)
        except ApiError:
            return spec

    def _decoded(self, definition: str, document: Any) -> Obj:
        if not isinstance(document, dict):
            raise DecodeError(f"{definition.rpartition('.')[2]} must be an object")
        return self._schema.decode(definition, document, strict=False).obj

    def _pod_errors(self, attributes: Attributes, spec: Obj, former: Obj) -> list[FieldError]:
        """Return the errors for new podsToDelete that do not exist or are not the set's (validateScaleStrategy)."""
        known = (former.get("scaleStrategy") or {}).get("podsToDelete") or ()
        names = (spec.get("scaleStrategy") or {}).get("podsToDelete") or ()
        if len(set(names)) != len(names):
            return []  # reported already
        uid = ((attributes.old or {}).get("metadata") or {}).get("uid")
        faults = (
            (name, self._pod_error(attributes.target.namespace, name, uid)) for name in sorted({*names} - {*known})
        )
        return [field.invalid("", name, f"find pod {name} {fault}") for name, fault in faults if fault]

    def _pod_error(self, namespace: str, name: str, uid: str | None) -> str:
        kv = self._store.get(f"{_PODS}/{namespace}/{name}")
        if kv is None:
            return f'failed: Pod "{name}" not found'
        meta = orjson.loads(kv.value)["metadata"]
        if meta.get("deletionTimestamp"):
            return "already terminating"
        owner = next((each for each in meta.get("ownerReferences") or () if each.get("controller")), None)
        return "" if owner is not None and owner.get("uid") == uid else "owner is not this CloneSet"


_ROLLING: Mapping[str, Any] = {
    "partition": SHARE,
    "maxUnavailable": SHARE,
    "maxSurge": SHARE,
    "minReadySeconds": int,
    "podUpdatePolicy": str,
    "inPlaceUpdateStrategy": {
        "imagePreDownloadParallelism": SHARE,
        "imagePreDownloadTimeoutSeconds": int,
        "imagePreDownloadMinUpdatedReadyPods": int,
    },
    "scatterStrategy": [{"key": str, "value": str}],
}
_PRIORITY: Mapping[str, Any] = {
    "weightPriority": [{"weight": int, "matchSelector": SELECTOR}],
    "orderPriority": [{"orderedKey": str}],
}
_SPEC: Mapping[str, Any] = {
    "replicas": int,
    "selector": SELECTOR,
    "minReadySeconds": int,
    "progressDeadlineSeconds": int,
    "podManagementPolicy": str,
    "reserveOrdinals": [SHARE],
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": str, "whenScaled": str},
    "scaleStrategy": {"maxUnavailable": SHARE, "podsToDelete": [str]},
    "updateStrategy": {
        "type": str,
        **_ROLLING,
        "priorityStrategy": _PRIORITY,
        "rollingUpdate": {
            **_ROLLING,
            "priorityStrategy": _PRIORITY,
            "unorderedUpdate": {"priorityStrategy": _PRIORITY},
        },
    },
}
"""The shape of the fields that the plug-in reads from a spec."""


def _is_well_formed(spec: Any) -> bool:
    """Return whether a spec satisfies the schema, required fields included; templates are open in the schema."""
    if not isinstance(spec, dict) or not has_shape(spec, _SPEC):
        return False
    claims = spec.get("volumeClaimTemplates")
    return spec.get("template") is not None and spec.get("selector") is not None and isinstance(claims, list | None)
