"""ClusterCIDRs."""

from apiserver.groups.kind import BuiltinKind

CLUSTER_CIDR = BuiltinKind("networking.k8s.io", "ClusterCIDR", ("cc",), namespaced=False)
