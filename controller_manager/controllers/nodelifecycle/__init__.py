"""The node lifecycle controller: nodes that stopped reporting, and their taints (pkg/controller/nodelifecycle)."""
