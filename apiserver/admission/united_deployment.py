"""UnitedDeployment: what OpenKruise's webhooks do for it: defaults, and what a schema cannot tell to be wrong."""

from collections.abc import Mapping
from typing import Any

import orjson

from apiserver.admission.shapes import REQUIREMENTS, SELECTOR, SHARE, TEXTS, ensure_spec, fits
from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.schema import DecodeError, Schema
from apiserver.api.united_deployments import GROUP, KIND, TEMPLATES, template_field
from apiserver.groups.apps.statefulsets import default_stateful_set
from apiserver.groups.core.pods.defaults import default_template
from apiserver.groups.kruise.set_defaults import default_set_template
from apiserver.groups.kruise.uniteddeployment_defaults import default_united_deployment
from apiserver.groups.kruise.uniteddeployments import united_deployment, united_deployment_update
from apiserver.registry.admission import Attributes

STATEFUL, _, CLONES, DEPLOYMENT = TEMPLATES
_STATEFUL_SET = "io.k8s.api.apps.v1.StatefulSetSpec"
_POD_TEMPLATE = "io.k8s.api.core.v1.PodTemplateSpec"


class UnitedDeployments:
    """Gives UnitedDeployments their defaults and refuses what cannot work; the rest is left to the schema of the kind.

    (openkruise/kruise pkg/webhook/uniteddeployment)

    Args:
        schema: the types of the release, which workloads in templates have.
    """

    name = "UnitedDeployment"
    kinds: frozenset[tuple[str, str]] | None = frozenset({(GROUP, KIND)})

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    async def admit(self, attributes: Attributes) -> None:
        """Default and validate a UnitedDeployment that is made or changed.

        Raises:
            ApiError: 422 with the fields that are wrong, or 400 where a template holds no workload.
        """
        obj, old = attributes.obj, attributes.old
        if obj is None or attributes.operation not in ("CREATE", "UPDATE") or attributes.target.subresource:
            return
        ensure_spec(obj, old)
        spec = obj.get("spec")
        if not isinstance(spec, dict) or not fits(spec, _SPEC) or _lacks_a_spec(spec):
            _refuse_what_no_schema_tells_of(spec)
            return  # the schema will tell of it
        spec = obj["spec"] = orjson.loads(orjson.dumps(spec))  # a patched object shares parts with the stored one
        default_united_deployment(spec)
        workload = self._workload(spec)
        if template_field(spec) == STATEFUL and (old is None or spec["template"] != _template(old)):
            _write_back(spec, workload)
        wrong = united_deployment(spec, workload)
        if old is not None and fits(old.get("spec") or {}, _SPEC):
            former = old.get("spec") or {}
            wrong += united_deployment_update(spec, former, workload=workload, former=self._former(former, workload))
        if wrong:
            raise errors.invalid(GROUP, KIND, name=(obj.get("metadata") or {}).get("name") or "", errors=wrong)

    def _workload(self, spec: Obj) -> Obj:
        """Return the workload's spec, typed and with defaults, as far as somebody looks into it.

        Raises:
            ApiError: 400, it is none.
        """
        name = template_field(spec)
        if not name:
            return {}
        given = spec["template"][name].get("spec") or {}
        if name != STATEFUL:
            template = self._typed(_POD_TEMPLATE, given.get("template") or {})
            if name == CLONES:  # that it holds pods is all that is asked of it
                return {}
            default_template(template)
            return {"template": template}
        workload = self._typed(_STATEFUL_SET, given | {"selector": spec.get("selector"), "replicas": 1})
        if rolling := (workload.get("updateStrategy") or {}).get("rollingUpdate"):
            rolling.pop("partition", None)
        default_set_template(workload.get("template") or {})
        default_stateful_set({"spec": workload})
        return workload

    def _former(self, spec: Obj, workload: Obj) -> Obj:
        """The same of the stored spec; what was stored before anybody looked into it changes nothing that is fixed."""
        try:
            return self._workload(spec)
        except ApiError:
            return workload

    def _typed(self, definition: str, given: Obj) -> Obj:
        try:
            return self._schema.decode(definition, given, strict=False).obj
        except DecodeError as error:
            raise errors.bad_request(f"{KIND} cannot be handled as a {KIND}: {error}") from error


def _template(obj: Obj) -> Any:
    return (obj.get("spec") or {}).get("template")


def _lacks_a_spec(spec: Obj) -> bool:
    """Return whether one of its templates has none, which the schema asks for."""
    found = (spec.get("template") or {}).items()
    return any(name in TEMPLATES and each is not None and each.get("spec") is None for name, each in found)


def _refuse_what_no_schema_tells_of(spec: Any) -> None:
    """Refuse a template whose metadata, pods or workload are none, all of which the schema lets through.

    Raises:
        ApiError: 400.
    """
    found = spec.get("template") if isinstance(spec, dict) else None
    template: Obj = found if isinstance(found, dict) else {}
    for name, shape in _OPEN.items():
        if isinstance(template.get(name), dict) and not fits(template[name], shape):
            raise errors.bad_request(f"{KIND} cannot be handled as a {KIND}: spec.template.{name} is no template of it")


def _write_back(spec: Obj, workload: Obj) -> None:
    """Store a StatefulSet's pods and claims with their defaults; templates of the other kinds stay as they are."""
    given = spec["template"][STATEFUL]["spec"]
    for name in ("template", "volumeClaimTemplates"):
        if workload.get(name):
            given[name] = workload[name]


# -- whether an object is what the schema says, before it is looked into -----------------------------------------------

_SUBSET = {
    "name": str,
    "nodeSelectorTerm": {"matchExpressions": REQUIREMENTS, "matchFields": REQUIREMENTS},
    "tolerations": [{"key": str, "operator": str, "value": str, "effect": str, "tolerationSeconds": int}],
    "replicas": SHARE,
    "minReplicas": SHARE,
    "maxReplicas": SHARE,
}
_WORKLOAD = {
    "replicas": int,
    "template": {},
    "updateStrategy": {"type": str, "rollingUpdate": {}},
    "strategy": {"type": str, "rollingUpdate": {}},
}
_META = {"labels": TEXTS, "annotations": TEXTS}
_OPEN: Mapping[str, Any] = {
    name: {"metadata": _META, "spec": _WORKLOAD if name in (STATEFUL, DEPLOYMENT) else {"template": {}}}
    for name in TEMPLATES
}
"""Of each template what the schema says nothing of, its shape."""
_SPEC: Mapping[str, Any] = {
    "replicas": int,
    "revisionHistoryLimit": int,
    "selector": SELECTOR,
    "template": {"*": {"metadata": _META, "spec": _WORKLOAD}},
    "topology": {
        "subsets": [_SUBSET],
        "scheduleStrategy": {"type": str, "adaptive": {"reserveUnschedulablePods": bool}},
    },
    "updateStrategy": {"type": str, "manualUpdate": {"partitions": {"*": int}}},
}
"""What of a spec is looked into."""
