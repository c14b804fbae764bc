"""EvictionRequests (lifecycle.k8s.io), which need no rules of their own."""

from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_EVICTIONS, stored
from apiserver.groups.strategy import GUARDED_STATUS

EVICTION_REQUEST = BuiltinKind(
    "lifecycle.k8s.io",
    "EvictionRequest",
    strategy=GUARDED_STATUS,
    notices=stored("EvictionRequest", NO_EVICTIONS, "evicts nothing"),
)
