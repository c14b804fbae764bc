"""The Node authorizer: kubelets read what their pods need, and write their own objects (authorizer/node)."""

from collections.abc import Callable, Mapping

from apiserver.api.golang.strings import quoted
from apiserver.api.user import User
from apiserver.auth.node_relations import NodeRelations, RelationStore
from apiserver.auth.rbac_rules import RoleRules, resource_keys
from apiserver.registry.authorizer import ALLOW, NO_OPINION, AuthorizationRequest, Decision, SubjectRules
from apiserver.registry.bootstrap.roles import CLUSTER_ROLES
from apiserver.registry.bootstrap.rules import rules

NODES_SELECT_FROM = 32
"""The minor release from which on a node reads its own Node and pods alone (AuthorizeNodeWithSelectors)."""
PREFIX, GROUP = "system:node:", "system:nodes"
LEASES = "kube-node-lease"
_OWN_OBJECT = ("get", "create", "update", "patch", "delete")


def node_of(user: User) -> str | None:
    """Return the name of the node that a user is, None if it is no node (nodeidentifier.NodeIdentity)."""
    return user.name.removeprefix(PREFIX) if user.name.startswith(PREFIX) and GROUP in user.groups else None


class NodeAuthorizer:
    """Decides on the requests of nodes; about others it has no opinion.

    Args:
        store: where the relations of nodes and objects are read.
        selects: whether a node may read its own Node and pods alone (AuthorizeNodeWithSelectors).
    """

    def __init__(self, store: RelationStore, *, selects: bool = True) -> None:
        self._relations = NodeRelations(store)
        self._rules = RoleRules(rules(CLUSTER_ROLES["system:node"]))
        read, get = self._read_related, self._get_related
        self._by_resource: Mapping[tuple[str, str], Callable[[str, AuthorizationRequest], Decision]] = {
            ("", "secrets"): read,
            ("", "configmaps"): read,
            ("", "persistentvolumeclaims"): self._claim,
            ("", "persistentvolumes"): get,
            ("resource.k8s.io", "resourceclaims"): get,
            ("storage.k8s.io", "volumeattachments"): get,
            ("", "serviceaccounts"): self._token,
            ("coordination.k8s.io", "leases"): _lease,
            ("storage.k8s.io", "csinodes"): _csi_node,
            ("resource.k8s.io", "resourceslices"): self._slice,
        }
        if selects:
            self._by_resource = {**self._by_resource, ("", "nodes"): _node, ("", "pods"): self._pod}

    async def authorize(self, request: AuthorizationRequest) -> Decision:
        """Return the decision on a request of a node, and no opinion on those of others."""
        node = node_of(request.user)
        if node is None:
            return NO_OPINION
        if not node:
            return _no(f"unknown node for user {quoted(request.user.name)}")
        if not request.is_resource:
            return ALLOW if self._rules.allow_path(request.verb, request.path) else NO_OPINION
        decide = self._by_resource.get((request.group, request.resource))
        if decide is not None:
            return decide(node, request)
        return ALLOW if self._rules.allow_resource(request, resource_keys(request)) else NO_OPINION

    def rules_for(self, user: User, namespace: str) -> SubjectRules:  # noqa: ARG002 - nodes have no rules anywhere
        """Return that the rules of a node cannot be listed; others have none here."""
        if node_of(user) is None:
            return SubjectRules()
        return SubjectRules(incomplete=True, error="node authorizer does not support user rule resolution")

    def _read_related(self, node: str, request: AuthorizationRequest) -> Decision:
        if request.verb not in ("get", "list", "watch"):
            return _no("can only read resources of this type")
        if request.subresource:
            return _no("cannot read subresource")
        if not request.namespace:
            return _no("can only read namespaced object of this type")
        return self._related(node, request)

    def _get_related(self, node: str, request: AuthorizationRequest) -> Decision:
        if request.verb != "get":
            return _no("can only get individual resources of this type")
        if request.subresource:
            return _no("cannot get subresource")
        return self._related(node, request)

    def _claim(self, node: str, request: AuthorizationRequest) -> Decision:
        if request.subresource != "status":
            return self._get_related(node, request)
        if request.verb not in ("update", "patch"):
            return _no("can only get/update/patch this type")
        return self._related(node, request)

    def _token(self, node: str, request: AuthorizationRequest) -> Decision:
        if request.verb != "create" or not request.name:
            return _no("can only create tokens for individual service accounts")
        if request.subresource != "token":
            return _no("can only create token subresource of serviceaccount")
        return self._related(node, request)

    def _slice(self, node: str, request: AuthorizationRequest) -> Decision:
        if request.subresource:
            return _no("cannot authorize ResourceSlice subresources")
        if request.verb == "create":
            return ALLOW
        if request.verb in ("list", "watch", "deletecollection"):
            why = "can only list/watch/deletecollection resourceslices with nodeName field selector"
            return ALLOW if node in (request.selected("spec.nodeName"), request.selected("nodeName")) else _no(why)
        return self._related(node, request)

    def _pod(self, node: str, request: AuthorizationRequest) -> Decision:
        operation = request.subresource, request.verb
        if operation == ("", "get"):
            return self._get_related(node, request)
        if operation in (("", "list"), ("", "watch")):
            if request.selected("spec.nodeName") == node:
                return ALLOW
            why = "can only list/watch pods with spec.nodeName field selector"
            return self._related(node, request) if request.name else _no(why)
        writes = {"": ("create", "delete"), "status": ("update", "patch"), "eviction": ("create",)}
        return ALLOW if request.verb in writes.get(request.subresource, ()) else NO_OPINION

    def _related(self, node: str, request: AuthorizationRequest) -> Decision:
        if not request.name:
            return _no("No Object name found")
        if self._relations.has(node, request.resource, request.namespace, request.name):
            return ALLOW
        return _no(f"no relationship found between node '{node}' and this object")


def _node(node: str, request: AuthorizationRequest) -> Decision:
    """Decide on Nodes; which of them a node may write is up to NodeRestriction."""
    if request.subresource == "status":
        return ALLOW if request.verb in ("update", "patch") else NO_OPINION
    if request.subresource or request.verb not in ("create", "update", "patch", "get", "list", "watch"):
        return NO_OPINION
    if request.verb in ("create", "update", "patch") or request.name == node:
        return ALLOW
    if not request.name:
        return _no(f"node '{node}' cannot read all nodes, only its own Node object")
    return _no(f"node '{node}' cannot read '{request.name}', only its own Node object")


def _lease(node: str, request: AuthorizationRequest) -> Decision:
    if request.verb not in _OWN_OBJECT:
        return _no("can only get, create, update, patch, or delete a node lease")
    if request.namespace != LEASES:
        return _no(f"can only access leases in the {quoted(LEASES)} system namespace")
    if request.verb != "create" and request.name != node:
        return _no("can only access node lease with the same name as the requesting node")
    return ALLOW


def _csi_node(node: str, request: AuthorizationRequest) -> Decision:
    if request.verb not in _OWN_OBJECT:
        return _no("can only get, create, update, patch, or delete a CSINode")
    if request.subresource:
        return _no("cannot authorize CSINode subresources")
    if request.verb != "create" and request.name != node:
        return _no("can only access CSINode with the same name as the requesting node")
    return ALLOW


def _no(why: str) -> Decision:
    return Decision(explain=lambda: why)
