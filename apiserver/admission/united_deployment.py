"""Defaults and validation of OpenKruise's webhooks for UnitedDeployments, beyond their schema."""

from collections.abc import Mapping
from typing import Any

import orjson

from apiserver.admission.shapes import REQUIREMENTS, SELECTOR, SHARE, TEXTS, ensure_spec, has_shape
from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.schema import DecodeError, Schema
from apiserver.api.united_deployments import GROUP, KIND, TEMPLATES, template_field
from apiserver.groups.apps.statefulsets import default_stateful_set
from apiserver.groups.core.pods.defaults import default_template
from apiserver.groups.kruise.defaults import default_set_template, default_united_deployment
from apiserver.groups.kruise.uniteddeployments import united_deployment, united_deployment_update
from apiserver.registry.admission import WRITES, Attributes, Handles

STATEFUL, _, CLONES, DEPLOYMENT = TEMPLATES
_STATEFUL_SET = "io.k8s.api.apps.v1.StatefulSetSpec"
_POD_TEMPLATE = "io.k8s.api.core.v1.PodTemplateSpec"


class UnitedDeployments:
    """Sets the defaults of UnitedDeployments, and refuses invalid ones; the rest is left to the schema.

    (openkruise/kruise pkg/webhook/uniteddeployment)

    Args:
        schema: the types of the release, for workloads in templates.
    """

    name = "UnitedDeployment"
    handles = (Handles(WRITES, frozenset(((GROUP, KIND),))),)

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    async def admit(self, attributes: Attributes) -> None:
        """Default and validate a UnitedDeployment that is created or updated.

        Raises:
            ApiError: 422 with the invalid fields, or 400 for a malformed template.
        """
        obj, old = attributes.obj, attributes.old
        assert obj is not None
        ensure_spec(obj, old)
        spec = obj.get("spec")
        if not isinstance(spec, dict) or not has_shape(spec, _SPEC) or _lacks_a_spec(spec):
            _refuse_malformed_templates(spec)
            return  # the schema will report it
        spec = obj["spec"] = orjson.loads(orjson.dumps(spec))  # a patched object shares parts with the stored one
        default_united_deployment(spec)
        workload = self._workload(spec)
        if template_field(spec) == STATEFUL and (old is None or spec["template"] != _template(old)):
            _write_back(spec, workload)
        problems = united_deployment(spec, workload)
        if old is not None and has_shape(old.get("spec") or {}, _SPEC):
            former = old.get("spec") or {}
            problems += united_deployment_update(
                spec, former, workload=workload, former=self._former_workload(former, workload)
            )
        if problems:
            raise errors.invalid(GROUP, KIND, name=(obj.get("metadata") or {}).get("name") or "", errors=problems)

    def _workload(self, spec: Obj) -> Obj:
        """Return the workload's spec, typed and defaulted as far as validation reads it.

        Raises:
            ApiError: 400, it is malformed.
        """
        name = template_field(spec)
        if not name:
            return {}
        workload_spec = spec["template"][name].get("spec") or {}
        if name != STATEFUL:
            template = self._typed(_POD_TEMPLATE, workload_spec.get("template") or {})
            if name == CLONES:  # only its pod template is checked
                return {}
            default_template(template)
            return {"template": template}
        workload = self._typed(_STATEFUL_SET, workload_spec | {"selector": spec.get("selector"), "replicas": 1})
        if rolling := (workload.get("updateStrategy") or {}).get("rollingUpdate"):
            rolling.pop("partition", None)
        default_set_template(workload.get("template") or {})
        default_stateful_set({"spec": workload})
        return workload

    def _former_workload(self, spec: Obj, workload: Obj) -> Obj:
        """Return the workload of the stored spec; if that is malformed, the new one: nothing immutable changes."""
        try:
            return self._workload(spec)
        except ApiError:
            return workload

    def _typed(self, definition: str, document: Obj) -> Obj:
        try:
            return self._schema.decode(definition, document, strict=False).obj
        except DecodeError as error:
            raise errors.bad_request(f"{KIND} cannot be handled as a {KIND}: {error}") from error


def _template(obj: Obj) -> Any:
    return (obj.get("spec") or {}).get("template")


def _lacks_a_spec(spec: Obj) -> bool:
    """Return whether one of the templates lacks a spec, which the schema requires."""
    templates = (spec.get("template") or {}).items()
    return any(name in TEMPLATES and each is not None and each.get("spec") is None for name, each in templates)


def _refuse_malformed_templates(spec: Any) -> None:
    """Refuse a template with malformed metadata, pods or workload, which the schema accepts.

    Raises:
        ApiError: 400.
    """
    given_template = spec.get("template") if isinstance(spec, dict) else None
    template: Obj = given_template if isinstance(given_template, dict) else {}
    for name, shape in _OPEN.items():
        if isinstance(template.get(name), dict) and not has_shape(template[name], shape):
            raise errors.bad_request(f"{KIND} cannot be handled as a {KIND}: spec.template.{name} is no template of it")


def _write_back(spec: Obj, workload: Obj) -> None:
    """Put the defaulted pods and claims of a StatefulSet into the spec; templates of other kinds stay as they are."""
    template_spec = spec["template"][STATEFUL]["spec"]
    for name in ("template", "volumeClaimTemplates"):
        if workload.get(name):
            template_spec[name] = workload[name]


# -- the shape of objects, checked before they are read ---------------------------------------------------------------

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
"""Template → the shape of the fields that the schema leaves open."""
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
"""The shape of the fields that the plug-in reads from a spec."""
