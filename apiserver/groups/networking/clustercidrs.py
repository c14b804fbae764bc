"""ClusterCIDRs (networking.k8s.io), which need no rules of their own."""

from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import stored

CLUSTER_CIDR = BuiltinKind(
    "networking.k8s.io",
    "ClusterCIDR",
    ("cc",),
    namespaced=False,
    notices=stored("ClusterCIDR", "has no controller for ClusterCIDRs", "gives no Node its podCIDRs"),
)
