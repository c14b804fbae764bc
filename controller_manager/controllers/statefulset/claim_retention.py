"""The owners of a StatefulSet's claims, so that claims are deleted with a pod or with the set (KEP-1847)."""

from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.reconcile.profile import Profile

_DELETE = "Delete"


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """spec.persistentVolumeClaimRetentionPolicy: whether claims are deleted when their pod, or the set, is."""

    when_scaled: bool = False
    when_deleted: bool = False

    @property
    def retains_always(self) -> bool:
        """True if claims are always retained."""
        return not (self.when_scaled or self.when_deleted)


def policy_of(parent: Obj, profile: Profile) -> RetentionPolicy:
    """Return the retention policy of a StatefulSet; an unknown value means Retain."""
    retention = parent["spec"].get("persistentVolumeClaimRetentionPolicy") if profile.retention else None
    retention = retention or {}
    return RetentionPolicy(retention.get("whenScaled") == _DELETE, retention.get("whenDeleted") == _DELETE)


@dataclass(frozen=True, slots=True)
class ClaimOwners:
    """The objects that may own the claims of an ordinal.

    Attributes:
        policy: the set's retention policy.
        parent: the controlling owner reference to the set.
        pod: the owner reference to the ordinal's pod; its uid is "" if there is no pod.
        condemned: True if the ordinal is no longer desired.
        controls: True if owners control claims, and leave claims with another controller alone; OpenKruise's owners
            do neither (stateful_set_utils.go updateClaimOwnerRefForSetAndPod).
    """

    policy: RetentionPolicy
    parent: Obj
    pod: Obj
    condemned: bool = False
    controls: bool = True

    @property
    def desired(self) -> list[Obj]:
        """The references that the policy asks for."""
        if self.policy.when_scaled and self.condemned:
            return [self.pod]
        return [self.parent] if self.policy.when_deleted else []

    def is_named_by(self, reference: Obj) -> bool:
        """Return whether a reference names the set or the pod, or a former one of the same name (matchesRef).

        Owners that do not control claims are matched by uid alone (hasOwnerRef).
        """
        if not self.controls:
            return reference.get("uid") in (self.parent["uid"], self.pod["uid"])
        return _same_name(reference, self.parent) or _same_name(reference, self.pod)

    def is_former_owner(self, reference: Obj) -> bool:
        """Return whether a reference names a former object of the set's or pod's name; such claims are left alone."""
        return self.controls and any(
            _same_name(reference, o) and reference.get("uid") != o["uid"] for o in (self.parent, self.pod)
        )


def _same_name(reference: Obj, other: Obj) -> bool:
    return all(reference.get(key) == other.get(key) for key in ("apiVersion", "kind", "name"))


def _references(claim: Obj) -> list[Obj]:
    return claim["metadata"].get("ownerReferences") or []


def is_stale(claim: Obj, owners: ClaimOwners) -> bool:
    """Return whether the claim will be deleted with a former pod, so that no new pod may use it (PodClaimIsStale)."""
    if not owners.policy.when_scaled:
        return False
    references = [reference for reference in _references(claim) if _same_name(reference, owners.pod)]
    return any(reference.get("uid") != owners.pod["uid"] for reference in references)


def has_other_controller(claim: Obj, owners: ClaimOwners) -> bool:
    """Return whether another object controls the claim, so that the policy ignores it (hasUnexpectedController)."""
    if owners.policy.retains_always or not owners.controls:
        return False
    for reference in _references(claim):
        if owners.is_former_owner(reference) or (reference.get("controller") and not owners.is_named_by(reference)):
            return True
    return False


def has_right_owners(claim: Obj, owners: ClaimOwners) -> bool:
    """Return whether the claim has the right owners, or is not to be changed (isClaimOwnerUpToDate)."""
    references = _references(claim)
    if any(owners.is_former_owner(reference) for reference in references):
        return True
    ours = {r["uid"]: r for r in references if r.get("uid") in (owners.parent["uid"], owners.pod["uid"])}
    if has_other_controller(claim, owners):
        return not ours
    if owners.controls and not all(reference.get("controller") for reference in ours.values()):
        return False
    return ours.keys() == {reference["uid"] for reference in owners.desired}


def with_owners(claim: Obj, owners: ClaimOwners) -> Obj:
    """Return the claim with the owner references that the policy asks for (updateClaimOwnerRefForSetAndPod)."""
    references = [reference for reference in _references(claim) if not owners.is_named_by(reference)]
    if not has_other_controller(claim, owners):
        held = {reference.get("uid") for reference in references}
        references += [reference for reference in owners.desired if reference["uid"] not in held]
    return claim | {"metadata": claim["metadata"] | {"ownerReferences": references}}
