"""The identity of a StatefulSet's pod: its name, labels and host name, and the claims that its volumes use."""

from collections.abc import Iterator
from dataclasses import dataclass

from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from controller_manager.controllers.statefulset.ordinals import pod_name
from controller_manager.reconcile.pods import pod_from_template
from controller_manager.reconcile.profile import Profile
from controller_manager.reconcile.revisions import template_of

REVISION_LABEL = "controller-revision-hash"
"""The label with the name of the ControllerRevision from which a pod was created (apps.StatefulSetRevisionLabel)."""
NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"


def revision_name_of(pod: Obj) -> str:
    """Return the name of the revision from which a pod was created, or "" if it has no such label (getPodRevision)."""
    return labels_of(pod).get(REVISION_LABEL, "")


@dataclass(frozen=True, slots=True)
class Version:
    """A revision's name and its pod template."""

    name: str
    template: Obj


def version_of(parent: Obj, revision: Obj) -> Version:
    """Return a revision with its template; if the revision holds none, with the set's own."""
    template = template_of(revision)
    return Version(name_of(revision), parent["spec"]["template"] if template is None else template)


def new_pod(parent: Obj, ordinal: int, *, version: Version, reference: Obj, profile: Profile) -> Obj:
    """Return the pod to create for an ordinal (newStatefulSetPod).

    Args:
        parent: the StatefulSet.
        ordinal: the pod's ordinal.
        version: the revision and template of the pod.
        reference: the controlling owner reference to the set.
        profile: selects the labels of the Kubernetes release.
    """
    pod = pod_from_template(version.template, parent, reference)
    name = pod_name(name_of(parent), ordinal)
    labels = labels_of(pod) | _identity(name, ordinal, profile) | {REVISION_LABEL: version.name}
    spec = pod["spec"] | {"hostname": name}
    if service := parent["spec"].get("serviceName"):
        spec["subdomain"] = service
    pod = pod | {"metadata": pod["metadata"] | {"name": name, "labels": labels}, "spec": spec}
    return with_storage(parent, pod, ordinal)


def _identity(name: str, ordinal: int, profile: Profile) -> dict[str, str]:
    return {NAME_LABEL: name} | ({INDEX_LABEL: str(ordinal)} if profile.ordinals else {})


def has_identity(pod: Obj) -> bool:
    """Return whether a pod has its own name as label (identityMatches); the index label is not checked."""
    return labels_of(pod).get(NAME_LABEL) == name_of(pod)


def with_identity(pod: Obj, ordinal: int, profile: Profile) -> Obj:
    """Return the pod with the labels of its ordinal (updateIdentity)."""
    meta = pod["metadata"]
    return pod | {"metadata": meta | {"labels": labels_of(pod) | _identity(meta["name"], ordinal, profile)}}


# -- claims ------------------------------------------------------------------------------------------------------------


def claim_templates(parent: Obj) -> list[Obj]:
    """Return spec.volumeClaimTemplates."""
    templates: list[Obj] = parent["spec"].get("volumeClaimTemplates") or []
    return templates


def claim_name(parent: Obj, template: Obj, ordinal: int) -> str:
    """Return the name of an ordinal's claim (getPersistentVolumeClaimName)."""
    return f"{name_of(template)}-{name_of(parent)}-{ordinal}"


def claim_names(parent: Obj, ordinal: int) -> list[str]:
    """Return the names of all claims of an ordinal."""
    return [claim_name(parent, template, ordinal) for template in claim_templates(parent)]


def new_claims(parent: Obj, ordinal: int) -> Iterator[Obj]:
    """Yield the claims to create for an ordinal (getPersistentVolumeClaims)."""
    selected = (parent["spec"].get("selector") or {}).get("matchLabels") or {}
    for template in claim_templates(parent):
        meta = template["metadata"] | {
            "name": claim_name(parent, template, ordinal),
            "namespace": namespace_of(parent),
            "labels": labels_of(template) | selected,
        }
        yield template | {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta}


def set_names(claim: str) -> Iterator[str]:
    """Yield the names of the StatefulSets to which a claim of this name may belong, as dashes are ambiguous."""
    rest, dash, ordinal = claim.rpartition("-")
    while dash and ordinal.isdecimal() and "-" in rest:
        _, _, rest = rest.partition("-")
        yield rest


def has_storage(parent: Obj, pod: Obj, ordinal: int) -> bool:
    """Return whether the pod has its claim for every claim template (storageMatches)."""
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}
    for template in claim_templates(parent):
        source = volumes.get(name_of(template), {}).get("persistentVolumeClaim") or {}
        if source.get("claimName") != claim_name(parent, template, ordinal):
            return False
    return True


def with_storage(parent: Obj, pod: Obj, ordinal: int) -> Obj:
    """Return the pod with its claims as volumes, which replace other volumes of those names (updateStorage)."""
    if not (templates := claim_templates(parent)):
        return pod
    volumes = [
        {"name": name_of(template), "persistentVolumeClaim": {"claimName": claim_name(parent, template, ordinal)}}
        for template in templates
    ]
    replaced = {volume["name"] for volume in volumes}
    others = [volume for volume in pod["spec"].get("volumes") or () if volume["name"] not in replaced]
    return pod | {"spec": pod["spec"] | {"volumes": [*volumes, *others]}}
