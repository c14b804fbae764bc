"""PodSchedulingContexts (resource.k8s.io), which need no rules of their own."""

from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_DEVICES, stored

POD_SCHEDULING_CONTEXT = BuiltinKind(
    "resource.k8s.io",
    "PodSchedulingContext",
    notices=stored("PodSchedulingContext", NO_DEVICES, "nobody answers it"),
)
