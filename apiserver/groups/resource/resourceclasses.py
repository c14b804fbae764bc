"""ResourceClasses (resource.k8s.io), which need no rules of their own."""

from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import NO_DEVICES, stored

RESOURCE_CLASS = BuiltinKind(
    "resource.k8s.io",
    "ResourceClass",
    namespaced=False,
    notices=stored("ResourceClass", NO_DEVICES, "no resource is chosen by it"),
)
