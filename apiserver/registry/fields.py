"""What field selectors can see of an object: its selectable fields by name, as text (ToSelectableFields upstream)."""

from collections.abc import Callable, Iterable, Mapping

from apiserver.api.golang.values import go_text
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource

Fields = dict[str, str]

NAME, NAMESPACE = "metadata.name", "metadata.namespace"

_OBJECT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_INVOLVED = tuple((part, f"involvedObject.{part}", f"regarding.{part}") for part in _OBJECT)


def selectable_fields(resource: Resource, obj: Obj) -> Fields:
    """The fields that a selector on the resource may name, metadata.name and metadata.namespace among them.

    A custom kind declares its own (spec.versions[*].selectableFields), which are paths of plain values. Whichever
    version an object is written in, selectors of all versions decide by what is kept of it.
    """
    extract = FIELDS.get((resource.group, resource.kind))
    fields = extract(obj) if extract is not None else _at(obj, resource.kept_fields or resource.fields)
    meta = obj["metadata"]
    fields[NAME] = meta.get("name", "")
    fields[NAMESPACE] = meta.get("namespace", "")
    return fields


def label_problem(resource: Resource, label: str) -> str:
    """Why a field selector on the resource may not name a field, "" where it may.

    Kinds tell this in words of their own (the ConvertFieldLabel functions upstream); that of custom kinds is the only
    one that does not know the namespace of what has none (apiextensions-apiserver's conversion/converter.go).
    """
    places = (NAME, NAMESPACE) if resource.namespaced or not resource.custom else (NAME,)
    if label in places or label in resource.fields:
        return ""
    if resource.fields or resource.custom:
        return f"field label not supported: {label}"
    return f'"{label}" is not a known field selector: only "{NAME}", "{NAMESPACE}"'


def _pod(pod: Obj) -> Fields:
    """A pod's fields; status.podIPs is a name that selectors may use and that no pod has a value for."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    return {
        "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.restartPolicy": spec.get("restartPolicy", ""),
        "spec.schedulerName": spec.get("schedulerName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "status.nominatedNodeName": status.get("nominatedNodeName", ""),
        "status.phase": status.get("phase", ""),
        "status.podIP": status.get("podIP", ""),
        "status.podIPs": "",
    }


def _event(event: Obj) -> Fields:
    """An event by the names of both its groups, since both read what either writes."""
    about = event.get("involvedObject") or event.get("regarding") or {}
    source = event.get("source") or event.get("deprecatedSource") or {}
    controller = event.get("reportingComponent") or event.get("reportingController") or ""
    fields = {
        "reason": event.get("reason", ""),
        "reportingComponent": controller,
        "reportingController": controller,
        "source": source.get("component") or controller,
        "type": event.get("type", ""),
    }
    for part, core, new in _INVOLVED:
        fields[core] = fields[new] = about.get(part, "")
    return fields


def _node(node: Obj) -> Fields:
    return {"spec.unschedulable": "true" if (node.get("spec") or {}).get("unschedulable") else "false"}


def _replication_controller(controller: Obj) -> Fields:
    return {"status.replicas": str((controller.get("status") or {}).get("replicas", 0))}


def _job(job: Obj) -> Fields:
    return {"status.successful": str((job.get("status") or {}).get("succeeded", 0))}


def _stateful_set(_stateful_set: Obj) -> Fields:
    """A name that selectors may use, and that no stateful set has a value for."""
    return {"status.successful": ""}


def _paths(*paths: str) -> Callable[[Obj], Fields]:
    return lambda obj: _at(obj, paths)


def _at(obj: Obj, paths: Iterable[str]) -> Fields:
    return {path: _text(obj, path) for path in paths}


def _text(obj: Obj, path: str) -> str:
    """The value at a path of field names as Go prints it: "" where there is none."""
    found: object = obj
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return "" if found is None else go_text(found)


FIELDS: Mapping[tuple[str, str], Callable[[Obj], Fields]] = {
    ("", "Event"): _event,
    ("", "Namespace"): _paths("status.phase"),
    ("", "Node"): _node,
    ("", "Pod"): _pod,
    ("", "ReplicationController"): _replication_controller,
    ("", "Secret"): _paths("type"),
    ("", "Service"): _paths("spec.clusterIP", "spec.type"),
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "Job"): _job,
    ("certificates.k8s.io", "CertificateSigningRequest"): _paths("spec.signerName"),
    ("certificates.k8s.io", "ClusterTrustBundle"): _paths("spec.signerName"),
    ("certificates.k8s.io", "PodCertificateRequest"): _paths("spec.signerName"),
    ("events.k8s.io", "Event"): _event,
    ("resource.k8s.io", "ResourceSlice"): _paths("spec.driver", "spec.nodeName"),
}
"""(group, kind) -> the fields of an object beside its name and namespace; other built-in kinds have none."""
