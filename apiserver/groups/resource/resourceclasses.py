"""ResourceClasses (resource.k8s.io), which need no rules of their own."""

from apiserver.groups.kind import BuiltinKind

RESOURCE_CLASS = BuiltinKind("resource.k8s.io", "ResourceClass", namespaced=False)
