"""OwnerReferencesPermissionEnforcement: who sets owners needs the permissions that their effects would need."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.registry.admission import WRITES, Attributes, Handles, forbidden
from apiserver.registry.authorizer import AuthorizationRequest, Authorizer, Decision

NO_DELETE = "cannot set an ownerRef on a resource you can't delete"
NO_FINALIZERS = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on"


class Resources(Protocol):
    """The part of the table of resources that the plug-in uses."""

    def __iter__(self) -> Iterator[Resource]:
        """Return all rows."""
        ...


class OwnerReferencesPermissionEnforcement:
    """The plug-in of that name (plugin/pkg/admission/gc)."""

    name = "OwnerReferencesPermissionEnforcement"
    handles = (Handles(WRITES, subresources=None),)

    def __init__(self, authorizer: Authorizer, resources: Resources) -> None:
        self._authorizer = authorizer
        self._resources = resources

    async def validate(self, attributes: Attributes) -> None:
        """Refuse new owners on an object that the user may not delete, and owners that this keeps from being deleted.

        Raises:
            ApiError: 403.
        """
        new, old = (_owners(each) for each in (attributes.obj, attributes.old))
        target = attributes.target
        is_status = (target.resource.group, target.resource.kind, target.subresource) == ("", "Pod", "status")
        if new == old or is_status:
            return
        resource = target.resource
        if attributes.operation != "CREATE":
            decision = await self._authorize(attributes, "delete", resource, target.name, target.subresource)
            _refuse(attributes, NO_DELETE, decision)
        for owner in _newly_blocking(new, old):
            for row in self._rows(attributes, owner):
                name = owner.get("name") or ""
                decision = await self._authorize(attributes, "update", row, name, "finalizers")
                _refuse(attributes, NO_FINALIZERS, decision)

    def _rows(self, attributes: Attributes, owner: Obj) -> list[Resource]:
        """Return the resources of an owner's kind.

        Raises:
            ApiError: 403, there is no such kind.
        """
        api_version, kind = owner.get("apiVersion") or "", owner.get("kind") or ""
        rows = [row for row in self._resources if (row.api_version, row.kind) == (api_version, kind)]
        if not rows:
            missing = f'no matches for kind "{kind}" in version "{api_version}"'
            why = f"cannot find RESTMapping for APIVersion {api_version} Kind {kind}: {missing}"
            raise forbidden(attributes, f"cannot set blockOwnerDeletion in this case because {why}")
        return rows

    async def _authorize(
        self, attributes: Attributes, verb: str, row: Resource, name: str, subresource: str
    ) -> Decision:
        namespace = attributes.target.namespace if row.namespaced else ""
        request = AuthorizationRequest(
            attributes.user,
            verb,
            "",
            group=row.group,
            resource=row.plural,
            subresource=subresource,
            namespace=namespace,
            name=name,
            version=row.version,
        )
        return await self._authorizer.authorize(request)


def _refuse(attributes: Attributes, why: str, decision: Decision) -> None:
    """Refuse the write if the authorizer does not allow what it would need.

    Raises:
        ApiError: 403.
    """
    if not decision.allowed:
        raise forbidden(attributes, f"{why}: {decision.reason}, {decision.error or '<nil>'}")


def _owners(obj: Obj | None) -> list[Obj]:
    return ((obj or {}).get("metadata") or {}).get("ownerReferences") or []


def _newly_blocking(new: Iterable[Obj], old: Iterable[Obj]) -> list[Obj]:
    """Return the owners whose deletion is to wait for this object, and was not before."""
    blocking = {owner.get("uid") for owner in old if owner.get("blockOwnerDeletion")}
    return [owner for owner in new if owner.get("blockOwnerDeletion") and owner.get("uid") not in blocking]
