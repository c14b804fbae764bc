"""NamespaceLifecycle: refuses creations in absent or terminating namespaces, and deletion of system namespaces."""

from apiserver.admission.latest import Reader, get_synced
from apiserver.api import errors
from apiserver.registry.admission import WRITES, Attributes, Handles, forbidden

UNDELETABLE = frozenset(("default", "kube-system", "kube-public"))


class NamespaceLifecycle:
    """The plug-in of that name (plugin/pkg/admission/namespace/lifecycle)."""

    name = "NamespaceLifecycle"
    handles = (
        Handles(WRITES, subresources=None),
        Handles(frozenset(("DELETE",)), frozenset((("", "Namespace"),))),
    )

    def __init__(self, store: Reader) -> None:
        self._store = store

    async def admit(self, attributes: Attributes) -> None:
        """Refuse the deletion of immortal namespaces, and writes into absent or (creates) terminating ones."""
        target = attributes.target
        if target.resource.plural == "namespaces" and not target.resource.group:
            if attributes.operation == "DELETE" and target.name in UNDELETABLE:
                raise errors.forbidden("", "namespaces", name=target.name, why="this namespace may not be deleted")
            return
        if not target.namespace:
            return
        namespace = await get_synced(self._store, f"/registry/namespaces/{target.namespace}")
        if namespace is None:
            raise errors.not_found("", "namespaces", target.namespace)
        if attributes.operation == "CREATE" and namespace.index_attrs.fields.get("status.phase") == "Terminating":
            raise _terminating(attributes)


def _terminating(attributes: Attributes) -> errors.ApiError:
    target = attributes.target
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {target.namespace} is being terminated",
        "field": "metadata.namespace",
    }
    why = f"unable to create new content in namespace {target.namespace} because it is being terminated"
    return forbidden(attributes, why, causes=[cause])
