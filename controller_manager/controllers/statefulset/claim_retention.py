"""Whom a StatefulSet's claims belong to, so that they go with a pod or with the set (KEP-1847)."""

from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.reconcile.profile import Profile

_DELETE = "Delete"


@dataclass(frozen=True, slots=True)
class Policy:
    """spec.persistentVolumeClaimRetentionPolicy: whether claims go when their pod, or the set, does."""

    when_scaled: bool = False
    when_deleted: bool = False

    @property
    def retains(self) -> bool:
        """Whether claims stay whatever happens."""
        return not (self.when_scaled or self.when_deleted)


def policy_of(parent: Obj, profile: Profile) -> Policy:
    """The policy of a StatefulSet; a word that is not known retains."""
    given = parent["spec"].get("persistentVolumeClaimRetentionPolicy") if profile.retention else None
    given = given or {}
    return Policy(given.get("whenScaled") == _DELETE, given.get("whenDeleted") == _DELETE)


@dataclass(frozen=True, slots=True)
class Owners:
    """Who may own the claims of an ordinal.

    Attributes:
        policy: what the set says.
        parent: the controlling owner reference to the set.
        pod: that to the ordinal's pod; its uid is "" where there is no pod.
        condemned: whether the ordinal is not wanted any more.
        controls: whether owners control claims, and leave alone those that somebody else controls; OpenKruise's owners
            do neither (stateful_set_utils.go updateClaimOwnerRefForSetAndPod).
    """

    policy: Policy
    parent: Obj
    pod: Obj
    condemned: bool = False
    controls: bool = True

    @property
    def wanted(self) -> list[Obj]:
        """The references that the policy asks for."""
        if self.policy.when_scaled and self.condemned:
            return [self.pod]
        return [self.parent] if self.policy.when_deleted else []

    def means(self, reference: Obj) -> bool:
        """Whether a reference names the set or the pod, be it another one of that name (matchesRef).

        Owners that control nothing know each other by their uid alone (hasOwnerRef).
        """
        if not self.controls:
            return reference.get("uid") in (self.parent["uid"], self.pod["uid"])
        return _same_name(reference, self.parent) or _same_name(reference, self.pod)

    def is_former(self, reference: Obj) -> bool:
        """Whether a reference is to an object of that name that was there before, which is left alone."""
        return self.controls and any(
            _same_name(reference, o) and reference.get("uid") != o["uid"] for o in (self.parent, self.pod)
        )


def _same_name(one: Obj, other: Obj) -> bool:
    return all(one.get(key) == other.get(key) for key in ("apiVersion", "kind", "name"))


def _references(claim: Obj) -> list[Obj]:
    return claim["metadata"].get("ownerReferences") or []


def is_stale(claim: Obj, owners: Owners) -> bool:
    """Whether the claim is about to go with a former pod, so that no new pod may use it (PodClaimIsStale)."""
    if not owners.policy.when_scaled:
        return False
    references = [reference for reference in _references(claim) if _same_name(reference, owners.pod)]
    return any(reference.get("uid") != owners.pod["uid"] for reference in references)


def has_other_controller(claim: Obj, owners: Owners) -> bool:
    """Whether somebody else controls the claim, which the policy then leaves alone (hasUnexpectedController)."""
    if owners.policy.retains or not owners.controls:
        return False
    for reference in _references(claim):
        if owners.is_former(reference) or (reference.get("controller") and not owners.means(reference)):
            return True
    return False


def is_settled(claim: Obj, owners: Owners) -> bool:
    """Whether the claim has the owners that the policy asks for, or is not to be touched (isClaimOwnerUpToDate)."""
    references = _references(claim)
    if any(owners.is_former(reference) for reference in references):
        return True
    ours = {r["uid"]: r for r in references if r.get("uid") in (owners.parent["uid"], owners.pod["uid"])}
    if has_other_controller(claim, owners):
        return not ours
    if owners.controls and not all(reference.get("controller") for reference in ours.values()):
        return False
    return ours.keys() == {reference["uid"] for reference in owners.wanted}


def settled(claim: Obj, owners: Owners) -> Obj:
    """The claim with the owner references that the policy asks for (updateClaimOwnerRefForSetAndPod)."""
    references = [reference for reference in _references(claim) if not owners.means(reference)]
    if not has_other_controller(claim, owners):
        held = {reference.get("uid") for reference in references}
        references += [reference for reference in owners.wanted if reference["uid"] not in held]
    return claim | {"metadata": claim["metadata"] | {"ownerReferences": references}}
