"""New pods of CloneSets, which have an id of their own, and the claims with that id.

(pkg/controller/cloneset/core newVersionedPods, sync getOrGenAvailableIDs, utils GetPersistentVolumeClaims)
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import sha256

from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from controller_manager.controllers.statefulset.identity import REVISION_LABEL, Version, claim_templates
from controller_manager.kruise.cloneset.spec import short_hash
from controller_manager.kruise.pod_lifecycle import PREPARING_NORMAL, with_state
from controller_manager.reconcile.in_place import with_gate
from controller_manager.reconcile.pod_templates import HASH_LABEL, safe_encoded
from controller_manager.reconcile.pods import pod_from_template

INSTANCE_ID_LABEL = "apps.kruise.io/cloneset-instance-id"
"""The label of a pod and of its claims that holds the suffix of their names."""

_ID_LENGTH, _ID_LETTERS = 5, 27


def instance_id(obj: Obj) -> str:
    """Return the id of a pod or a claim, "" if it has none."""
    return labels_of(obj).get(INSTANCE_ID_LABEL, "")


def instance_ids(number: int, *, taken: Collection[str], free: Iterable[str], seed: str) -> list[str]:
    """Return ids for that many pods, sorted: those of claims without a pod, then new ones.

    Args:
        number: the number of pods.
        taken: ids that no new one may be.
        free: ids of claims without a pod.
        seed: new ids are derived from it; another seed gives other ids.
    """
    ids = sorted(free)[:number]
    known, attempt = {*taken, *ids}, 0
    while len(ids) < number:
        candidate = _id(f"{seed}/{attempt}")
        attempt += 1
        if candidate not in known:
            known.add(candidate)
            ids.append(candidate)
    return sorted(ids)


def _id(seed: str) -> str:
    """Return an id like upstream's rand.String(5), derived from a seed."""
    left, digits = int.from_bytes(sha256(seed.encode()).digest()), []
    for _ in range(_ID_LENGTH):
        left, digit = divmod(left, _ID_LETTERS)
        digits.append(chr(digit))
    return safe_encoded("".join(digits))


def revision_labels(revision: str) -> dict[str, str]:
    """Return the labels of a pod of a revision: the revision's name, and only its hash (WriteRevisionHash)."""
    return {REVISION_LABEL: revision, HASH_LABEL: short_hash(revision)}


def with_revision(pod: Obj, revision: str) -> Obj:
    """Return the pod with the labels of a revision."""
    return pod | {"metadata": pod["metadata"] | {"labels": labels_of(pod) | revision_labels(revision)}}


def new_pods(parent: Obj, version: Version, *, ids: Sequence[str], reference: Obj, now: float) -> list[Obj]:
    """Return new pods with some ids (newVersionedPods).

    Args:
        parent: the CloneSet.
        version: the revision that they are made from.
        ids: one for each pod.
        reference: the controlling owner reference to the set.
        now: the time.
    """
    plain = with_gate(pod_from_template(version.template, parent, reference))
    plain = with_state(with_revision(plain, version.name), PREPARING_NORMAL, now)
    return [_with_storage(parent, _with_name(parent, plain, id_)) for id_ in ids]


def _with_name(parent: Obj, pod: Obj, id_: str) -> Obj:
    labels = labels_of(pod) | {INSTANCE_ID_LABEL: id_}
    return pod | {"metadata": pod["metadata"] | {"name": f"{name_of(parent)}-{id_}", "labels": labels}}


def claim_name(parent: Obj, template: Obj, id_: str) -> str:
    """Return the name of a claim (getPersistentVolumeClaimName)."""
    return f"{name_of(template)}-{name_of(parent)}-{id_}"


def _with_storage(parent: Obj, pod: Obj) -> Obj:
    """Return the pod with its claims as volumes, instead of other volumes with the same names (UpdateStorage)."""
    if not (templates := claim_templates(parent)):
        return pod
    claims = {name_of(template): claim_name(parent, template, instance_id(pod)) for template in templates}
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in claims.items()]
    others = [volume for volume in pod["spec"].get("volumes") or () if volume["name"] not in claims]
    return pod | {"spec": pod["spec"] | {"volumes": [*volumes, *others]}}


def new_claims(parent: Obj, pod: Obj) -> Iterator[Obj]:
    """Yield the new claims of a pod; the set owns them as long as the pod exists."""
    selected = (parent["spec"].get("selector") or {}).get("matchLabels") or {}
    for template in claim_templates(parent):
        meta = template["metadata"] | {
            "name": claim_name(parent, template, instance_id(pod)),
            "namespace": namespace_of(parent),
            "labels": labels_of(template) | selected | {INSTANCE_ID_LABEL: instance_id(pod)},
            "ownerReferences": [
                *(template["metadata"].get("ownerReferences") or ()),
                *pod["metadata"]["ownerReferences"],
            ],
        }
        yield template | {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta}
