"""PodSchedulingContexts."""

from apiserver.groups.kind import BuiltinKind

POD_SCHEDULING_CONTEXT = BuiltinKind("resource.k8s.io", "PodSchedulingContext")
