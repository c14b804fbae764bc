"""The nodes themselves: registration, leases and reports (pkg/kubelet/kubelet_node_status.go, nodelease)."""
