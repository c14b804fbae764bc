"""ClusterCIDRs (networking.k8s.io), which need no rules of their own."""

from apiserver.groups.kind import BuiltinKind

CLUSTER_CIDR = BuiltinKind("networking.k8s.io", "ClusterCIDR", ("cc",), namespaced=False)
