"""The functions that expressions may call: CEL's own and Kubernetes' libraries (k8s.io/apiserver/pkg/cel/library)."""
