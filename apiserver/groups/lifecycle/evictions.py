"""Evictions (lifecycle.k8s.io), which need no rules of their own."""

from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_EVICTIONS, stored
from apiserver.groups.strategy import GUARDED_STATUS

EVICTION = BuiltinKind(
    "lifecycle.k8s.io",
    "Eviction",
    strategy=GUARDED_STATUS,
    notices=stored("Eviction", NO_EVICTIONS, "evicts nothing"),
)
