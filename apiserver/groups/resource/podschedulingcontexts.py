"""PodSchedulingContexts (resource.k8s.io), which need no rules of their own."""

from apiserver.groups.kind import BuiltinKind

POD_SCHEDULING_CONTEXT = BuiltinKind("resource.k8s.io", "PodSchedulingContext")
