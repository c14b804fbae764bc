"""Subresources that are not stored fields of their object, and resources whose objects are not stored.

`status` and others like it (strategy.SUBRESOURCES) are fields of their objects, which the verbs read and write.
"""

from collections.abc import Mapping

from apiserver.registry.subresources.binding import binding, bindings
from apiserver.registry.subresources.call import (
    Answer,
    Handler,
    KubeletLocation,
    ObjectWithWarnings,
    SubresourceRequest,
)
from apiserver.registry.subresources.component_statuses import component_statuses
from apiserver.registry.subresources.connect import log, proxy, stream
from apiserver.registry.subresources.eviction import eviction
from apiserver.registry.subresources.reviews import (
    local_subject_access_review,
    self_subject_access_review,
    self_subject_review,
    self_subject_rules_review,
    subject_access_review,
    token_review,
)
from apiserver.registry.subresources.scale import scale
from apiserver.registry.subresources.token import token

__all__ = [
    "CONNECTIONS",
    "SUBRESOURCES",
    "VIRTUAL",
    "Answer",
    "Handler",
    "KubeletLocation",
    "ObjectWithWarnings",
    "SubresourceRequest",
]

SUBRESOURCES: Mapping[str, Handler] = {
    "attach": stream,
    "binding": binding,
    "eviction": eviction,
    "exec": stream,
    "log": log,
    "portforward": stream,
    "proxy": proxy,
    "scale": scale,
    "token": token,
}
"""Name → its handler."""

CONNECTIONS = frozenset(("attach", "exec", "log", "portforward", "proxy"))
"""The subresources that connect to a kubelet or a pod: long-lasting requests, whose bodies are not objects."""

VIRTUAL: Mapping[tuple[str, str], Handler] = {
    ("", "bindings"): bindings,
    ("", "componentstatuses"): component_statuses,
    ("authentication.k8s.io", "selfsubjectreviews"): self_subject_review,
    ("authentication.k8s.io", "tokenreviews"): token_review,
    ("authorization.k8s.io", "localsubjectaccessreviews"): local_subject_access_review,
    ("authorization.k8s.io", "selfsubjectaccessreviews"): self_subject_access_review,
    ("authorization.k8s.io", "selfsubjectrulesreviews"): self_subject_rules_review,
    ("authorization.k8s.io", "subjectaccessreviews"): subject_access_review,
}
"""(group, plural) → the handler of a resource whose objects are not stored."""
