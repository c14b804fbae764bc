"""CustomResourceDefinitions (apiextensions.k8s.io): defaults and strategy."""

from apiserver.api.meta import Obj
from apiserver.apiextensions.validation.definition import validator
from apiserver.apiextensions.validation.warnings import definition_warnings
from apiserver.groups.admissionregistration.defaults import default_port
from apiserver.groups.kind import API_EXTENSIONS, BuiltinKind
from apiserver.groups.strategy import Strategy, increment_generation, keep_field, status_updating


def default_definition(definition: Obj) -> None:
    """Set the defaults of a CRD: names from its kind, no conversion, the storage version in storedVersions."""
    spec = definition.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    if kind:
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", f"{kind}List")
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    default_port((conversion.get("webhook") or {}).get("clientConfig") or {})
    _default_stored_versions(definition.setdefault("status", {}), spec)


def _default_stored_versions(status: Obj, spec: Obj) -> None:
    stored = [version["name"] for version in spec.get("versions") or () if version.get("storage")]
    if stored and not status.get("storedVersions"):
        status["storedVersions"] = stored[:1]


def _create_definition(definition: Obj) -> None:
    definition["status"] = {"acceptedNames": {"kind": "", "plural": ""}, "conditions": None, "storedVersions": None}
    definition["metadata"]["generation"] = 1
    _note_stored_version(definition)


def _update_definition(new: Obj, old: Obj) -> None:
    keep_field(new, old, "status")
    if new["spec"] != old["spec"]:
        increment_generation(new, old)
    _note_stored_version(new)


def _note_stored_version(definition: Obj) -> None:
    """Add the storage version to status.storedVersions; a version leaves the list only once objects are migrated."""
    status = definition.get("status") or {}
    stored = status.get("storedVersions") or []
    versions = definition["spec"].get("versions") or ()
    current = next((version["name"] for version in versions if version.get("storage")), None)
    if current is not None and current not in stored:
        definition["status"] = status | {"storedVersions": [*stored, current]}


CUSTOM_RESOURCE_DEFINITION_STRATEGY = Strategy(
    _create_definition, _update_definition, status_updating(), has_status=True, allow_unconditional_update=False
)


CUSTOM_RESOURCE_DEFINITION = BuiltinKind(
    "apiextensions.k8s.io",
    "CustomResourceDefinition",
    ("crd", "crds"),
    namespaced=False,
    categories=API_EXTENSIONS,
    prefix="apiextensions.k8s.io/customresourcedefinitions",
    default=default_definition,
    strategy=CUSTOM_RESOURCE_DEFINITION_STRATEGY,
    validator=validator(0),
    release_validator=validator,
    warnings=definition_warnings,
)
