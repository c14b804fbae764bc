"""What CloneSets make: pods with an id of their own, and the claims of that id.

(pkg/controller/cloneset/core newVersionedPods, sync getOrGenAvailableIDs, utils GetPersistentVolumeClaims)
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import sha256

from apiserver.api.meta import Obj, labels_of, name_of, namespace_of
from controller_manager.controllers.statefulset.identity import REVISION_LABEL, Version, claim_templates
from controller_manager.kruise.cloneset.spec import short_hash
from controller_manager.kruise.pod_lifecycle import PREPARING_NORMAL, in_state
from controller_manager.reconcile.in_place import with_gate
from controller_manager.reconcile.pod_templates import HASH_LABEL, safe_encoded
from controller_manager.reconcile.pods import pod_from_template

INSTANCE_ID = "apps.kruise.io/cloneset-instance-id"
"""The label of a pod and of its claims with what their names end in."""

_LENGTH, _LETTERS = 5, 27


def id_of(obj: Obj) -> str:
    """The id of a pod or a claim, "" where it has none."""
    return labels_of(obj).get(INSTANCE_ID, "")


def instance_ids(number: int, *, taken: Collection[str], free: Iterable[str], seed: str) -> list[str]:
    """Ids for so many pods, in their order: those of claims that wait for a pod, then new ones.

    Args:
        number: of pods.
        taken: ids that no new one may be.
        free: ids of claims without a pod.
        seed: what new ids are made of; another one makes others.
    """
    found = sorted(free)[:number]
    known, attempt = {*taken, *found}, 0
    while len(found) < number:
        made = _id(f"{seed}/{attempt}")
        attempt += 1
        if made not in known:
            known.add(made)
            found.append(made)
    return sorted(found)


def _id(seed: str) -> str:
    """Five letters as upstream's rand.String has them, of anything."""
    left, digits = int.from_bytes(sha256(seed.encode()).digest()), []
    for _ in range(_LENGTH):
        left, digit = divmod(left, _LETTERS)
        digits.append(chr(digit))
    return safe_encoded("".join(digits))


def revision_labels(revision: str) -> dict[str, str]:
    """The labels of a pod of a revision: its name, and its hash alone (WriteRevisionHash)."""
    return {REVISION_LABEL: revision, HASH_LABEL: short_hash(revision)}


def of_revision(pod: Obj, revision: str) -> Obj:
    """The pod with the labels of a revision."""
    return pod | {"metadata": pod["metadata"] | {"labels": labels_of(pod) | revision_labels(revision)}}


def new_pods(parent: Obj, version: Version, *, ids: Sequence[str], reference: Obj, now: float) -> list[Obj]:
    """The pods of some ids (newVersionedPods).

    Args:
        parent: the CloneSet.
        version: what they are made of.
        ids: one for each.
        reference: the controlling owner reference to the set.
        now: the time.
    """
    plain = with_gate(pod_from_template(version.template, parent, reference))
    plain = in_state(of_revision(plain, version.name), PREPARING_NORMAL, now)
    return [_with_storage(parent, _named(parent, plain, id_)) for id_ in ids]


def _named(parent: Obj, pod: Obj, id_: str) -> Obj:
    labels = labels_of(pod) | {INSTANCE_ID: id_}
    return pod | {"metadata": pod["metadata"] | {"name": f"{name_of(parent)}-{id_}", "labels": labels}}


def claim_name(parent: Obj, template: Obj, id_: str) -> str:
    """The name of a claim (getPersistentVolumeClaimName)."""
    return f"{name_of(template)}-{name_of(parent)}-{id_}"


def _with_storage(parent: Obj, pod: Obj) -> Obj:
    """The pod with its claims as volumes, in place of other volumes of those names (UpdateStorage)."""
    if not (templates := claim_templates(parent)):
        return pod
    claims = {name_of(template): claim_name(parent, template, id_of(pod)) for template in templates}
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in claims.items()]
    others = [volume for volume in pod["spec"].get("volumes") or () if volume["name"] not in claims]
    return pod | {"spec": pod["spec"] | {"volumes": [*volumes, *others]}}


def new_claims(parent: Obj, pod: Obj) -> Iterator[Obj]:
    """The claims of a pod as they are made; the set owns them as long as the pod is there."""
    selected = (parent["spec"].get("selector") or {}).get("matchLabels") or {}
    for template in claim_templates(parent):
        meta = template["metadata"] | {
            "name": claim_name(parent, template, id_of(pod)),
            "namespace": namespace_of(parent),
            "labels": labels_of(template) | selected | {INSTANCE_ID: id_of(pod)},
            "ownerReferences": [
                *(template["metadata"].get("ownerReferences") or ()),
                *pod["metadata"]["ownerReferences"],
            ],
        }
        yield template | {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta}
