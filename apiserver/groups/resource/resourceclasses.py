"""ResourceClasses."""

from apiserver.groups.kind import BuiltinKind

RESOURCE_CLASS = BuiltinKind("resource.k8s.io", "ResourceClass", namespaced=False)
